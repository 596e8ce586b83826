/* Copies, folded: one line for each group, the one that is kept first */
function copies() {
  if (!run.copies) return;
  const { n, groups, file } = run.copies, listed = groups.reduce((sum, group) => sum + group.length - 1, 0);
  const kind = (similarity) => similarity === null ? "kept" : similarity === 1 ? "exact copy" : `near copy, similarity ${fixed(similarity, 2)}`;
  const one = ([row, name, similarity]) => h("li", { title: `${name}: ${kind(similarity)}` },
    row === null || !thumbs ? null : place(h("button", { type: "button", "aria-label": `${name}, ${kind(similarity)}`, onclick: () => openItem(row) }), row, SIDE),
    h("span", { class: "who" }, items.text && row !== null ? items.text[row] : name), h("span", { class: "small" }, kind(similarity)));
  const list = h("details", { class: "copies" }, h("summary", {}, `Show ${count(groups.length)} ${groups.length === 1 ? "group" : "groups"}`),
    h("div", { class: "all-copies" }, groups.map((group) => h("ul", { class: "group-of-copies", "aria-label": `Copies of ${group[0][1]}` }, group.map(one)))));
  section("copies", "Copies", `${count(n)} of the ${count(run.n)} ${run.noun}s ${n === 1 ? "is a copy of another" : "are copies of others"}. Copies are not used in training, `
    + `are not shown among the ${run.noun}s of a cluster, and get the cluster of the ${run.noun} that is kept. ${file} in the run folder lists them${listed < n ? ` all; ${count(listed)} are shown here` : ""}.`, null, list);
}
