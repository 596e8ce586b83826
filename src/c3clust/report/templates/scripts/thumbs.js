/* Thumbnails: a cell of a sprite sheet as the background of a button */
if (thumbs) {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(sheets.map((url, i) => `.s${i}{background-image:url("${url}")}`).join("\n"));
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
  document.body.classList.toggle("pixelated", thumbs.pixelated);
}
const className = (row) => items.class && items.class[row] >= 0 ? run.classes[items.class[row]] : null;
function describe(row) {
  const confidence = items.confidence[row], known = className(row);
  return [items.text ? items.text[row] : items.name[row], byId(items.cluster[row]).name, confidence === null ? null : `confidence ${percent(confidence)}`,
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
  const more = items.copies && items.copies[row];
  return place(h("button", { ...props, "aria-label": describe(row) + (more ? `, and ${plural(more, "copy").replace("copys", "copies")}` : "") },
    more ? h("span", { class: "more-copies", "aria-hidden": "true" }, `+${more}`) : null), row, side);
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
