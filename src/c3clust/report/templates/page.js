"use strict";
/* The page draws itself from two JSON elements. Data reaches the document as text nodes and attributes only. */
(() => {
const read = (id) => JSON.parse(document.getElementById(id).textContent);
const run = read("data"), sheets = read("sheets");
const items = run.items, thumbs = run.thumbs, clusters = run.clusters;
const rank = new Map(clusters.map((c, i) => [c.id, i]));
const byId = (id) => clusters[rank.get(id)];
const main = document.getElementById("main"), live = document.getElementById("live");
const TYPICAL = items.text ? 6 : 16, UNSURE = items.text ? 4 : 8, PAGE = 240, GAP = 6;
/* Thumbnails are whole pixels wide; on a phone five of them fill a line. */
const SIDE = innerWidth <= 560 ? Math.min(72, Math.floor((main.clientWidth - 32 - 4 * GAP) / 5)) : 64;

/* 1. Small helpers */
const SVG = "http://www.w3.org/2000/svg";
function fill(node, props, children) {
  for (const [key, value] of Object.entries(props || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (key === "vars") for (const [name, v] of Object.entries(value)) node.style.setProperty(name, v);
    else node.setAttribute(key, value === true ? "" : value);
  }
  for (const child of children.flat(Infinity)) if (child !== null && child !== undefined && child !== false) node.append(child);
  return node;
}
const h = (tag, props, ...children) => fill(document.createElement(tag), props, children);
const s = (tag, props, ...children) => fill(document.createElementNS(SVG, tag), props, children);
const count = (n) => n.toLocaleString("en");
const plural = (n, word) => `${count(n)} ${word}${n === 1 ? "" : "s"}`;
const fixed = (v, digits) => v.toFixed(digits).replace("-", "−");
const percent = (p, digits = 0) => p === null ? "–" : `${(100 * p).toFixed(digits)}%`;
const short = (v) => {
  if (v === null || v === undefined) return "–";
  const a = Math.abs(v);
  if (a !== 0 && (a < 0.001 || a >= 1e6)) return v.toExponential(1);
  return (a >= 1000 ? count(Math.round(v)) : String(Number(v.toPrecision(3)))).replace("-", "−");
};
const time = (seconds) => {
  if (seconds === null) return "–";
  if (seconds < 60) return `${seconds < 10 ? seconds.toFixed(1) : Math.round(seconds)} s`;
  const minutes = Math.round(seconds / 60);
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
};
const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);
const heading = (c) => c.named ? c.name : capital(c.name);
const say = (text) => { live.textContent = text; };
const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;

/* 2. Colours and shapes: ten hues, then the same hues as squares, triangles and diamonds */
const hue = (i) => `var(--c${i % 10})`;
const shape = (i) => Math.floor(i / 10) % 4;
const PATHS = ["M5 0a5 5 0 1 0 0 10a5 5 0 1 0 0-10z", "M.6.6h8.8v8.8H.6z", "M5 .2 9.8 9.2H.2z", "M5-.4 10.4 5 5 10.4-.4 5z"];
const mark = (i) => h("span", { class: "mark", "aria-hidden": "true", vars: { "--c": hue(i) } },
  s("svg", { viewBox: "0 0 10 10" }, s("path", { d: PATHS[shape(i)] })));
const probe = h("i", { hidden: true });
document.body.append(probe);
const resolve = (value) => { probe.style.color = value; return getComputedStyle(probe).color; };

/* 3. Thumbnails: a cell of a sprite sheet as the background of a button */
if (thumbs) {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(sheets.map((url, i) => `.s${i}{background-image:url("${url}")}`).join("\n"));
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
  document.body.classList.toggle("pixelated", thumbs.pixelated);
}
const className = (row) => items.class && items.class[row] >= 0 ? run.classes[items.class[row]] : null;
function describe(row) {
  const sure = items.confidence[row], known = className(row);
  return [items.text ? items.text[row] : items.name[row], byId(items.cluster[row]).name, sure === null ? null : `confidence ${percent(sure)}`,
    known === null ? null : `class ${known}`].filter((part) => part !== null).join(", ");
}
function place(node, row, side) {
  const { width, height, cell, columns, rows } = thumbs;
  const scale = side / Math.max(width, height), w = Math.round(width * scale), t = Math.round(height * scale);
  const at = row % (columns * rows), i = Math.floor(row / (columns * rows));
  node.classList.add("thumb", `s${i}`);
  Object.assign(node.style, {
    width: `${w}px`, height: `${t}px`,
    backgroundSize: `${columns * cell[0] * w / width}px auto`,
    backgroundPosition: `${-(at % columns) * cell[0] * w / width}px ${-Math.floor(at / columns) * cell[1] * t / height}px`,
  });
  return node;
}
function thumb(row, side = SIDE) {
  const props = { type: "button", title: describe(row), "data-row": row, onclick: () => openItem(row) };
  if (items.text) return h("button", { ...props, class: "said" }, h("span", {}, items.text[row]));
  if (!thumbs) return h("button", { ...props, class: "chip" }, items.name[row]);
  return place(h("button", { ...props, "aria-label": describe(row) }), row, side);
}
/* One stop of the tab key for each strip; the arrow keys move within it. */
function strip(rows, label, few = 0) {
  const box = h("div", { class: few ? `thumbs few${few}` : "thumbs", role: "group", "aria-label": label });
  fillStrip(box, rows);
  box.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (!step) return;
    const all = [...box.children].filter((node) => node.offsetParent !== null);
    const next = all[all.indexOf(document.activeElement) + step];
    if (next) { document.activeElement.tabIndex = -1; next.tabIndex = 0; next.focus(); }
    event.preventDefault();
  });
  return box;
}
function fillStrip(box, rows) {
  const first = box.children.length === 0;
  box.append(...rows.map((row) => thumb(row)));
  for (const [i, node] of [...box.children].entries()) if (!(first && i === 0) && node !== document.activeElement) node.tabIndex = i === 0 ? 0 : -1;
}

