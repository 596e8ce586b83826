/* c3clust review: the clusters of a run, and what a person does with them by mouse and keyboard. */
import { h, byId, button, count, ask as prompt, show } from "./dom.js";
import { run, state, chosen, act, ask, refresh, say, changed, onChange, onShowMoved, nameOf, things, lastMoved, NOWHERE } from "./store.js";
import * as grid from "./grid.js";
import { panel } from "./panel.js";

const typing = (event) => event.target.closest("input, select, textarea, dialog");
const selected = () => (chosen.size ? [...chosen] : grid.view.focus >= 0 && document.activeElement?.dataset?.i ? [grid.view.focus] : []);
const known = (list = state.clusters) => list.map((each) => [nameOf(each.cluster), each.name ? null : each.suggested]);

/* A name or number that was typed; null for one that is new. */
function typed(text) {
  const number = text.match(/^(?:cluster )?(\d+)$/);
  return state.clusters.find((each) => each.name === text || nameOf(each.cluster) === text || (number && !state.clusters.some((c) => c.name === text) && each.cluster === +number[1])) ?? null;
}

const doing = {
  async move(items = selected()) {
    if (!items.length) return say("Choose something first: click it, or press Space.");
    const text = await prompt({ title: `Move ${things(items.length)}`, label: "To the cluster (a new name makes a new cluster)", options: known(), ok: "Move" });
    if (text) await (typed(text) ? doing.to(items, typed(text).cluster) : doing.fresh(items, text));
  },
  to: (items, id) => (id === NOWHERE ? doing.nowhere(items) : act("move", { samples: items, cluster: id }, `${things(items.length)} moved to ${nameOf(id)}.`)),
  async new(items = selected()) {
    if (!items.length) return;
    const text = await prompt({ title: `New cluster of ${things(items.length)}`, label: "Name (may be empty)", ok: "Make" });
    if (text !== null) await doing.fresh(items, text);
  },
  fresh: (items, name) => act("new", { samples: items, name }, `${things(items.length)} moved to the new cluster${name ? ` ${name}` : ""}.`),
  nowhere: (items = selected()) => items.length && act("nowhere", { samples: items }, `${things(items.length)} ${items.length === 1 ? "belongs" : "belong"} nowhere.`),
  confirm: (items = selected()) => items.length && act("confirm", { samples: items }, `${things(items.length)} confirmed.`),
  async like(items = selected()) {
    if (!items.length) return;
    if (!state.ready) return say("The model is still being loaded: try again in a moment.");
    const found = await ask("api/like", { samples: items });
    if (!found) return;
    for (const i of found) chosen.add(i);
    say(`${things(found.length)} like this.`);
    changed();
  },
  async name(id) {
    const now = state.clusters.find((each) => each.cluster === id);
    const text = await prompt({ title: `Name of ${nameOf(id)}`, label: "Name", value: now.name ?? now.suggested ?? "", ok: "Name" });
    if (text !== null) await act("label", { cluster: id, name: text }, text ? `Named ${text}.` : "The name is removed.");
  },
  async merge(id) {
    const options = known(state.clusters.filter((each) => each.cluster !== id));
    const text = await prompt({ title: `Merge ${nameOf(id)}`, label: "With the cluster", options, ok: "Merge" });
    if (!text) return;
    const other = typed(text);
    if (!other || other.cluster === id) return say(`There is no other cluster ${text}.`, [], true);
    await act("merge", { clusters: [id, other.cluster] }, `${nameOf(id)} and ${nameOf(other.cluster)} are one cluster.`);
  },
  async split(id) {
    const text = await prompt({ title: `Split ${nameOf(id)}`, label: "Into this many parts", value: "2", type: "number", ok: "Split" });
    if (text) await act("split", { cluster: id, into: +text }, `${nameOf(id)} was split into ${text}.`);
  },
  async regroup() {
    const label = "Number of clusters. What you decided about single samples is dropped with the old clusters; undo brings it back.";
    const text = await prompt({ title: "Regroup everything", label, value: String(state.clusters.length), type: "number", ok: "Regroup" });
    if (text) await act("regroup", { n_clusters: +text }, `Regrouped into ${text} clusters.`);
  },
  undo: () => (state.undoable ? act("undo", {}, "Undone.") : say("There is nothing to undo.")),
  async open(i = grid.view.focus) {
    if (i < 0) return;
    const found = await ask(`api/sample/${i}`);
    if (!found) return;
    const row = (title, items) => (items.length ? [h("h3", {}, title), h("div", { class: "few" }, items.map((j) => grid.sample(j, { role: "button", onclick: () => { dialog.close(); doing.open(j); } })))] : null);
    const dialog = show(run.names[i], h("p", { class: "small" }, `${nameOf(state.labels[i])}${state.person.has(i) ? ", decided by you" : state.doubt[i] === null ? "" : `, confidence ${(1 - state.doubt[i] / 1000).toFixed(2)}`}`),
      run.kind === "image" ? h("img", { class: "whole", src: `whole/${i}`, alt: run.names[i] }) : h("p", { class: "whole" }, found.text || run.names[i]),
      found.neighbours ? row("Nearest", found.neighbours) : h("p", { class: "small" }, "The nearest are known when the model is loaded."), row("Copies", found.copies));
    if (run.kind !== "image") grid.fill([...(found.neighbours ?? []), ...found.copies], dialog);
  },
  keys() {
    const list = [["Arrows", "go to a sample"], ["Space", "choose it; with Shift and an arrow, go on choosing"], ["Enter", "see the original, its nearest and its copies"], ["A", "choose all like this"], ["Ctrl-A", "choose its whole cluster"],
      ["M", "move to a cluster, by typing its name"], ["N", "new cluster"], ["X", "belongs nowhere"], ["C", "confirm: these are right"], ["Esc", "choose nothing"], ["Ctrl-Z", "undo"], ["/", "search"], ["H", "help it: answer questions"], ["K", "check 30"], ["Tab", "names, merges and splits of clusters"]];
    show("Keys", h("dl", { class: "keys" }, list.map(([key, what]) => [h("dt", {}, h("kbd", {}, key)), h("dd", {}, what)])));
  },
};

