/* Small helpers. Data is inserted as text nodes and attributes only. */
export function h(tag, props, ...children) {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(props || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (key === "vars") for (const [name, v] of Object.entries(value)) node.style.setProperty(name, v);
    else node.setAttribute(key, value === true ? "" : value);
  }
  for (const child of children.flat(Infinity)) if (child !== null && child !== undefined && child !== false) node.append(child);
  return node;
}
export const byId = (id) => document.getElementById(id);
export const count = (n) => n.toLocaleString("en");
export const plural = (n, noun) => `${count(n)} ${noun}${n === 1 ? "" : "s"}`;
export const button = (text, onclick, props = {}) => h("button", { type: "button", class: "quiet", onclick, ...props }, text);

/* Ask for one line; null if it was cancelled. options: [value, guess] of what can be chosen by typing. */
export function ask({ title, label, value = "", placeholder = "", options = [], ok = "OK", type = "text" }) {
  return new Promise((resolve) => {
    const input = h("input", { value, placeholder, type, list: options.length ? "known" : null, autocomplete: "off", "aria-label": label, min: 1, maxlength: 100 });
    const dialog = h("dialog", { "aria-label": title }, h("form", { method: "dialog" }, h("h2", {}, title), h("p", { class: "small" }, label), input,
      options.length ? h("datalist", { id: "known" }, options.map(([value, guess]) => h("option", { value }, guess ? `${guess}?` : null))) : null,
      h("p", { class: "buttons" }, button("Cancel", () => dialog.close("")), h("button", { class: "main", value: "ok" }, ok))));
    dialog.addEventListener("close", () => { resolve(dialog.returnValue === "ok" ? input.value.trim() : null); dialog.remove(); });
    document.body.append(dialog);
    dialog.showModal();
    input.select();
  });
}

/* Show something in a dialog that Escape closes. */
export function show(title, ...content) {
  const dialog = h("dialog", { class: "wide", "aria-label": title }, h("form", { method: "dialog" }, h("header", {}, h("h2", {}, title), h("button", { class: "quiet", "aria-label": "Close" }, "Close")), content));
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}
