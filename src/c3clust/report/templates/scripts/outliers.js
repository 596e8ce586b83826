/* Samples that belong nowhere, with the reason for each */
function outliers() {
  if (!run.outliers) return;
  const { n, unassigned, file, listed } = run.outliers, FEW = 12;
  const one = ([row, name, kind, reason]) => h("li", { "data-kind": kind },
    row === null || !thumbs ? null : place(h("button", { type: "button", "aria-label": name, onclick: () => openItem(row) }), row, SIDE),
    h("div", {}, h("b", { class: "who" }, items.text && row !== null ? items.text[row] : name), h("p", { class: "small" }, `${capital(reason)}.`)));
  const list = (entries) => h("ul", { class: "outliers" }, entries.map(one));
  const are = n === 1 ? "is an outlier" : "are outliers", noun = run.noun;
  section("outliers", "Outliers", `${count(n)} of the ${count(run.n)} ${noun}s ${are}: far from all clusters, or the members of the method disagree. `
    + (unassigned ? "They are in no cluster (−1)." : "They are in the cluster that fits best; fit with --outliers to put them in none (−1).")
    + ` ${file} in the run folder lists them${listed.length < n ? ` all; ${count(listed.length)} are shown here` : ""}.`, null,
  list(listed.slice(0, FEW)), listed.length > FEW ? h("details", {}, h("summary", {}, `Show ${count(listed.length - FEW)} more`), list(listed.slice(FEW))) : null);
}
