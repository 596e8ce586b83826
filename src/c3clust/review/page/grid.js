/* The groups of samples, of which only the visible rows are in the page. */
import { h, byId, button, count } from "./dom.js";
import { run, state, chosen, nameOf, cluster, things, ask, NOWHERE, changed } from "./store.js";

const grid = byId("grid"), body = byId("rows");
const picture = run.kind === "image", HEAD = 56, GAP = 8, FOLDED = 3, MORE = 400;
export const view = { order: "certain", only: null, title: "", open: new Set(), focus: -1, last: -1, groups: [] };
let rows = [], tile = { w: 112, h: 112 }, columns = 1, shown = new Map(), cards = new Map(), headActions = () => [];
export const onHead = (call) => { headActions = call; };

const width = () => body.clientWidth;
const ORDERS = {
  certain: (a, b) => (state.doubt[a] ?? 0) - (state.doubt[b] ?? 0) || a - b,
  doubt: (a, b) => (state.doubt[b] ?? 0) - (state.doubt[a] ?? 0) || a - b,
  name: (a, b) => (run.names[a] < run.names[b] ? -1 : 1),
};

function groups() {
  const members = new Map(state.clusters.map((each) => [each.cluster, []]));
  const list = view.only ?? state.labels.keys();
  for (const i of list) {
    const id = state.labels[i];
    if (!members.has(id)) members.set(id, []);
    members.get(id).push(i);
  }
  const found = [...members].filter(([, items]) => items.length || !view.only);
  found.sort((a, b) => (a[0] === NOWHERE) - (b[0] === NOWHERE) || b[1].length - a[1].length);
  for (const [, items] of found) items.sort(ORDERS[view.order]);
  return found;
}

/* Where everything is; called when the clusters, the order or the width change. */
export function layout() {
  const w = width();
  const least = picture ? (w < 480 ? 92 : 112) : Math.min(w, 240);
  columns = Math.max(1, Math.floor((w + GAP) / (least + GAP)));
  tile = { w: (w - GAP * (columns - 1)) / columns, h: 0 };
  tile.h = picture ? tile.w : 116;
  rows = [];
  view.groups = groups();
  let top = 0;
  for (const [id, items] of view.groups) {
    rows.push({ id, head: true, items, top, height: HEAD });
    top += HEAD;
    const all = view.only || view.open.has(id) || items.length <= FOLDED * columns;
    const n = all ? items.length : FOLDED * columns;
    for (let i = 0; i < n; i += columns) {
      rows.push({ id, items: items.slice(i, Math.min(i + columns, n)), top, height: tile.h + GAP });
      top += tile.h + GAP;
    }
    top += 16;
  }
  body.style.height = `${top + 160}px`;
  for (const node of shown.values()) node.remove();
  shown.clear();
  draw();
}

export function draw() {
  const from = grid.scrollTop - MORE, to = grid.scrollTop + grid.clientHeight + MORE;
  let low = 0, high = rows.length;
  while (low < high) { const mid = (low + high) >> 1; if (rows[mid].top + rows[mid].height < from) low = mid + 1; else high = mid; }
  const seen = new Set();
  for (let r = low; r < rows.length && rows[r].top <= to; r++) {
    seen.add(r);
    if (!shown.has(r)) { const node = rows[r].head ? head(rows[r]) : line(rows[r]); node.style.top = `${rows[r].top}px`; shown.set(r, node); body.append(node); }
  }
  for (const [r, node] of shown) if (!seen.has(r) && !node.contains(document.activeElement)) { node.remove(); shown.delete(r); }
  if (!picture) text(low);
}

function head(row) {
  const { id, items } = row, size = items.length, known = cluster(id);
  const right = items.reduce((n, i) => n + state.person.has(i), 0);
  const folded = !view.only && size > FOLDED * columns;
  return h("div", { class: "head", "data-cluster": id, vars: { "--c": colour(id) } }, h("i", { class: "dot" }),
    h("h2", {}, nameOf(id)), known && !known.name && known.suggested ? h("span", { class: "small guess" }, `${known.suggested}?`) : null,
    h("span", { class: "small number" }, `${count(size)}${right ? `, ${count(right)} by you` : ""}`), h("span", { class: "acts" }, headActions(id, items),
      folded ? button(view.open.has(id) ? "Fold" : `Show all ${count(size)}`, () => { if (!view.open.delete(id)) view.open.add(id); layout(); }) : null));
}

function line(row) {
  return h("div", { class: "line", vars: { "--w": `${tile.w}px`, "--h": `${tile.h}px` } }, row.items.map(sample));
}

/* One sample: also used in dialogs and questions. */
export function sample(i, props = {}) {
  const doubt = state.doubt[i], name = run.names[i];
  return h("div", { class: picture ? "tile" : "tile card", "data-i": i, role: "checkbox", tabindex: i === view.focus ? 0 : -1, draggable: "true", title: name,
    "aria-checked": String(chosen.has(i)), "aria-label": `${name}, ${nameOf(state.labels[i])}`, ...props },
    picture ? h("img", { src: `thumb/${i}`, alt: "", loading: "lazy", draggable: "false" }) : h("p", {}, cards.get(i) ?? ""),
    state.person.has(i) ? h("b", { class: "mark", title: "You decided this" }, "✓") : doubt > 500 ? h("b", { class: "mark doubt", title: "Doubtful" }, "?") : null);
}