/* 4. Dialogs: one cluster, one image */
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
function rowsOf(id) {
  const rows = [];
  for (let row = 0; row < run.shown; row++) if (items.cluster[row] === id) rows.push(row);
  return rows.sort(typicalFirst);
}
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
  const told = rows.length < c.size ? `${count(rows.length)} of ${plural(c.size, run.noun)}, sampled` : plural(c.size, run.noun);
  openDialog("many", h("div", {}, h("h2", {}, mark(rank.get(id)), heading(c)), h("p", { class: "small" }, told)), order, grid, more);
  show(0);
}
function openItem(row) {
  const id = items.cluster[row], known = className(row), sure = items.confidence[row];
  const facts = [["Name", items.name[row]], ["Cluster", byId(id).name], ["Confidence", percent(sure, 1)]];
  if (known !== null) facts.push(["Class", known]);
  const box = openDialog("one", h("h2", {}, capital(run.noun)), null,
    items.text ? h("p", { class: "whole" }, items.text[row]) : null,
    thumbs ? place(h("div", { role: "img", "aria-label": items.name[row] }), row, thumbs.pixelated ? 280 : 2 * Math.max(thumbs.width, thumbs.height)) : null,
    table(facts),
    h("button", { type: "button", class: "quiet", onclick: () => {
      for (const other of document.querySelectorAll("dialog")) other.close();
      jump(id);
    } }, `Go to ${byId(id).name}`));
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

/* 5. Sections */
const nav = document.getElementById("nav");
function section(id, title, lede, controls, ...body) {
  nav.append(h("a", { href: `#${id}` }, title));
  const head = h("div", { class: "head" }, h("div", {}, h("h2", { id: `${id}-title` }, title), lede ? h("p", { class: "lede" }, lede) : null), controls);
  const node = h("section", { id, "aria-labelledby": `${id}-title` }, head, body);
  main.append(node);
  return node;
}

function summary() {
  const stages = run.stages.map((stage) => `${stage.name} ${plural(stage.epochs ?? 0, "epoch")}`).join(", then ");
  const lede = [run.place ? `From ${run.place}. ` : "", `Method ${run.method}`, stages ? `: ${stages}` : "", `, on ${run.device}`,
    run.created ? `, ${run.created.slice(0, 16).replace("T", " ")}` : "", "."].join("");
  const stats = [], score = (key, value) => key === "acc" ? percent(value, 1) : fixed(value, 3);
  const earlier = (key) => run.stages.slice(0, -1).filter((stage) => stage.scores && typeof stage.scores[key] === "number")
    .map((stage) => `${score(key, stage.scores[key])} after ${stage.name}`).join(", ");
  for (const [key, name] of [["acc", "Accuracy"], ["nmi", "NMI"], ["ari", "ARI"]])
    if (run.scores && typeof run.scores[key] === "number") stats.push([name, score(key, run.scores[key]), earlier(key)]);
  if (run.confidence !== null) stats.push(["Mean confidence", percent(run.confidence)]);
  stats.push(["Time", time(run.seconds)]);
  nav.append(h("a", { href: "#summary" }, "Summary"));
  main.append(h("section", { id: "summary", "aria-labelledby": "summary-title" },
    h("h1", { id: "summary-title" }, run.title), h("p", { class: "lede" }, lede),
    run.edits ? h("p", { class: "small" }, `Shown with ${plural(run.edits, "change")} to names and clusters made after training.`) : null,
    h("dl", { class: "stats" }, stats.map(([name, value, before]) => h("div", {}, h("dt", {}, name), h("dd", {}, value), before ? h("dd", { class: "before" }, before) : null))),
    bars(), h("ul", { class: "findings", "aria-label": "Findings" }, run.findings.map(finding))));
}
function bars() {
  const most = Math.max(...clusters.map((c) => c.size), 1), even = run.n / clusters.length;
  const sorted = [...clusters].sort((a, b) => b.size - a.size);
  const first = new Map(), side = thumbs ? Math.min(56, Math.floor(main.clientWidth / clusters.length) - 12) : 0;
  for (let row = run.shown - 1; row >= 0; row--) if (!(items.typical[first.get(items.cluster[row])] > items.typical[row])) first.set(items.cluster[row], row);
  const bar = (c) => h("a", { href: `#cluster-${c.id}`, "aria-label": `${c.name}: ${plural(c.size, run.noun)}`, title: `${c.name}: ${plural(c.size, run.noun)}`,
    vars: { "--c": hue(rank.get(c.id)) }, onclick: (event) => { event.preventDefault(); jump(c.id); } },
  h("span", { class: "track" }, h("span", { class: "count" }, count(c.size)), h("span", { class: "fill", vars: { height: `${c.size / most * 120 / 148 * 100}%` } })),
  side >= 20 && first.has(c.id) ? place(h("span", { "aria-hidden": "true" }), first.get(c.id), side) : null,
  h("span", { class: "who" }, c.named ? c.name : String(c.id)));
  return h("figure", { class: "sizes" },
    h("figcaption", {}, h("h3", {}, "Cluster sizes"), h("span", { class: "small" }, `The dashed line is an even share, ${short(even)} ${run.noun}s`)),
    h("div", { class: clusters.length > 24 ? "bars dense" : "bars" }, sorted.map(bar),
      h("span", { class: "even", "aria-hidden": "true", vars: { top: `calc(var(--track, 148px) * ${1 - even / most * 120 / 148})` } })));
}
const LEVELS = { bad: "Problem", warn: "Look here", good: "All well", note: "Note" };
const finding = (f) => h("li", { class: f.level, "data-kind": f.kind }, h("span", { class: "level" }, LEVELS[f.level]),
  h("div", {}, h("p", {}, f.text), f.advice ? h("p", {}, advice(f.advice)) : null));
/* A command at the end of an advice is set as code. */
function advice(text) {
  const at = text.indexOf("c3clust ");
  return at < 0 ? text : [text.slice(0, at), h("code", {}, text.slice(at))];
}

function gallery() {
  const list = h("div", { id: "gallery", class: clusters.length > 40 ? "long" : null });
  let key = "size", up = false;
  const value = { size: (c) => c.size, confidence: (c) => c.confidence ?? -1, name: (c) => c.id };
  const compare = (a, b) => key === "name" ? byName(a, b) : value[key](a) - value[key](b) || b.id - a.id;
  const byName = (a, b) => (b.named - a.named) || (a.named ? a.name.localeCompare(b.name) : a.id - b.id);
  const nodes = new Map(clusters.filter((c) => c.size).map((c) => [c.id, cluster(c)]));
  function arrange() {
    const sorted = clusters.filter((c) => c.size).sort((a, b) => up ? compare(a, b) : compare(b, a));
    list.append(...sorted.map((c) => nodes.get(c.id)));
  }
  const options = [["size", "Size"], ["confidence", "Confidence"], ["name", "Name"]].filter(([k]) => k !== "confidence" || run.confidence !== null);
  const order = choice("Sort clusters", options, "size", (chosen, button) => {
    up = chosen === key ? !up : chosen === "name";
    key = chosen;
    for (const [i, other] of [...order.children].entries()) other.textContent = options[i][1] + (other === button ? (up ? " ↑" : " ↓") : "");
    arrange();
    say(`Sorted by ${chosen}, ${up ? "rising" : "falling"}`);
  });
  order.firstChild.textContent = "Size ↓";
  arrange();
  const told = run.shown < run.n ? `${count(run.shown)} of the ${count(run.n)} ${run.noun}s are kept in this page: the most typical and the least certain of each cluster, and a fair sample of the rest.`
    : `All ${count(run.n)} ${run.noun}s are in this page. Typical ones lie nearest the centre of their cluster.`;
  const none = clusters.filter((c) => !c.size);
  section("clusters", "Clusters", told, h("div", { class: "controls" }, h("span", { class: "small", "aria-hidden": "true" }, "Sort by"), order), list,
    none.length ? h("p", { class: "small empty-note" }, `Empty: ${none.map((c) => c.name).join(", ")}.`) : null);
}
function cluster(c) {
  const i = rank.get(c.id), rows = rowsOf(c.id);
  const typical = rows.slice(0, TYPICAL);
  const unsure = c.confidence === null ? [] : [...rows].sort(unsureFirst).slice(0, UNSURE);
  const facts = h("div", { class: "figures" }, h("span", {}, h("b", {}, count(c.size)), ` ${run.noun}${c.size === 1 ? "" : "s"}, ${percent(c.size / run.n, 1)}`),
    c.confidence === null ? null : [h("span", {}, h("b", {}, percent(c.confidence)), " mean confidence"),
      h("div", { class: "meter", "aria-hidden": "true", vars: { "--c": hue(i) } }, h("i", { vars: { width: percent(c.confidence) } }))],
    c.top ? h("span", {}, h("b", {}, percent(c.top[1])), ` ${c.top[0]}`) : null,
    c.near === null ? null : h("span", {}, "Nearest ", link(c.near), c.similarity === null ? "" : h("span", { title: "Cosine of the centres of the two clusters" }, ` (${fixed(c.similarity, 2)})`)),
    c.merged.length ? h("span", {}, `Merged with ${c.merged.join(", ")}`) : null,
    c.named ? h("span", {}, `Number ${c.id}`) : null);
  const apart = c.traits.length ? [h("h4", {}, run.traits === "words" ? "Words that set it apart" : "What sets it apart"), run.traits === "words" ? words(c) : columns(c)] : null;
  return h("article", { class: items.text ? "cluster wordy" : "cluster", id: `cluster-${c.id}`, tabindex: "-1", "data-id": c.id, "aria-label": c.name },
    h("div", {}, h("h3", {}, mark(i), h("span", {}, heading(c))), facts,
      h("button", { type: "button", class: "quiet open", "aria-label": `See more of ${c.name}`, onclick: () => openCluster(c.id) }, rows.length > typical.length ? `See ${count(rows.length)}` : "See all")),
    h("div", {}, apart, h("h4", {}, "Most typical"), strip(typical, `Most typical of ${c.name}`, 10)),
    unsure.length ? h("div", {}, h("h4", {}, "Least certain"), strip(unsure, `Least certain of ${c.name}`, 5)) : null);
}

/* Of texts: the words, the strongest first. Of tables: the columns, with the mean (or share) here and in all rows. */
const words = (c) => h("ul", { class: "words", "aria-label": `Words that set ${c.name} apart` }, c.traits.map((t) =>
  h("li", { title: `${percent(t.here, 2)} of the words here, ${percent(t.all, 2)} of all` }, t.name)));
function columns(c) {
  const value = (t, v) => t.share ? percent(v) : short(v);
  const far = Math.max(...c.traits.map((t) => Math.abs(t.weight)), 1);
  return h("table", { class: "apart" }, h("thead", {}, h("tr", {}, ["Column", "Here", "All", "Difference"].map((name) => h("th", { scope: "col" }, name)))),
    h("tbody", {}, c.traits.map((t) => h("tr", {}, h("th", { scope: "row" }, t.name), h("td", {}, value(t, t.here)), h("td", {}, value(t, t.all)),
      h("td", { title: "Difference of the means in standard deviations of all rows" }, h("span", { class: t.weight < 0 ? "less" : "more", vars: { "--w": `${Math.abs(t.weight) / far * 100}%` } }),
        `${t.weight > 0 ? "+" : ""}${fixed(t.weight, 1)}`)))));
}

/* 6. Map */
function map() {
  const m = run.map, n = m.row.length;
  if (!n) return;
  const canvas = h("canvas", { tabindex: "0", role: "application", "aria-roledescription": "map",
    "aria-label": `Map of ${plural(n, run.noun)}. Arrow keys move from point to point, Enter goes to the cluster, plus and minus zoom, 0 shows all.` });
  const tip = h("div", { class: thumbs ? "tip" : "tip plain", hidden: true, id: "tip" });
  const legend = h("div", { class: "legend", role: "group", "aria-label": "Show one group alone" });
  const button = (text, label, act) => h("button", { type: "button", "aria-label": label, onclick: act }, text);
  const stage = h("div", { class: "stage" }, canvas, tip, h("div", { class: "zoom group" },
    button("+", "Zoom in", () => zoom(1.6)), button("−", "Zoom out", () => zoom(1 / 1.6)), button("All", "Show all", () => reset())));
  const ctx = canvas.getContext("2d");
  let w = 0, t = 0, k = 1, ox = 0, oy = 0, by = "cluster", alone = null, over = -1, waiting = false;
  let group, groups, colours, ink, ground;
  const reach = (values) => Math.max(...values.map(Math.abs), 1e-6), rx = reach(m.x), ry = reach(m.y);
  let sx = 1, sy = 1;
  const X = (i) => w / 2 + ox + m.x[i] * sx * k, Y = (i) => t / 2 + oy - m.y[i] * sy * k;
  /* Fill the frame; neither axis is drawn out more than twice the other. */
  function fit() {
    sx = Math.max(w / 2 - 28, 1) / rx; sy = Math.max(t / 2 - 28, 1) / ry;
    sx = Math.min(sx, 2 * sy); sy = Math.min(sy, 2 * sx);
  }

  function regroup() {
    group = m.row.map((row) => by === "class" ? items.class[row] : rank.get(items.cluster[row]));
    const name = (g) => by === "class" ? (g < 0 ? "not known" : run.classes[g]) : clusters[g].name;
    const label = (g) => by === "class" || clusters[g].named ? name(g) : String(clusters[g].id);
    const found = new Map();
    group.forEach((g, i) => { if (!found.has(g)) found.set(g, { g, name: name(g), label: label(g), at: [] }); found.get(g).at.push(i); });
    groups = [...found.values()].sort((a, b) => a.g - b.g);
    const middle = (values) => values.sort((a, b) => a - b)[values.length >> 1];
    for (const one of groups) {  // its label stands at the point nearest its middle
      const x = middle(one.at.map((i) => m.x[i])), y = middle(one.at.map((i) => m.y[i])), off = (i) => (m.x[i] - x) ** 2 + (m.y[i] - y) ** 2;
      one.mid = one.at.reduce((best, i) => off(i) < off(best) ? i : best);
    }
    alone = null;
    legend.replaceChildren(...groups.map((one) => h("button", { type: "button", "aria-pressed": "false", "data-group": one.g, onclick: (event) => {
      alone = alone === one.g ? null : one.g;
      for (const other of legend.children) other.setAttribute("aria-pressed", String(alone !== null && other === event.currentTarget));
      draw();
    } }, mark(Math.max(one.g, 0)), h("span", { class: "who" }, one.name), h("span", { class: "of" }, count(one.at.length)))));
    paint();
  }
  function paint() {
    colours = Array.from({ length: 10 }, (_, i) => resolve(`var(--c${i})`));
    ink = resolve("var(--ink)"); ground = resolve("var(--surface)");
    draw();
  }
  function draw() { if (!waiting) { waiting = true; requestAnimationFrame(() => { waiting = false; drawNow(); }); } }
  function dot(i, r) {
    const x = X(i), y = Y(i), g = Math.max(group[i], 0);
    ctx.beginPath();
    if (shape(g) === 0) ctx.arc(x, y, r, 0, 7);
    else if (shape(g) === 1) ctx.rect(x - r * .88, y - r * .88, r * 1.76, r * 1.76);
    else if (shape(g) === 2) { ctx.moveTo(x, y - r * 1.1); ctx.lineTo(x + r * 1.1, y + r * .9); ctx.lineTo(x - r * 1.1, y + r * .9); ctx.closePath(); }
    else { ctx.moveTo(x, y - r * 1.2); ctx.lineTo(x + r * 1.2, y); ctx.lineTo(x, y + r * 1.2); ctx.lineTo(x - r * 1.2, y); ctx.closePath(); }
  }
  function drawNow() {
    const ratio = devicePixelRatio || 1;
    if (canvas.width !== Math.round(w * ratio) || canvas.height !== Math.round(t * ratio)) { canvas.width = Math.round(w * ratio); canvas.height = Math.round(t * ratio); }
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    ctx.clearRect(0, 0, w, t);
    const r = Math.max(2, Math.min(6, (n > 1500 ? 2.4 : n > 400 ? 3.2 : 4.2) * Math.sqrt(k)));
    for (const pass of [false, true]) for (let i = 0; i < n; i++) {
      const strong = alone === null || group[i] === alone;
      if (strong !== pass) continue;
      ctx.globalAlpha = strong ? .78 : .1;
      ctx.fillStyle = colours[Math.max(group[i], 0) % 10];
      dot(i, r); ctx.fill();
    }
    ctx.globalAlpha = 1;
    ctx.font = "600 13px Inter, 'Segoe UI', 'Helvetica Neue', Arial, 'Liberation Sans', sans-serif";
    ctx.textAlign = "center"; ctx.textBaseline = "middle"; ctx.lineJoin = "round";
    for (const one of groups) {
      if (groups.length > 60 && alone !== one.g) continue;
      if (alone !== null && alone !== one.g) continue;
      const x = X(one.mid), y = Y(one.mid);
      const text = one.label.length > 20 ? `${one.label.slice(0, 19)}…` : one.label;
      ctx.strokeStyle = ground; ctx.lineWidth = 4; ctx.strokeText(text, x, y);
      ctx.fillStyle = ink; ctx.fillText(text, x, y);
    }
    if (over >= 0) { dot(over, r + 3); ctx.lineWidth = 2; ctx.strokeStyle = ink; ctx.stroke(); }
  }
  function nearest(x, y, within) {
    let best = -1, least = within * within;
    for (let i = 0; i < n; i++) {
      if (alone !== null && group[i] !== alone) continue;
      const d = (X(i) - x) ** 2 + (Y(i) - y) ** 2;
      if (d < least) { least = d; best = i; }
    }
    return best;
  }
  function point(i) {
    if (i === over) return;
    over = i;
    canvas.classList.toggle("hit", i >= 0);
    tip.hidden = i < 0;
    draw();
    if (i < 0) return;
    const row = m.row[i], sure = items.confidence[row], known = className(row);
    tip.replaceChildren(...[thumbs ? place(h("span", { role: "img", "aria-label": items.name[row] }), row, 88) : null, h("b", {}, items.text ? items.text[row] : items.name[row]),
      h("span", {}, byId(items.cluster[row]).name), sure === null ? null : h("span", { class: "small" }, `${percent(sure)} confident`),
      known === null ? null : h("span", { class: "small" }, `class ${known}`)].filter(Boolean));
    const x = X(i), y = Y(i), left = x + 16 + tip.offsetWidth > w ? x - 16 - tip.offsetWidth : x + 16;
    tip.style.left = `${Math.max(4, left)}px`;
    tip.style.top = `${Math.max(4, Math.min(t - tip.offsetHeight - 4, y - tip.offsetHeight / 2))}px`;
  }
  function zoom(factor, x = w / 2, y = t / 2) {
    const next = Math.max(1, Math.min(40, k * factor)), f = next / k;
    ox = (ox + w / 2 - x) * f + x - w / 2; oy = (oy + t / 2 - y) * f + y - t / 2; k = next;
    settle();
  }
  function settle() {
    const edge = (k - 1) * Math.max(w, t) * .75;
    ox = Math.max(-edge, Math.min(edge, ox)); oy = Math.max(-edge, Math.min(edge, oy));
    canvas.style.touchAction = k > 1 ? "none" : "pan-y";
    point(-1); draw();
  }
  function reset() { k = 1; ox = oy = 0; settle(); }
  const where = (event) => { const box = canvas.getBoundingClientRect(); return [event.clientX - box.left, event.clientY - box.top]; };
  const fingers = new Map();
  let moved = 0;
  canvas.addEventListener("pointerdown", (event) => { fingers.set(event.pointerId, where(event)); moved = 0; try { canvas.setPointerCapture(event.pointerId); } catch { /* a pointer that is gone */ } });
  canvas.addEventListener("pointermove", (event) => {
    const [x, y] = where(event), before = fingers.get(event.pointerId);
    if (!before) { point(nearest(x, y, 14)); return; }
    if (fingers.size === 2) {
      const other = [...fingers].find(([id]) => id !== event.pointerId)[1];
      const was = Math.hypot(before[0] - other[0], before[1] - other[1]), is = Math.hypot(x - other[0], y - other[1]);
      if (was > 0) zoom(is / was, (x + other[0]) / 2, (y + other[1]) / 2);
    } else { ox += x - before[0]; oy += y - before[1]; canvas.classList.add("dragging"); settle(); }
    moved += Math.hypot(x - before[0], y - before[1]);
    fingers.set(event.pointerId, [x, y]);
  });
  const release = (event) => { fingers.delete(event.pointerId); canvas.classList.remove("dragging"); };
  canvas.addEventListener("pointerup", (event) => {
    release(event);
    if (moved > 5) return;
    const hit = nearest(...where(event), event.pointerType === "mouse" ? 14 : 22);
    if (hit < 0) { point(-1); return; }
    if (event.pointerType === "mouse" || hit === over) jump(items.cluster[m.row[hit]]); else point(hit);
  });
  canvas.addEventListener("pointercancel", release);
  canvas.addEventListener("pointerleave", (event) => { if (event.pointerType === "mouse" && !fingers.size && document.activeElement !== canvas) point(-1); });
  canvas.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey && document.activeElement !== canvas) return;
    event.preventDefault();
    zoom(Math.exp(-Math.max(-60, Math.min(60, event.deltaY)) * .006), ...where(event));
  }, { passive: false });
  canvas.addEventListener("blur", () => point(-1));
  canvas.addEventListener("keydown", (event) => {
    const way = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] }[event.key];
    if (way) step(way);
    else if (event.key === "Enter" && over >= 0) jump(items.cluster[m.row[over]]);
    else if (event.key === "+" || event.key === "=") zoom(1.6);
    else if (event.key === "-") zoom(1 / 1.6);
    else if (event.key === "0") reset();
    else if (event.key === "Escape") point(-1);
    else return;
    event.preventDefault();
  });
  /* The nearest point in a direction, points off the axis counting as further. */
  function step([dx, dy]) {
    if (over < 0) { point(nearest(w / 2, t / 2, Infinity)); if (over >= 0) say(describe(m.row[over])); return; }
    let best = -1, least = Infinity;
    for (let i = 0; i < n; i++) {
      if (i === over || (alone !== null && group[i] !== alone)) continue;
      const ax = X(i) - X(over), ay = Y(i) - Y(over), along = ax * dx + ay * dy, off = Math.abs(ax * dy) + Math.abs(ay * dx);
      if (along > .5 && along + 2 * off < least) { least = along + 2 * off; best = i; }
    }
    if (best < 0) return;
    const x = X(best), y = Y(best);
    if (x < 20 || y < 20 || x > w - 20 || y > t - 20) { ox += w / 2 - x; oy += t / 2 - y; settle(); }
    point(best);
    say(describe(m.row[best]));
  }
  const colour = items.class ? choice("Colour by", [["cluster", "By cluster"], ["class", "By class"]], "cluster", (key) => { by = key; regroup(); }) : null;
  const told = n < run.n ? `A fair sample of ${count(n)} of the ${count(run.n)} ${run.noun}s` : `All ${count(n)} ${run.noun}s`;
  section("map", "Map", `${told}, placed so that those the network finds alike lie together (${m.how.replace("t-SNE", "t\u2011SNE")} of z). Distances between far groups mean little.`,
    colour && h("div", { class: "controls" }, colour), h("div", { class: "map" }, stage, legend),
    h("p", { class: "small hint" }, "Point at a dot to see it, click to go to its cluster. Drag to move; click the map once, then scroll to zoom. By keyboard: arrows, Enter, + − 0."));
  new ResizeObserver(() => { w = stage.clientWidth; t = stage.clientHeight; fit(); settle(); }).observe(stage);
  themed.push(paint);
  regroup();
  canvas.pointAt = (i) => [X(i), Y(i)];
}

