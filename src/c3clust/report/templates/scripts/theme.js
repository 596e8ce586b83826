/* How it was made */
function made() {
  const d = run.made, done = h("button", { type: "button", class: "quiet", onclick: async () => {
    try { await navigator.clipboard.writeText(d.command); done.textContent = "Copied"; } catch { getSelection().selectAllChildren(code); }
  } }, "Copy"), code = h("code", {}, d.command);
  const block = (title, rows) => rows.length ? h("div", {}, h("h3", {}, title), table(rows)) : null;
  section("made", "How it was made", "Everything that is needed to reproduce the run.", null,
    d.command ? h("div", { class: "command" }, code, done) : null,
    d.notes.length ? h("ul", { class: "notes small", "aria-label": "Notes on the training" }, d.notes.map((note) => h("li", {}, note))) : null,
    h("div", { class: "made" }, block("Estimate, and comparison with k-means", d.quality), block("Training", d.training), block("Parameters", d.params),
      block("Encoder", d.encoder), block("Data", d.data), block("Versions", [...d.versions, ["device", run.device]])),
    d.n_skipped ? h("details", {}, h("summary", {}, plural(d.n_skipped, "unreadable file")), table(d.skipped.map((entry) => [entry[0], entry[1] ?? ""]))) : null);
}

/* Theme, and all together */
const themed = [];
function theme() {
  const root = document.documentElement, button = document.getElementById("theme"), order = ["auto", "light", "dark"];
  let now = "auto";
  try { now = localStorage.getItem("c3clust-theme") || "auto"; } catch { /* no storage here */ }
  const apply = () => {
    if (!order.includes(now)) now = "auto";
    if (now === "auto") delete root.dataset.theme; else root.dataset.theme = now;
    button.textContent = capital(now);
    button.setAttribute("aria-label", `Colour theme: ${now}`);
    for (const paint of themed) paint();
  };
  button.addEventListener("click", () => {
    now = order[(order.indexOf(now) + 1) % 3];
    try { localStorage.setItem("c3clust-theme", now); } catch { /* no storage here */ }
    apply();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", apply);
  apply();
}
function follow() {
  const links = new Map([...nav.children].map((a) => [a.getAttribute("href").slice(1), a])), visible = new Set();
  const watch = new IntersectionObserver((entries) => {
    for (const entry of entries) if (entry.isIntersecting) visible.add(entry.target.id); else visible.delete(entry.target.id);
    const now = [...links.keys()].filter((id) => visible.has(id)).at(-1);
    for (const [id, a] of links) if (id === now) a.setAttribute("aria-current", "true"); else a.removeAttribute("aria-current");
  }, { rootMargin: "-60px 0px -60% 0px" });
  for (const id of links.keys()) watch.observe(document.getElementById(id));
}
main.replaceChildren();
summary();
gallery();
howMany();
copies();
outliers();
map();
truth();
training();
made();
theme();
follow();
