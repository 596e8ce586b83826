/* Sections */
const nav = document.getElementById("nav");
function section(id, title, lede, controls, ...body) {
  nav.append(h("a", { href: `#${id}` }, title));
  const head = h("div", { class: "head" }, h("div", {}, h("h2", { id: `${id}-title` }, title), lede ? h("p", { class: "lede" }, lede) : null), controls);
  const node = h("section", { id, "aria-labelledby": `${id}-title` }, head, body);
  main.append(node);
  return node;
}

/* The verdict first, in plain words; then what was found, the figures, and the sizes of the clusters. */
function summary() {
  const stages = run.stages.map((stage) => stage.epochs ? `${stage.name} ${plural(stage.epochs, "epoch")}` : stage.name).join(", then ");
  const lede = [run.place ? `From ${run.place}. ` : "", `Method ${run.method}`, stages ? `: ${stages}` : "", `, on ${run.device}, ${time(run.seconds)}`,
    run.created ? `, ${run.created.slice(0, 16).replace("T", " ")}` : "", "."].join("");
  const stats = figures();
  nav.append(h("a", { href: "#summary" }, "Summary"));
  main.append(h("section", { id: "summary", "aria-labelledby": "summary-title" },
    h("h1", { id: "summary-title" }, run.title), verdict(),
    run.findings.length ? h("ul", { class: "findings", "aria-label": "Findings" }, run.findings.map(finding)) : null,
    stats.length ? h("dl", { class: "stats" }, stats.map(([name, value, under]) => h("div", {}, h("dt", {}, name), h("dd", {}, value), under ? h("dd", { class: "before" }, under) : null))) : null,
    bars(), h("p", { class: "small origin" }, lede),
    run.edits ? h("p", { class: "small" }, `Shown with ${plural(run.edits, "change")} to names and clusters made after training.`) : null));
}
function verdict() {
  const v = run.verdict;
  return h("div", { class: `verdict ${v.level}`, "data-level": v.level }, h("p", { class: "headline" }, v.headline), estimate(),
    h("p", {}, h("b", { class: "level" }, v.word), `${v.clusters} ${v.text}`));
}
/* The estimate as a mark on a scale from 0 to 100, its interval as a band. */
function estimate() {
  if (!run.estimate) return null;
  const [about, low, high] = run.estimate.map((p) => Math.round(100 * p));
  return h("div", { class: "estimate", role: "img", "aria-label": `Estimated accuracy ${about} in 100, between ${low} and ${high}` },
    h("div", { class: "scale" }, h("i", { vars: { left: `${low}%`, width: `${high - low}%` } }), h("b", { vars: { left: `${about}%` } })),
    h("div", { class: "ends", "aria-hidden": "true" }, h("span", {}, "0"), h("span", {}, "50"), h("span", {}, "100")));
}
function figures() {
  const stats = [], score = (key, value) => key === "acc" ? percent(value, 1) : fixed(value, 3);
  const earlier = (key) => run.stages.slice(0, -1).filter((stage) => stage.scores && typeof stage.scores[key] === "number")
    .map((stage) => `${score(key, stage.scores[key])} after ${stage.name}`).join(", ");
  for (const [key, name] of [["acc", "Accuracy by true labels"], ["nmi", "NMI"], ["ari", "ARI"]])
    if (run.scores && typeof run.scores[key] === "number") stats.push([name, score(key, run.scores[key]), earlier(key)]);
  if (run.confidence !== null && !run.estimate) stats.push(["Mean confidence", percent(run.confidence), "not calibrated"]);
  return stats;
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
    h("div", { class: clusters.length > 24 ? "bars dense" : clusters.length <= 10 && most < 1000 ? "bars few" : "bars" }, sorted.map(bar),
      h("span", { class: "even", "aria-hidden": "true", vars: { top: `calc(var(--track, 148px) * ${1 - even / most * 120 / 148})` } })));
}
const LEVELS = { bad: "Problem", warn: "Look here", note: "Note" };
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
  const lede = run.shown < run.n ? `${count(run.shown)} of the ${count(run.n)} ${run.noun}s are in this page: the most typical and the least certain of each cluster, and a random sample of the rest.`
    : `All ${count(run.n)} ${run.noun}s are in this page. Typical ones are nearest to the centre of their cluster.`;
  const none = clusters.filter((c) => !c.size), example = clusters.find((c) => c.suggested);
  section("clusters", "Clusters", example ? [lede, " Suggested names are guesses and are not used until you apply them: ", h("code", {}, `c3clust label ${run.made.run} --suggested`)] : lede, h("div", { class: "controls" }, h("span", { class: "small", "aria-hidden": "true" }, "Sort by"), order), finder(), list,
    none.length ? h("p", { class: "small empty-note" }, `Empty: ${none.map((c) => c.name).join(", ")}.`) : null);
}
function cluster(c) {
  const i = rank.get(c.id), rows = rowsOf(c.id);
  const unsure = c.confidence === null ? [] : [...rows].sort(unsureFirst).slice(0, Math.min(UNSURE, Math.floor(rows.length / 3)));
  const typical = rows.filter((row) => !unsure.includes(row)).slice(0, TYPICAL);
  const facts = h("div", { class: "figures" }, h("span", {}, h("b", {}, count(c.size)), ` ${run.noun}${c.size === 1 ? "" : "s"}, ${percent(c.size / run.n, 1)}`), folded(c, rows) ? h("span", {}, folded(c, rows)) : null,
    c.confidence === null ? null : [h("span", {}, h("b", {}, percent(c.confidence)), " mean confidence"),
      h("div", { class: "meter", "aria-hidden": "true", vars: { "--c": hue(i) } }, h("i", { vars: { width: percent(c.confidence) } }))],
    c.top ? h("span", {}, h("b", {}, percent(c.top[1])), ` ${c.top[0]}`) : null,
    c.near === null ? null : h("span", {}, "Nearest ", link(c.near), c.similarity === null ? "" : h("span", { title: "Cosine of the centres of the two clusters" }, ` (similarity ${fixed(c.similarity, 2)})`)),
    c.merged.length ? h("span", {}, `Merged with ${c.merged.join(", ")}`) : null,
    c.named ? h("span", {}, `Number ${c.id}`) : null,
    c.suggested ? h("span", { class: "suggested", title: `Suggested from ${c.suggested[1]}` }, "Suggested name: ", h("q", {}, c.suggested[0])) : null);
  const apart = c.traits.length ? [h("h4", {}, run.traits === "words" ? "Distinguishing words" : "Distinguishing columns"), run.traits === "words" ? words(c) : columns(c)] : null;
  return h("article", { class: items.text ? "cluster wordy" : "cluster", id: `cluster-${c.id}`, tabindex: "-1", "data-id": c.id, "aria-label": c.name },
    h("div", {}, h("h3", {}, mark(i), h("span", {}, heading(c))), facts,
      h("button", { type: "button", class: "quiet open", "aria-label": `See more of ${c.name}`, onclick: () => openCluster(c.id) }, run.shown < run.n ? `See ${count(rows.length)}` : "See all")),
    h("div", {}, apart, h("h4", {}, "Most typical"), strip(typical, `Most typical of ${c.name}`, 10)),
    unsure.length ? h("div", {}, h("h4", {}, "Least certain"), strip(unsure, `Least certain of ${c.name}`, 5)) : null);
}

/* Of texts: the words, the strongest first. Of tables: the columns, with the mean (or share) here and in all rows. */
const words = (c) => h("ul", { class: "words", "aria-label": `Distinguishing words of ${c.name}` }, c.traits.map((t) =>
  h("li", { title: `${percent(t.here, 2)} of the words here, ${percent(t.all, 2)} of all` }, t.name)));
function columns(c) {
  const value = (t, v) => t.share ? percent(v) : short(v);
  const far = Math.max(...c.traits.map((t) => Math.abs(t.weight)), 1);
  return h("table", { class: "apart" }, h("thead", {}, h("tr", {}, ["Column", "Here", "All", "Difference"].map((name) => h("th", { scope: "col" }, name)))),
    h("tbody", {}, c.traits.map((t) => h("tr", {}, h("th", { scope: "row" }, t.name), h("td", {}, value(t, t.here)), h("td", {}, value(t, t.all)),
      h("td", { title: "Difference of the means in standard deviations of all rows" }, h("span", { class: "axis" }, h("i", { class: t.weight < 0 ? "less" : "more", vars: { width: `${Math.abs(t.weight) / far * 50}%` } })),
        `${t.weight > 0 ? "+" : ""}${fixed(t.weight, 1)}`)))));
}
