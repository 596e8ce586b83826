/* The page is drawn from two JSON elements. Data is inserted as text nodes and attributes only. */
const read = (id) => JSON.parse(document.getElementById(id).textContent);
const run = read("data"), sheets = read("sheets");
const items = run.items, thumbs = run.thumbs, clusters = run.clusters;
const rank = new Map(clusters.map((c, i) => [c.id, i]));
const byId = (id) => clusters[rank.get(id)];
const main = document.getElementById("main"), live = document.getElementById("live");
const TYPICAL = items.text ? 6 : 16, UNSURE = items.text ? 4 : 8, PAGE = 240, GAP = 6;
/* Thumbnails are whole pixels wide; on a phone five of them fill a line. */
const SIDE = innerWidth <= 560 ? Math.min(72, Math.floor((main.clientWidth - 32 - 4 * GAP) / 5)) : 64;

/* Small helpers */
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
const fixed = (v, digits) => v.toFixed(digits).replace(/^-(?=0(\.0*)?$)/, "").replace("-", "−");
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
/* With the suggested name, where a number alone says little. */
const called = (c) => c.suggested ? `${heading(c)} (${c.suggested[0]})` : heading(c);
const say = (text) => { live.textContent = text; };
const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;

/* Colours and shapes: ten hues, then the same hues as squares, triangles and diamonds */
const hue = (i) => `var(--c${i % 10})`;
const shape = (i) => Math.floor(i / 10) % 4;
const PATHS = ["M5 0a5 5 0 1 0 0 10a5 5 0 1 0 0-10z", "M.6.6h8.8v8.8H.6z", "M5 .2 9.8 9.2H.2z", "M5-.4 10.4 5 5 10.4-.4 5z"];
const mark = (i) => h("span", { class: "mark", "aria-hidden": "true", vars: { "--c": hue(i) } },
  s("svg", { viewBox: "0 0 10 10" }, s("path", { d: PATHS[shape(i)] })));
const probe = h("i", { hidden: true });
document.body.append(probe);
const resolve = (value) => { probe.style.color = value; return getComputedStyle(probe).color; };