/* 7. Training curves */
const CURVES = [
  ["loss", "Loss", "What each stage minimises. The second stage's loss is below zero by nature."],
  ["positives_per_view", "Positives per view", "How many views of a batch are taken for the same thing as a view."],
  ["cluster_sizes", "Cluster sizes", "The share of each cluster after each epoch."],
  ["labels_changed", "Labels changed", "Assignments that differ from the epoch before: should fall towards zero."],
];
const HUES = ["var(--c0)", "var(--c4)", "var(--c2)", "var(--c8)"];
function training() {
  const told = run.stages.filter((stage) => Object.keys(stage.curves).length);
  if (!told.length) return;
  const known = new Set(CURVES.map(([key]) => key));
  const rest = [...new Set(told.flatMap((stage) => Object.keys(stage.curves)))].filter((key) => !known.has(key));
  const chart = ([key, title, why]) => {
    const having = told.filter((stage) => stage.curves[key]);
    if (!having.length) return null;
    return h("figure", { class: "chart", "data-curve": key }, h("h3", {}, title), why ? h("p", { class: "small" }, why) : null,
      h("div", { class: "panels" }, having.map((stage) => panel(key, title, stage, having))));
  };
  const stages = told.map((stage) => `${stage.name} (${plural(stage.epochs ?? 0, "epoch")}${stage.seconds === null ? "" : `, ${time(stage.seconds)}`})`).join(", then ");
  section("training", "Training", `Epoch by epoch: ${stages}.`, null, h("div", { class: "charts" }, CURVES.map(chart)),
    rest.length ? h("details", {}, h("summary", {}, "More curves"), h("div", { class: "charts" }, rest.map((key) => chart([key, capital(key.replaceAll("_", " ")), ""])))) : null);
}
function ticks(low, high, most = 4) {
  const rough = (high - low) / most, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((f) => f * power).find((f) => f >= rough) ?? power * 10;
  const out = [];
  for (let v = Math.ceil(low / step - 1e-9) * step; v <= high + step * 1e-9; v += step) out.push(Math.abs(v) < step * 1e-9 ? 0 : v);
  return { at: out, digits: Math.max(0, -Math.floor(Math.log10(step) + 1e-9) + (step / power === 2.5 ? 1 : 0)) };
}
function panel(key, title, stage, all) {
  const W = 300, T = 160, left = 38, right = 8, top = 10, bottom = 20;
  const sizes = key === "cluster_sizes", { epoch, value } = stage.curves[key];
  const own = key === "loss" || key.endsWith("_loss") ? [stage] : all;
  const values = own.flatMap((one) => one.curves[key].value).filter((v) => v !== null);
  const fraction = key === "labels_changed" && Math.max(...values) <= 1;
  let low = sizes ? 0 : Math.min(...values), high = sizes ? 1 : Math.max(...values);
  const even = key === "positives_per_view" ? stage.balanced : null;
  if (even) high = Math.max(high, even * 1.2);
  if (!sizes && key !== "loss" && !key.endsWith("_loss")) low = Math.min(0, low);
  if (high - low < 1e-12) { high += Math.abs(high) * .1 || 1; low -= low === 0 ? 0 : Math.abs(low) * .1; }
  const format = (v) => sizes || fraction ? percent(v, (high - low) < .05 ? 1 : 0) : short(v);
  const first = epoch[0], last = epoch.at(-1);
  const y = (v) => top + (high - v) / (high - low) * (T - top - bottom);
  const svg = s("svg", { viewBox: `0 0 ${W} ${T}`, preserveAspectRatio: "none", role: "img", "aria-label": sizes
    ? `${title}, stage ${stage.name}, epoch ${first} to ${last}` : `${title}, stage ${stage.name}: from ${format(value[0])} at epoch ${first} to ${format(value.at(-1))} at epoch ${last}` });
  const read = h("span", { class: "read" }), node = h("div", { class: "panel", vars: { "--stage": HUES[run.stages.indexOf(stage) % HUES.length] } },
    h("div", { class: "stagename" }, h("b", {}, stage.name), read), svg);
  function draw() {
    const width = svg.clientWidth || W;
    svg.setAttribute("viewBox", `0 0 ${width} ${T}`);
    const X = (e) => last === first ? (left + width - right) / 2 : left + (e - first) / (last - first) * (width - left - right);
    svg.replaceChildren();
    const { at: marks, digits } = ticks(low, high);
    for (const v of marks) {
      const text = sizes || fraction ? percent(v, Math.max(0, digits - 2)) : digits > 4 || Math.abs(v) >= 1e4 ? short(v) : fixed(v, digits);
      svg.append(s("line", { class: "grid", x1: left, x2: width - right, y1: y(v), y2: y(v) }), s("text", { x: left - 8, y: y(v) + 4, "text-anchor": "end" }, text));
    }
    if (even) svg.append(s("line", { class: "ref", x1: left, x2: width - right, y1: y(even), y2: y(even) }), s("text", { x: width - right, y: y(even) - 6, "text-anchor": "end" }, `${short(even)} in balanced clusters`));
    svg.append(s("text", { x: X(first), y: T - 4, "text-anchor": last === first ? "middle" : "start" }, `epoch ${first}`));
    if (last > first) svg.append(s("text", { x: X(last), y: T - 4, "text-anchor": "end" }, String(last)));
    if (sizes) areas(X); else {
      const path = value.map((v, i) => v === null ? "" : `${i === 0 || value[i - 1] === null ? "M" : "L"}${X(epoch[i]).toFixed(1)} ${y(v).toFixed(1)}`).join("");
      svg.append(s("path", { class: "line", d: path }));
      if (epoch.length === 1) svg.append(s("circle", { class: "dot", cx: X(first), cy: y(value[0]), r: 4 }));
    }
    const cross = s("g", {});
    svg.append(cross);
    svg.onpointermove = (event) => {
      const box = svg.getBoundingClientRect(), e = first + (event.clientX - box.left - left) / Math.max(box.width - left - right, 1) * (last - first);
      let i = 0;
      epoch.forEach((at, j) => { if (Math.abs(at - e) < Math.abs(epoch[i] - e)) i = j; });
      if (value[i] === null) return;
      cross.replaceChildren(s("line", { class: "cross", x1: X(epoch[i]), x2: X(epoch[i]), y1: top, y2: T - bottom }), sizes ? "" : s("circle", { class: "dot", cx: X(epoch[i]), cy: y(value[i]), r: 4.5 }));
      read.textContent = sizes ? `epoch ${epoch[i]}: largest ${percent(Math.max(...value[i]) / Math.max(total(value[i]), 1))}` : `epoch ${epoch[i]}: ${format(value[i])}`;
    };
    svg.onpointerleave = () => { cross.replaceChildren(); rest(); };
  }
  const total = (row) => row.reduce((a, b) => a + b, 0);
  function areas(X) {
    const rows = value.map((row) => row ?? []), shown = rows.map((row) => Math.max(total(row), 1));
    const base = rows.map(() => 0);
    for (let c = 0; c < clusters.length; c++) {
      const under = [...base];
      rows.forEach((row, i) => { base[i] += (row[c] ?? 0) / shown[i]; });
      const line = (edge, i) => `${X(epoch[i]).toFixed(1)} ${y(edge[i]).toFixed(1)}`, at = epoch.map((_, i) => i);
      svg.append(s("path", { class: "area", fill: hue(c), d: `M${at.map((i) => line(base, i)).join("L")}L${at.reverse().map((i) => line(under, i)).join("L")}Z` }));
    }
  }
  const rest = () => { read.textContent = sizes ? "" : format(value.findLast((v) => v !== null)); };
  rest();
  draw();
  new ResizeObserver(draw).observe(svg);
  return node;
}

