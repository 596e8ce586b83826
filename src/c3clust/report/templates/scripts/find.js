/* Find by name: what is typed is looked for in the names, and in texts; the first of what is found is shown. */
const FOUND = 60;
function finder() {
  const status = h("p", { class: "small", role: "status" }), box = strip([], "Found");
  const field = h("input", { type: "search", id: "find", placeholder: items.text ? "Name or words" : "Name of a file", "aria-label": "Find by name", autocomplete: "off", spellcheck: "false" });
  const shown = run.shown < run.n ? `, among the ${count(run.shown)} in this page` : "";
  function look() {
    const words = field.value.trim().toLowerCase(), rows = [];
    if (words) for (let row = 0; row < run.shown; row++)
      if (items.name[row].toLowerCase().includes(words) || (items.text && items.text[row].toLowerCase().includes(words))) rows.push(row);
    box.replaceChildren();
    fillStrip(box, rows.slice(0, FOUND));
    status.textContent = !words ? "" : `${plural(rows.length, run.noun)} found${shown}${rows.length > FOUND ? `; the first ${FOUND} are shown` : ""}.`;
  }
  field.addEventListener("input", look);
  return h("div", { class: "find" }, field, status, box);
}
/* The address of the original file, beside the page or on this computer; null where it is not known. */
function original(row) {
  if (run.files === null || items.name[row].startsWith("/")) return null;
  try { return run.files + items.name[row].split("/").map(encodeURIComponent).join("/"); } catch { return null; }
}
