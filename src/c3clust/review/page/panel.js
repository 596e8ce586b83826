/* The panel at the side: "Help it" asks what is worth most, "Check 30" measures how good the clusters are. */
import { h, byId, button, count, plural } from "./dom.js";
import { run, state, act, ask, cluster, nameOf, things, say } from "./store.js";
import { sample, fill } from "./grid.js";

const node = byId("panel"), percent = (x) => `${Math.round(100 * x)}`;
let mode = "", keys = {}, last = "", turn = 0, shown = 0, answering = false;

const few = (items, props = {}) => h("div", { class: "few" }, items.map((i) => sample(i, { role: "img", draggable: "false", ...props })));
function put(title, ...content) {
  node.hidden = false;
  node.replaceChildren(h("header", {}, h("h2", {}, title), button("Close", close)), last ? h("p", { class: "small", id: "last" }, last) : "", ...content.flat(Infinity).filter(Boolean));
  if (run.kind !== "image") fill([...node.querySelectorAll(".card")].map((each) => +each.dataset.i), node);
}
/* The name of a cluster, or a guess. */
const title = (id) => { const found = cluster(id); return found && !found.name && found.suggested ? `${nameOf(id)} (${found.suggested}?)` : nameOf(id); };

/* One button and one key for each answer. */
function answers(list) {
  keys = Object.fromEntries(list.map(([key, , call]) => [key.toLowerCase(), call]));
  return h("div", { class: "answers" }, list.map(([key, text, call]) => button([h("kbd", {}, key), text], call, { class: Array.isArray(text) ? "quiet shows" : "quiet" })));
}

async function answer(value) {
  answering = true;
  const done = await act(value === null ? "skip" : "answer", value === null ? { quiet: true } : { answer: String(value), quiet: true });
  answering = false;
  shown = state.version;
  if (!done) return question();
  const n = done.moved.length;
  last = value === null ? "" : n ? `${things(n)} moved.` : "Nothing else moved.";
  if (value !== null) say(`Answered. ${last}`, done.moved);
  await question();
}

async function question() {
  const mine = ++turn;
  keys = {};
  if (!state.ready) return put("Help it", h("p", {}, "The model is being loaded…"));
  const found = (await ask("api/question"))?.question;
  if (mine !== turn || mode !== "help") return;
  if (!found) return put("Help it", h("p", {}, "There is nothing more to ask."));
  const skip = ["S", "Skip", () => answer(null)];
  if (found.kind === "pair") put("Is this one cluster?", found.sides.map((items, k) => [h("h3", {}, title(found.clusters[k])), few(items)]),
    answers([["Y", "Yes, the same", () => answer("yes")], ["N", "No, two things", () => answer("no")], skip]));
  else if (found.kind === "split") put(`Does ${nameOf(found.clusters[0])} hold two things?`, found.sides.map((items, k) => [h("h3", {}, ["These", "and these"][k]), few(items)]),
    answers([["Y", "Yes, two things", () => answer("yes")], ["N", "No, it is one", () => answer("no")], skip]));
  else put("Where does this one belong?", h("div", { class: "one" }, sample(found.samples[0], { role: "img", draggable: "false" })),
    answers([...found.candidates.map((each, k) => [String(k + 1), [h("span", {}, title(each.cluster)), few(each.samples)], () => answer(each.cluster)]), ["0", "None of these", () => answer("none")], ["N", "Something new", () => answer("new")], ["X", "It belongs nowhere", () => answer("nowhere")], skip]));
}

function check() {
  const found = state.check;
  keys = {};
  const again = () => act("check", { quiet: true });
  if (!found) return put("Check 30", h("p", {}, `Judge ${things(30)} that are drawn at random from all clusters: right or wrong. That gives an interval for the share that is right, which no estimate without labels can.`), answers([["B", "Begin", again]]));
  if (found.left.length) {
    const i = found.left[0], id = state.labels[i], inside = [];
    for (let j = 0; j < state.labels.length && inside.length < 400; j++) if (state.labels[j] === id && j !== i) inside.push(j);
    inside.sort((a, b) => (state.doubt[a] ?? 0) - (state.doubt[b] ?? 0));
    const judge = (right) => act("judge", { sample: i, right, quiet: true }), back = found.done ? [["Z", "Take the last one back", () => act("unjudge", { quiet: true })]] : [];
    return put(`Check ${found.done + 1} of ${found.drawn.length}`, h("div", { class: "progress" }, h("i", { vars: { width: `${(100 * found.done) / found.drawn.length}%` } })), h("div", { class: "one" }, sample(i, { role: "img", draggable: "false" })),
      id < 0 ? h("h3", {}, "It is said to belong nowhere.") : [h("h3", {}, `Does it belong to ${title(id)}?`), few(inside.slice(0, 8))], answers([["R", "Right", () => judge(true)], ["W", "Wrong", () => judge(false)], ...back]));
  }
  const r = found.result;
  put("Check 30", h("p", {}, h("strong", {}, `${percent(r.low)} to ${percent(r.high)} in 100`), ` ${run.noun}s are in the right cluster (${percent(r.estimate)} in 100 of ${count(r.checks)} random checks; exact 95 % interval by Clopper and Pearson).`),
    found.stale ? h("p", { class: "small" }, "Clusters have changed since: this holds for those that were checked.") : null, r.more ? h("p", { class: "small" }, `${plural(r.more, "more check")} would halve the interval.`) : null, answers([["B", "Check again", again], ["Z", "Take the last one back", () => act("unjudge", { quiet: true })]]));
}

function close() { mode = ""; keys = {}; node.hidden = true; node.replaceChildren(); }
export const panel = {
  help() { mode = "help"; last = ""; shown = state.version; question(); },
  check() { mode = "check"; last = ""; check(); },
  close,
  update() {
    if (mode === "check") check();
    else if (mode === "help" && !answering && (shown !== state.version || (state.ready && node.textContent.includes("loaded…")))) { shown = state.version; question(); }
  },
  key(event) {
    const call = mode && !document.activeElement?.closest("#grid .tile") ? keys[event.key.toLowerCase()] : null;
    if (call) call();
    return Boolean(call);
  },
  quality(found, checked) {
    if (checked?.result) {
      const r = checked.result;
      return h("p", { class: "small" }, `Checked by you: ${percent(r.low)} to ${percent(r.high)} in 100 are in the right cluster (${r.checks} random checks, 95 % interval${checked.stale ? ", before the last changes" : ""}).`);
    }
    if (!found) return null;
    const [low, high] = found.interval.map(percent);
    return h("p", { class: "small" }, `About ${percent(found.estimated_accuracy)} in 100 are probably in the right cluster (${low} to ${high}; estimated without labels, before any correction). Check 30 measures it.`);
  },
};