async function text() {
  const missing = [...body.querySelectorAll(".card")].map((node) => +node.dataset.i).filter((i) => !cards.has(i));
  if (missing.length) await fill(missing, body);
}
export async function fill(missing, inside) {
  for (const i of missing) cards.set(i, "");
  const found = await ask("api/cards", { samples: missing });
  if (!found) return;
  missing.forEach((i, k) => cards.set(i, found[k] || run.names[i]));
  for (const node of inside.querySelectorAll(".card")) if (cards.has(+node.dataset.i)) node.querySelector("p").textContent = cards.get(+node.dataset.i);
}

export const colour = (id) => (id === NOWHERE ? "var(--muted)" : `var(--c${id % 10})`);

/* What is chosen, without drawing anything again. */
export function mark() {
  for (const node of body.querySelectorAll(".tile")) node.setAttribute("aria-checked", String(chosen.has(+node.dataset.i)));
}

const flat = () => rows.filter((row) => !row.head).flatMap((row) => row.items);
export function range(a, b) {
  const list = flat(), i = list.indexOf(a), j = list.indexOf(b);
  return i < 0 || j < 0 ? [b] : list.slice(Math.min(i, j), Math.max(i, j) + 1);
}

/* Move the focus by columns and rows, as it looks. */
export function step(dx, dy) {
  const lines = rows.filter((row) => !row.head);
  if (!lines.length) return -1;
  let r = lines.findIndex((row) => row.items.includes(view.focus));
  if (r < 0) return focus(lines[0].items[0]);
  let c = lines[r].items.indexOf(view.focus) + dx;
  if (c < 0) { if (r === 0) return view.focus; r -= 1; c = lines[r].items.length - 1; }
  if (c >= lines[r].items.length) { if (r === lines.length - 1) return view.focus; r += 1; c = 0; }
  r = Math.min(Math.max(r + dy, 0), lines.length - 1);
  return focus(lines[r].items[Math.min(c, lines[r].items.length - 1)]);
}

export function focus(i) {
  view.focus = i;
  const row = rows.find((each) => !each.head && each.items.includes(i));
  if (row && row.top < grid.scrollTop + HEAD) grid.scrollTop = row.top - HEAD;
  if (row && row.top + row.height > grid.scrollTop + grid.clientHeight - 80) grid.scrollTop = row.top + row.height - grid.clientHeight + 80;
  draw();
  for (const node of body.querySelectorAll('.tile[tabindex="0"]')) node.tabIndex = -1;
  const node = body.querySelector(`.tile[data-i="${i}"]`);
  if (node) { node.tabIndex = 0; node.focus({ preventScroll: true }); }
  return i;
}

export function goTo(id) {
  const row = rows.find((each) => each.head && each.id === id);
  if (row) { grid.scrollTop = row.top; draw(); }
}

/* Show only some samples; null for all. */
export function only(items, title = "") {
  view.only = items;
  view.title = title;
  grid.scrollTop = 0;
  changed();
}

/* Drag over the space between the tiles to select what the box touches. */
function select() {
  const box = byId("box");
  grid.addEventListener("pointerdown", (event) => {
    if (event.button || event.pointerType === "touch" || event.target.closest(".tile, button, input, a")) return;
    const frame = body.getBoundingClientRect(), x0 = event.clientX - frame.left, y0 = event.clientY - frame.top, before = event.shiftKey ? [...chosen] : [];
    const move = (e) => {
      const now = body.getBoundingClientRect(), x1 = e.clientX - now.left, y1 = e.clientY - now.top;
      const [left, right, top, bottom] = [Math.min(x0, x1), Math.max(x0, x1), Math.min(y0, y1), Math.max(y0, y1)];
      if (right - left + bottom - top < 6) return;
      box.hidden = false;
      Object.assign(box.style, { left: `${left + body.offsetLeft}px`, top: `${top + body.offsetTop}px`, width: `${right - left}px`, height: `${bottom - top}px` });
      chosen.clear();
      for (const i of before) chosen.add(i);
      for (const row of rows) {
        if (row.head || row.top > bottom || row.top + tile.h < top) continue;
        row.items.forEach((i, k) => { const at = k * (tile.w + GAP); if (at <= right && at + tile.w >= left) chosen.add(i); });
      }
      mark();
    };
    const up = () => { removeEventListener("pointermove", move); removeEventListener("pointerup", up); if (!box.hidden) { box.hidden = true; changed(); } };
    addEventListener("pointermove", move);
    addEventListener("pointerup", up);
  });
}
select();
grid.addEventListener("scroll", draw, { passive: true });
new ResizeObserver(() => { if (state.version && Math.abs(width() - (tile.w + GAP) * columns + GAP) > 1) layout(); }).observe(grid);
export const summary = () => (view.only ? `${view.title}: ${things(view.only.length)}` : "");