/* 8. Against the true labels */
function truth() {
  const t = run.confusion;
  if (!t) return;
  const box = t.classes.length <= 30 && t.clusters.length <= 36 ? matrix(t) : heat(t);
  const order = t.classes.map((_, i) => i).sort((a, b) => t.accuracy[b] - t.accuracy[a]);
  const list = h("ol", { class: "acc" }, order.map((i) => h("li", {},
    h("div", { class: "row" }, h("span", { title: t.classes[i] }, t.classes[i]), h("span", {}, `${percent(t.accuracy[i])} of ${count(t.totals[i])}`)),
    h("div", { class: "meter", "aria-hidden": "true", vars: { "--c": "var(--c0)" } }, h("i", { vars: { width: percent(t.accuracy[i]) } })))));
  section("truth", "Against true labels", `Each class is matched with at most one cluster so that most ${run.noun}s agree. Labels were used for this page only, never in training.`, null,
    h("div", { class: "truth" }, h("div", {}, h("h3", {}, "Classes and clusters"), h("p", { class: "small" }, `A row is a class; its darkest cell is where its ${run.noun}s went. Framed: the matched cluster.`), box),
      h("div", {}, h("h3", {}, "Accuracy by class"), h("p", { class: "small" }, `${capital(run.noun)}s of a class that lie in its matched cluster.`), list)));
}
const tag = (id) => byId(id).named ? byId(id).name : String(id);
function matrix(t) {
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Confusion matrix" }, h("table", { class: "matrix" },
    h("thead", {}, h("tr", {}, h("td", { class: "unseen" }), t.clusters.map((id) => h("th", { scope: "col", title: byId(id).name }, tag(id))))),
    h("tbody", {}, t.classes.map((name, i) => h("tr", {}, h("th", { scope: "row", title: name }, name), t.counts[i].map((value, j) => {
      const p = value / t.totals[i], match = t.matched[i] === t.clusters[j];
      return h("td", { class: [p > .55 ? "deep" : "", match ? "match" : "", value ? "" : "none"].join(" ").trim() || null, vars: { "--p": p.toFixed(3) },
        title: `${plural(value, run.noun)} of ${name} in ${byId(t.clusters[j]).name}` }, value ? count(value) : "·");
    }))))));
}
function heat(t) {
  const canvas = h("canvas", { width: t.clusters.length, height: t.classes.length, role: "img", "aria-label": `Confusion matrix of ${t.classes.length} classes and ${t.clusters.length} clusters` });
  const told = h("p", { class: "small" }, "Point at a cell to read it."), ctx = canvas.getContext("2d");
  function paint() {
    ctx.clearRect(0, 0, canvas.width, canvas.height);
    ctx.fillStyle = resolve("var(--c0)");
    t.counts.forEach((row, i) => row.forEach((value, j) => { ctx.globalAlpha = Math.min(1, value / t.totals[i]); ctx.fillRect(j, i, 1, 1); }));
  }
  canvas.addEventListener("pointermove", (event) => {
    const box = canvas.getBoundingClientRect();
    const j = Math.min(t.clusters.length - 1, Math.floor((event.clientX - box.left) / box.width * t.clusters.length)), i = Math.min(t.classes.length - 1, Math.floor((event.clientY - box.top) / box.height * t.classes.length));
    if (i >= 0 && j >= 0) told.textContent = `${t.classes[i]} in ${byId(t.clusters[j]).name}: ${plural(t.counts[i][j], run.noun)}`;
  });
  paint();
  themed.push(paint);
  return h("div", {}, canvas, told);
}

