/* The state of the page, as the server knows it, and what is chosen here. */
import { byId, h, button, count, plural } from "./dom.js";

export const run = await (await fetch("api/about")).json();
export const state = { version: 0, clusters: [], labels: [], doubt: [], person: new Set(), undoable: 0, ready: false };
export const chosen = new Set();
export const NOWHERE = -1;
const listeners = [];
export const onChange = (call) => listeners.push(call);
export const changed = () => listeners.forEach((call) => call());
let busy = false;

export const cluster = (id) => state.clusters.find((each) => each.cluster === id);
export function nameOf(id) {
  const found = cluster(id);
  return id === NOWHERE ? "Belongs nowhere" : found?.name ?? `cluster ${id}`;
}
export const things = (n) => plural(n, run.noun);

function take(found) {
  const before = state.labels;
  Object.assign(state, found, { person: new Set(found.person) });
  const moved = [];
  if (before.length) for (let i = 0; i < before.length; i++) if (before[i] !== state.labels[i]) moved.push(i);
  changed();
  return moved;
}

async function call(path, body) {
  const options = body && { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) };
  let answer;
  try { answer = await fetch(path, options); } catch { return { error: "The server does not answer: start c3clust review again. Nothing that was done is lost." }; }
  return answer.json().catch(() => ({ error: `The server answered ${answer.status}.` }));
}
export const ask = async (path, body) => {
  const found = await call(path, body);
  if (found.error) say(found.error, [], true);
  return found.error ? null : found;
};

/* Do one action; what moved is returned, null if nothing was done. */
export async function act(action, { quiet, ...values } = {}, words = "") {
  if (busy) return null;
  busy = true;
  document.body.classList.add("busy");
  const found = await call("api/do", { action, version: state.version, ...values });
  busy = false;
  document.body.classList.remove("busy");
  if (found.error && !found.labels) { say(found.error, [], true); return null; }
  const moved = take(found);
  if (found.error) { say(found.error, [], true); return null; }
  if (action !== "undo" && action !== "label" && !quiet) chosen.clear();
  const followed = found.followed ? ` ${things(found.followed)} followed.` : "";
  if (words) say(words + followed, moved);
  changed();
  return { moved, found };
}

export async function refresh() {
  if (busy) return;
  const found = await call(`api/state?version=${state.version}`);
  if (found.error || busy) return;
  if (found.labels) {
    const first = !state.version, moved = take(found);
    if (!first && moved.length) say(`The clusters were changed elsewhere: ${things(moved.length)} moved.`, moved);
  } else if (found.ready !== state.ready) { state.ready = found.ready; changed(); }
}

/* One line about what happened, with a way to see it. */
export let lastMoved = [];
let showMoved = () => {};
export const onShowMoved = (call) => { showMoved = call; };
export function say(text, moved = [], bad = false) {
  if (moved.length) lastMoved = moved;
  byId("status").replaceChildren(h("p", { class: bad ? "bad" : null }, h("span", {}, text), " ",
    moved.length ? button(`Show ${count(moved.length)} that moved`, () => showMoved(lastMoved), { class: "link" }) : null));
}
