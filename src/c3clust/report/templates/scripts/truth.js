/* Against the true labels */
function truth() {
  const t = run.confusion;
  if (!t) return;
  const box = t.classes.length <= 30 && t.clusters.length <= 36 ? matrix(t) : heat(t);
  const order = t.classes.map((_, i) => i).sort((a, b) => t.accuracy[b] - t.accuracy[a]);
  const list = h("ol", { class: "acc" }, order.map((i) => h("li", {},
    h("div", { class: "row" }, h("span", { title: t.classes[i] }, t.classes[i]), h("span", {}, `${percent(t.accuracy[i])} of ${count(t.totals[i])}`)),
    h("div", { class: "meter", "aria-hidden": "true", vars: { "--c": "var(--c0)" } }, h("i", { vars: { width: percent(t.accuracy[i]) } })))));
  section("truth", "Against true labels", `Each class is matched with at most one cluster so that as many as possible of the ${run.noun}s agree. Labels were used for this page only, not in training.`, null,
    h("div", { class: "truth" }, h("div", {}, h("h3", {}, "Classes and clusters"), h("p", { class: "small" }, `A row is a class; its darkest cell is the cluster with most of its ${run.noun}s. Framed: the matched cluster.`), box),
      h("div", {}, h("h3", {}, "Accuracy by class"), h("p", { class: "small" }, `${capital(run.noun)}s of a class in its matched cluster.`), list)));
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
  const cell = h("p", { class: "small" }, "Point at a cell to read it."), ctx = canvas.getContext("2d");
  function paint() {
    ctx.clearRect(0, 0, canvas.width, canvas.height);
    ctx.fillStyle = resolve("var(--c0)");
    t.counts.forEach((row, i) => row.forEach((value, j) => { ctx.globalAlpha = Math.min(1, value / t.totals[i]); ctx.fillRect(j, i, 1, 1); }));
  }
  canvas.addEventListener("pointermove", (event) => {
    const box = canvas.getBoundingClientRect();
    const j = Math.min(t.clusters.length - 1, Math.floor((event.clientX - box.left) / box.width * t.clusters.length)), i = Math.min(t.classes.length - 1, Math.floor((event.clientY - box.top) / box.height * t.classes.length));
    if (i >= 0 && j >= 0) cell.textContent = `${t.classes[i]} in ${byId(t.clusters[j]).name}: ${plural(t.counts[i][j], run.noun)}`;
  });
  paint();
  themed.push(paint);
  return h("div", {}, canvas, cell);
}
