/* Dialogs: one cluster, one image */
function openDialog(kind, title, controls, ...body) {
  const close = h("button", { type: "button", class: "quiet", onclick: () => box.close() }, "Close");
  const box = h("dialog", { class: kind, "aria-label": title.textContent },
    h("div", { class: "top" }, title, h("div", { class: "controls" }, controls, close)), h("div", { class: "body" }, body));
  box.addEventListener("close", () => box.remove());
  box.addEventListener("click", (event) => { if (event.target === box) box.close(); });
  document.body.append(box);
  box.showModal();
  return box;
}
const typicalFirst = (a, b) => items.typical[b] - items.typical[a];
const unsureFirst = (a, b) => (items.confidence[a] ?? 1) - (items.confidence[b] ?? 1);
const isCopy = (row) => items.copy !== null && items.copy[row];
function rowsOf(id) {
  const rows = [];
  for (let row = 0; row < run.shown; row++) if (items.cluster[row] === id && !isCopy(row)) rows.push(row);
  return rows.sort(typicalFirst);
}
/* How many copies of a cluster are not shown; "" if there are none, or if the page has a sample of the images only. */
const folded = (c, rows) => run.shown < run.n || rows.length === c.size ? "" : c.size - rows.length === 1 ? "1 copy is folded" : `${count(c.size - rows.length)} copies are folded`;
function choice(label, options, chosen, act) {
  const box = h("div", { class: "group", role: "group", "aria-label": label });
  for (const [key, text] of options)
    box.append(h("button", { type: "button", "data-key": key, "aria-pressed": String(key === chosen), onclick: (event) => {
      for (const other of box.children) other.setAttribute("aria-pressed", String(other === event.currentTarget));
      act(key, event.currentTarget);
    } }, text));
  return box;
}
function openCluster(id) {
  const c = byId(id), rows = rowsOf(id), grid = strip([], `${capital(run.noun)}s of ${c.name}`);
  const more = h("button", { type: "button", class: "quiet more", onclick: () => show(grid.children.length) }, "Show more");
  function show(from) {
    if (from === 0) grid.replaceChildren();
    fillStrip(grid, rows.slice(from, from + PAGE));
    more.hidden = grid.children.length >= rows.length;
  }
  const order = choice("Order", [["typical", "Typical first"], ["unsure", "Least certain first"]], "typical", (key) => {
    rows.sort(key === "unsure" ? unsureFirst : typicalFirst);
    show(0);
  });
  const sampled = run.shown < run.n && rows.length < c.size ? `${count(rows.length)} of ${plural(c.size, run.noun)}, ${run.copies ? "sampled or without copies" : "sampled"}` : plural(c.size, run.noun);
  const shown = [sampled, folded(c, rows)].filter(Boolean).join(", ");
  openDialog("many", h("div", {}, h("h2", {}, mark(rank.get(id)), heading(c)), h("p", { class: "small" }, shown)), order, grid, more);
  show(0);
}
/* One image; the arrow keys and two buttons lead through its cluster. */
function openItem(row, focus = null) {
  const id = items.cluster[row], known = className(row), confidence = items.confidence[row];
  const file = original(row), name = file === null ? items.name[row] : h("a", { href: file, target: "_blank", rel: "noopener", title: "Open the original file" }, items.name[row]);
  const facts = [["Name", name], ["Cluster", byId(id).name], ["Confidence", percent(confidence, 1)]];
  if (items.second[row] >= 0) facts.push(["Next best", byId(items.second[row]).name]);
  const rows = rowsOf(id), at = rows.indexOf(row);
  const step = (by) => { box.close(); openItem(rows[(at + by + rows.length) % rows.length], by); };
  const steps = at < 0 || rows.length < 2 ? null : [[-1, "Previous"], [1, "Next"]].map(([by, text]) =>
    h("button", { type: "button", class: "quiet", "data-step": String(by), onclick: () => step(by) }, text));
  if (known !== null) facts.push(["Class", known]);
  if (items.copies && items.copies[row]) facts.push(["Copies", count(items.copies[row])]);
  const box = openDialog("one", h("h2", {}, capital(run.noun)), steps,
    items.text ? h("p", { class: "whole" }, items.text[row]) : null,
    thumbs ? place(h("div", { role: "img", "aria-label": items.name[row] }), row, thumbs.pixelated ? 280 : 2 * Math.max(thumbs.width, thumbs.height)) : null,
    table(facts),
    h("button", { type: "button", class: "quiet", onclick: () => {
      for (const other of document.querySelectorAll("dialog")) other.close();
      jump(id);
    } }, `Go to ${byId(id).name}`));
  if (steps) {
    box.addEventListener("keydown", (event) => { if (event.key === "ArrowLeft" || event.key === "ArrowRight") step(event.key === "ArrowLeft" ? -1 : 1); });
    if (focus !== null) box.querySelector(`[data-step="${focus}"]`).focus();
  }
  return box;
}
const table = (rows) => h("table", { class: "pairs" }, h("tbody", {}, rows.map(([key, value]) => h("tr", {}, h("th", { scope: "row" }, key), h("td", {}, value)))));
function jump(id) {
  const node = document.getElementById(`cluster-${id}`);
  if (!node) return;
  node.scrollIntoView({ behavior: calm ? "auto" : "smooth", block: "start" });
  node.classList.remove("flash");
  void node.offsetWidth;
  node.classList.add("flash");
  node.focus({ preventScroll: true });
  say(`${byId(id).name}, ${plural(byId(id).size, run.noun)}`);
}
const link = (id) => h("a", { href: `#cluster-${id}`, onclick: (event) => { event.preventDefault(); jump(id); } }, byId(id).name);