/* The list of clusters, to go to and to drop on. */
function clusters() {
  const size = new Map(state.clusters.map((each) => [each.cluster, each.size])), nowhere = state.labels.reduce((n, id) => n + (id === NOWHERE), 0);
  if (nowhere) size.set(NOWHERE, nowhere);
  const ids = [...size.keys()].sort((a, b) => (a === NOWHERE) - (b === NOWHERE) || size.get(b) - size.get(a));
  byId("clusters").replaceChildren(h("ul", {}, ids.map((id) => h("li", {}, button([h("i", { class: "dot" }), h("span", {}, nameOf(id)), h("small", {}, count(size.get(id) ?? 0))],
    () => { if (grid.view.only) grid.only(null); grid.goTo(id); }, { class: "go", "data-cluster": id, vars: { "--c": grid.colour(id) } })))));
}

/* What can be done with what is chosen. */
function toolbar() {
  const bar = byId("chosen");
  bar.hidden = !chosen.size;
  if (!chosen.size) return;
  bar.replaceChildren(h("strong", {}, `${things(chosen.size)} chosen`), button("Move…", () => doing.move(), { class: "main" }), button("New cluster…", () => doing.new()), button("Belongs nowhere", () => doing.nowhere()),
    button("These are right", () => doing.confirm()), button("All like this", () => doing.like()), button("See", () => doing.open([...chosen].at(-1))), button("Clear", () => { chosen.clear(); changed(); }));
}

function quality() {
  const only = grid.view.only;
  byId("quality").replaceChildren(...[only ? h("p", { class: "filter" }, grid.summary(), " ", button("Show all", () => { byId("search").value = ""; grid.only(null); }, { class: "link" })) : null, panel.quality(state.quality, state.check)].filter(Boolean));
}

grid.onHead((id, items) => [id !== NOWHERE && !grid.view.only ? [button("Name", () => doing.name(id)), button("All right", () => doing.confirm(items), { disabled: !items.length }), button("Merge", () => doing.merge(id)), button("Split", () => doing.split(id), { disabled: items.length < 4 })] : null]);
onChange(() => { grid.layout(); clusters(); toolbar(); quality(); byId("undo").disabled = !state.undoable; byId("undo").textContent = state.undoable ? `Undo (${state.undoable})` : "Undo"; panel.update(); });
onShowMoved((moved) => grid.only(moved, "Changed by the last step"));

