/* How many clusters: the evidence for each number, and the tree of the clusters */
function howMany() {
  const found = run.how_many;
  if (!found) return;
  const { chosen, runner_up: other, curves, tree, splits, command, file } = found;
  const looked = found.looked_at && found.looked_at < run.n ? ` ${count(found.looked_at)} of the ${count(run.n)} ${run.noun}s were used for this.` : "";
  const next = command ? h("p", { class: "small" }, `For ${plural(other, "cluster")} instead: `, h("code", {}, command)) : null;
  const kept = file ? h("p", { class: "small" }, `The figures are in ${file} of the run folder.`) : null;
  const charts = curves ? h("div", { class: "charts" },
    evidence("score", "How clear the clusters are", "Silhouette of resampled clusterings, with its interval: 1 is best, 0 means no clusters. The number is chosen from this, from how well the weakest cluster is found again, and from how slowly the graph of neighbours mixes.",
      curves.ks, [curves.score], [curves.low, curves.high], chosen, other),
    evidence("stability", "How stable they are", "Agreement of resampled clusterings, and (dashed) the share of nearest neighbours that stay together, above chance.",
      curves.ks, [curves.stability, curves.kept], null, chosen, other)) : null;
  section("how-many", "How many clusters", `${found.reason}${looked}`, null, charts, h("div", { class: "notes" }, next, kept), related(tree, splits, found.run));
}
function evidence(key, title, why, ks, lines, band, chosen, other) {
  const T = 216, left = 44, right = 12, top = 26, bottom = 40, from = ks.findIndex((k) => k > 1);
  const at = ks.slice(from), values = [...lines, ...(band ?? [])].flatMap((line) => line.slice(from));
  const low = Math.min(0, ...values), high = Math.max(...values, low + .01);
  const y = (v) => top + (high - v) / (high - low) * (T - top - bottom), i = ks.indexOf(chosen);
  const words = i >= from ? `${chosen} clusters have ${short(lines[0][i])}` : `no number stands out`;
  const svg = s("svg", { role: "img", "aria-label": `${title}: ${words}; from ${at[0]} to ${at.at(-1)} clusters` });
  const read = h("span", { class: "read" });
  const figure = (k, j) => `${plural(k, "cluster")}: ${fixed(lines[0][j], 2)}${band ? ` (${fixed(band[0][j], 2)} to ${fixed(band[1][j], 2)})` : ""}`;
  const rest = () => { read.textContent = i >= from ? figure(chosen, i) : "\u00a0"; };
  function draw() {
    const width = svg.clientWidth || 480, X = (k) => left + Math.log(k / at[0]) / Math.max(Math.log(at.at(-1) / at[0]), 1e-9) * (width - left - right);
    svg.setAttribute("viewBox", `0 0 ${width} ${T}`);
    svg.replaceChildren();
    const { at: marks, digits } = ticks(low, high);
    for (const v of marks) svg.append(s("line", { class: "grid", x1: left, x2: width - right, y1: y(v), y2: y(v) }), s("text", { x: left - 8, y: y(v) + 4, "text-anchor": "end" }, fixed(v, digits)));
    let last = -99;
    for (const k of [2, 3, 5, 8, 12, 20, 30, 50, 80, 120]) if (k >= at[0] && k <= at.at(-1) && X(k) - last > 26) { last = X(k); svg.append(s("text", { x: X(k), y: T - 22, "text-anchor": "middle" }, String(k))); }
    svg.append(s("text", { x: (left + width - right) / 2, y: T - 4, "text-anchor": "middle" }, "number of clusters"));
    const d = (line) => at.map((k, j) => `${j ? "L" : "M"}${X(k).toFixed(1)} ${y(line[from + j]).toFixed(1)}`).join("");
    if (band) svg.append(s("path", { class: "band", d: `${d(band[1])}L${at.map((k, j) => `${X(k).toFixed(1)} ${y(band[0][from + j]).toFixed(1)}`).reverse().join("L")}Z` }));
    lines.forEach((line, n) => svg.append(s("path", { class: n ? "line second" : "line", d: d(line) })));
    for (const [k, name, kind] of [[other, "next", "ref"], [chosen, "chosen", "pick"]]) {
      if (!at.includes(k)) continue;
      const end = X(k) > width - 60 ? "end" : X(k) < left + 30 ? "start" : "middle", near = kind === "ref" && at.includes(chosen) && Math.abs(X(k) - X(chosen)) < 80;
      svg.append(s("line", { class: kind, x1: X(k), x2: X(k), y1: top - 4, y2: T - bottom }), s("text", { class: kind, x: X(k), y: near ? 9 : 20, "text-anchor": end }, `${name}: ${k}`));
    }
    const cross = s("g", {});
    svg.append(cross);
    svg.onpointermove = (event) => {
      const box = svg.getBoundingClientRect(), p = event.clientX - box.left;
      let j = 0;
      at.forEach((k, n) => { if (Math.abs(X(k) - p) < Math.abs(X(at[j]) - p)) j = n; });
      cross.replaceChildren(s("circle", { class: "dot", cx: X(at[j]), cy: y(lines[0][from + j]), r: 4.5 }));
      read.textContent = figure(at[j], from + j);
    };
    svg.onpointerleave = () => { cross.replaceChildren(); rest(); };
  }
  rest();
  draw();
  new ResizeObserver(draw).observe(svg);
  return h("figure", { class: "chart wide", "data-curve": key, vars: { "--stage": HUES[0] } }, h("h3", {}, title), h("p", { class: "small" }, why),
    h("div", { class: "panel" }, h("p", { class: "small" }, read), svg));
}
/* Which clusters merge next and which split first */
function related(tree, splits, folder) {
  const name = (id) => called(byId(id)), known = (id) => rank.has(id);
  const usable = tree && tree.leaves.every(known) ? tree : null;
  const first = splits.filter(([id]) => known(id)).map(([id, a, b, clear]) => h("li", {}, mark(rank.get(id)), ` ${name(id)} into ${count(a)} and ${count(b)}, silhouette ${fixed(clear, 2)}`));
  if (!usable && !first.length) return null;
  const parts = [];
  if (usable) {
    const groups = usable.leaves.map((id) => [id]);
    for (const [a, b] of usable.nodes) groups.push([...groups[a], ...groups[b]]);
    const [a, b] = usable.nodes[0], ids = [...groups[a], ...groups[b]];
    parts.push(h("figure", { class: "tree" }, h("h3", {}, "Which clusters are close"), h("p", { class: "small" }, "Clusters that meet further to the left would merge first. ",
      `Next: ${ids.map(name).join(" and ")}. `, h("code", {}, `c3clust merge ${folder} ${ids.join(" ")}`)), dendrogram(usable, name)));
  }
  if (first.length) parts.push(h("div", {}, h("h3", {}, "Which would split first"), h("p", { class: "small" }, "The clearest division of each cluster in two. ", h("code", {}, `c3clust split ${folder} ${splits.find(([id]) => known(id))[0]}`)), h("ol", { class: "splits" }, first)));
  return h("div", { class: "related" }, parts);
}
function dendrogram({ order, leaves, nodes }, name) {
  const row = 24, names = Math.min(220, main.clientWidth * .48), T = order.length * row + 8;
  const top = Math.max(...nodes.map(([, , height]) => height), 1e-9);
  const svg = s("svg", { role: "img", height: T, "aria-label": `Tree of ${order.length} clusters: ${nodes.map(([a, b]) => [a, b].filter((i) => i < leaves.length).map((i) => name(leaves[i])).join(" and ")).filter(Boolean).slice(0, 3).join("; ")} merge first` });
  function draw() {
    const width = svg.clientWidth || 480, X = (height) => names + 12 + height / top * (width - names - 24);
    svg.setAttribute("viewBox", `0 0 ${width} ${T}`);
    svg.replaceChildren();
    const at = leaves.map((id) => [names + 4, 4 + (order.indexOf(id) + .5) * row]);
    leaves.forEach((id, i) => {
      const text = name(id), most = Math.floor(names / 7.2) - 2;
      svg.append(s("path", { d: PATHS[shape(rank.get(id))], fill: hue(rank.get(id)), transform: `translate(0 ${at[i][1] - 5})` }),
        s("text", { x: 18, y: at[i][1] + 4 }, text.length > most ? `${text.slice(0, most - 1)}…` : text, s("title", {}, text)));
    });
    for (const [a, b, height] of nodes) {
      const [xa, ya] = at[a], [xb, yb] = at[b], x = X(height);
      svg.append(s("path", { class: "join", d: `M${xa} ${ya}H${x}V${yb}H${xb}` }));
      at.push([x, (ya + yb) / 2]);
    }
  }
  draw();
  new ResizeObserver(draw).observe(svg);
  return svg;
}