/* 9. How it was made */
function made() {
  const d = run.made, done = h("button", { type: "button", class: "quiet", onclick: async () => {
    try { await navigator.clipboard.writeText(d.command); done.textContent = "Copied"; } catch { getSelection().selectAllChildren(code); }
  } }, "Copy"), code = h("code", {}, d.command);
  const block = (title, rows) => rows.length ? h("div", {}, h("h3", {}, title), table(rows)) : null;
  section("made", "How it was made", "Everything that is needed to do it again.", null,
    d.command ? h("div", { class: "command" }, code, done) : null,
    h("div", { class: "made" }, block("Parameters", d.params), block("Data", d.data), block("Versions", [...d.versions, ["device", run.device]])),
    d.n_skipped ? h("details", {}, h("summary", {}, `${plural(d.n_skipped, "file")} left out`), table(d.skipped.map((entry) => [entry[0], entry[1] ?? ""]))) : null);
}

/* 10. Theme, and all together */
const themed = [];
function theme() {
  const root = document.documentElement, button = document.getElementById("theme"), order = ["auto", "light", "dark"];
  let now = "auto";
  try { now = localStorage.getItem("c3clust-theme") || "auto"; } catch { /* no storage here */ }
  const apply = () => {
    if (!order.includes(now)) now = "auto";
    if (now === "auto") delete root.dataset.theme; else root.dataset.theme = now;
    button.textContent = capital(now);
    button.setAttribute("aria-label", `Colour theme: ${now}`);
    for (const paint of themed) paint();
  };
  button.addEventListener("click", () => {
    now = order[(order.indexOf(now) + 1) % 3];
    try { localStorage.setItem("c3clust-theme", now); } catch { /* no storage here */ }
    apply();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", apply);
  apply();
}
function follow() {
  const links = new Map([...nav.children].map((a) => [a.getAttribute("href").slice(1), a])), seen = new Set();
  const watch = new IntersectionObserver((entries) => {
    for (const entry of entries) if (entry.isIntersecting) seen.add(entry.target.id); else seen.delete(entry.target.id);
    const now = [...links.keys()].filter((id) => seen.has(id)).at(-1);
    for (const [id, a] of links) if (id === now) a.setAttribute("aria-current", "true"); else a.removeAttribute("aria-current");
  }, { rootMargin: "-60px 0px -60% 0px" });
  for (const id of links.keys()) watch.observe(document.getElementById(id));
}
main.replaceChildren();
summary();
gallery();
map();
training();
truth();
made();
theme();
follow();
})();