/* Mouse */
const main = byId("grid");
main.addEventListener("click", (event) => {
  const node = event.target.closest(".tile");
  if (!node) return;
  const i = +node.dataset.i;
  if (event.shiftKey && grid.view.last >= 0) for (const j of grid.range(grid.view.last, i)) chosen.add(j);
  else if (!chosen.delete(i)) chosen.add(i);
  grid.view.last = i;
  grid.focus(i);
  grid.mark();
  toolbar();
});
main.addEventListener("dblclick", (event) => { const node = event.target.closest(".tile"); if (node) { chosen.delete(+node.dataset.i); grid.mark(); toolbar(); doing.open(+node.dataset.i); } });
main.addEventListener("dragstart", (event) => {
  const i = +event.target.closest(".tile").dataset.i;
  if (!chosen.has(i)) { chosen.clear(); chosen.add(i); grid.mark(); toolbar(); }
  event.dataTransfer.setData("text/plain", String(chosen.size));
  event.dataTransfer.effectAllowed = "move";
});
const target = (event) => event.target.closest?.("[data-cluster]");
for (const kind of ["dragover", "dragleave", "drop"]) addEventListener(kind, (event) => {
  const node = target(event);
  document.querySelectorAll(".over").forEach((each) => each.classList.remove("over"));
  if (!node || !chosen.size) return;
  event.preventDefault();
  if (kind === "dragover") node.classList.add("over");
  if (kind === "drop") doing.to([...chosen], +node.dataset.cluster);
});

/* Keyboard */
const arrows = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
const plain = { m: () => doing.move(), n: () => doing.new(), x: () => doing.nowhere(), c: () => doing.confirm(), a: () => doing.like(), "?": doing.keys, "/": () => byId("search").focus(), h: () => panel.help(), k: () => panel.check() };
addEventListener("keydown", (event) => {
  if (typing(event)) { if (event.key === "Escape" && event.target === byId("search")) { event.target.value = ""; search(); main.focus(); } return; }
  if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "z") { event.preventDefault(); doing.undo(); return; }
  if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "a") {
    event.preventDefault();
    const group = grid.view.groups.find(([, items]) => items.includes(grid.view.focus)) ?? grid.view.groups[0];
    for (const i of group?.[1] ?? []) chosen.add(i);
    changed();
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (panel.key(event)) { event.preventDefault(); return; }
  if (arrows[event.key]) {
    event.preventDefault();
    const before = grid.view.focus, now = grid.step(...arrows[event.key]);
    if (event.shiftKey) { for (const i of grid.range(before < 0 ? now : before, now)) chosen.add(i); grid.mark(); toolbar(); }
  } else if (event.key === " " && document.activeElement?.dataset?.i) {
    event.preventDefault();
    const i = grid.view.focus;
    if (!chosen.delete(i)) chosen.add(i);
    grid.view.last = i;
    grid.mark();
    toolbar();
  } else if (event.key === "Enter" && document.activeElement?.dataset?.i) { event.preventDefault(); doing.open(); }
  else if (event.key === "Escape") { if (chosen.size) { chosen.clear(); changed(); } else if (grid.view.only) { byId("search").value = ""; grid.only(null); } else panel.close(); }
  else if (plain[event.key.toLowerCase()] && !event.shiftKey | (event.key === "?")) { event.preventDefault(); plain[event.key.toLowerCase()](); }
});

/* The bar */
let wait;
async function search() {
  const text = byId("search").value.trim();
  if (!text) return grid.only(null);
  const found = await ask("api/search", { text });
  if (found && byId("search").value.trim() === text) grid.only(found.samples, found.meant ? `Nothing contains "${text}". Nearest in meaning` : `Found for "${text}"`);
}
byId("search").addEventListener("input", () => { clearTimeout(wait); wait = setTimeout(search, 200); });
byId("sort").addEventListener("change", (event) => { grid.view.order = event.target.value; changed(); });
byId("undo").addEventListener("click", doing.undo);
byId("regroup").addEventListener("click", doing.regroup);
byId("help").addEventListener("click", panel.help);
byId("check").addEventListener("click", panel.check);
byId("keys").addEventListener("click", doing.keys);
function theme() {
  const root = document.documentElement, order = ["auto", "light", "dark"], node = byId("theme");
  let now = "auto";
  try { now = localStorage.getItem("c3clust-theme") || "auto"; } catch { /* no storage here */ }
  const apply = () => {
    if (!order.includes(now)) now = "auto";
    if (now === "auto") delete root.dataset.theme; else root.dataset.theme = now;
    node.textContent = now[0].toUpperCase() + now.slice(1);
    node.setAttribute("aria-label", `Colour theme: ${now}`);
  };
  node.addEventListener("click", () => { now = order[(order.indexOf(now) + 1) % 3]; try { localStorage.setItem("c3clust-theme", now); } catch { /* no storage here */ } apply(); });
  apply();
}
theme();
byId("title").textContent = run.run;
document.title = `${run.run} · review`;
await refresh();
document.body.dataset.ready = "1";
setInterval(() => { if (!document.hidden) refresh(); }, 2000);
addEventListener("focus", refresh);
