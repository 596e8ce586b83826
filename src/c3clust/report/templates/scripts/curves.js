/* Training curves */
const CURVES = [
  ["loss", "Loss", "What each stage minimises. The loss of the second stage is negative by definition."],
  ["cluster_sizes", "Cluster sizes", "The share of each cluster after each epoch."],
  ["labels_changed", "Labels changed", "Assignments that differ from the previous epoch; they should approach zero."],
];
/* Terms of the method, below the rest */
const TERMS = new Map([["positives_per_view", "The number of views in a batch that are treated as positives of a view."]]);
const HUES = ["var(--c0)", "var(--c4)", "var(--c2)", "var(--c8)"];
function training() {
  const trained = run.stages.filter((stage) => Object.keys(stage.curves).length);
  if (!trained.length) return;
  const known = new Set(CURVES.map(([key]) => key));
  const rest = [...new Set(trained.flatMap((stage) => Object.keys(stage.curves)))].filter((key) => !known.has(key));
  const chart = ([key, title, why]) => {
    const having = trained.filter((stage) => stage.curves[key]);
    if (!having.length) return null;
    return h("figure", { class: "chart", "data-curve": key }, h("h3", {}, title), why ? h("p", { class: "small" }, why) : null,
      h("div", { class: "panels" }, having.map((stage) => panel(key, title, stage, having))));
  };
  const stages = trained.map((stage) => `${stage.name} (${plural(stage.epochs ?? 0, "epoch")}${stage.seconds === null ? "" : `, ${time(stage.seconds)}`})`).join(", then ");
  section("training", "Training", `Epoch by epoch: ${stages}.`, null, h("div", { class: "charts" }, CURVES.map(chart)),
    rest.length ? h("details", {}, h("summary", {}, "More curves"), h("div", { class: "charts" }, rest.map((key) => chart([key, capital(key.replaceAll("_", " ")), TERMS.get(key) ?? ""])))) : null);
}
function ticks(low, high, most = 4) {
  const rough = (high - low) / most, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((f) => f * power).find((f) => f >= rough) ?? power * 10;
  const out = [];
  for (let v = Math.ceil(low / step - 1e-9) * step; v <= high + step * 1e-9; v += step) out.push(Math.abs(v) < step * 1e-9 ? 0 : v);
  return { at: out, digits: Math.max(0, -Math.floor(Math.log10(step) + 1e-9) + (step / power === 2.5 ? 1 : 0)) };
}
function panel(key, title, stage, all) {
  const W = 300, T = 160, left = 44, right = 8, top = 10, bottom = 22;
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
