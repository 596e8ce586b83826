/* Map */
function map() {
  const m = run.map, n = m.row.length;
  if (!n) return;
  const canvas = h("canvas", { tabindex: "0", role: "application", "aria-roledescription": "map",
    "aria-label": `Map of ${plural(n, run.noun)}. Arrow keys move from point to point, Enter goes to the cluster, plus and minus zoom, 0 shows all.` });
  const tip = h("div", { class: thumbs ? "tip" : "tip plain", hidden: true, id: "tip" });
  const legend = h("div", { class: "legend", role: "group", "aria-label": "Show one group alone" });
  const button = (text, label, act) => h("button", { type: "button", "aria-label": label, onclick: act }, text);
  const stage = h("div", { class: "stage" }, canvas, tip, h("div", { class: "zoom group" },
    button("+", "Zoom in", () => zoom(1.6)), button("−", "Zoom out", () => zoom(1 / 1.6)), button("All", "Show all", () => reset())));
  const ctx = canvas.getContext("2d");
  let w = 0, t = 0, k = 1, ox = 0, oy = 0, by = "cluster", alone = null, over = -1, waiting = false;
  let group, groups, colours, ink, ground;
  const reach = (values) => Math.max(...values.map(Math.abs), 1e-6), rx = reach(m.x), ry = reach(m.y);
  let sx = 1, sy = 1;
  const X = (i) => w / 2 + ox + m.x[i] * sx * k, Y = (i) => t / 2 + oy - m.y[i] * sy * k;
  /* Fill the frame; neither axis is stretched more than twice as much as the other. */
  function fit() {
    sx = Math.max(w / 2 - 28, 1) / rx; sy = Math.max(t / 2 - 28, 1) / ry;
    sx = Math.min(sx, 2 * sy); sy = Math.min(sy, 2 * sx);
  }

  function regroup() {
    group = m.row.map((row) => by === "class" ? items.class[row] : rank.get(items.cluster[row]));
    const name = (g) => by === "class" ? (g < 0 ? "not known" : run.classes[g]) : clusters[g].name;
    const label = (g) => by === "class" || clusters[g].named ? name(g) : String(clusters[g].id);
    const full = (g) => by === "class" ? name(g) : called(clusters[g]), found = new Map();
    group.forEach((g, i) => { if (!found.has(g)) found.set(g, { g, full: full(g), label: label(g), at: [] }); found.get(g).at.push(i); });
    groups = [...found.values()].sort((a, b) => a.g - b.g);
    const middle = (values) => values.sort((a, b) => a - b)[values.length >> 1];
    for (const one of groups) {  // its label is placed at the point nearest to its median
      const x = middle(one.at.map((i) => m.x[i])), y = middle(one.at.map((i) => m.y[i])), off = (i) => (m.x[i] - x) ** 2 + (m.y[i] - y) ** 2;
      one.mid = one.at.reduce((best, i) => off(i) < off(best) ? i : best);
    }
    alone = null;
    legend.replaceChildren(...groups.map((one) => h("button", { type: "button", "aria-pressed": "false", "data-group": one.g, onclick: (event) => {
      alone = alone === one.g ? null : one.g;
      for (const other of legend.children) other.setAttribute("aria-pressed", String(alone !== null && other === event.currentTarget));
      draw();
    } }, mark(Math.max(one.g, 0)), h("span", { class: "who", title: one.full }, one.full), h("span", { class: "of" }, count(one.at.length)))));
    paint();
  }
  function paint() {
    colours = Array.from({ length: 10 }, (_, i) => resolve(`var(--c${i})`));
    ink = resolve("var(--ink)"); ground = resolve("var(--surface)");
    draw();
  }
  function draw() { if (!waiting) { waiting = true; requestAnimationFrame(() => { waiting = false; drawNow(); }); } }
  function dot(i, r) {
    const x = X(i), y = Y(i), g = Math.max(group[i], 0);
    ctx.beginPath();
    if (shape(g) === 0) ctx.arc(x, y, r, 0, 7);
    else if (shape(g) === 1) ctx.rect(x - r * .88, y - r * .88, r * 1.76, r * 1.76);
    else if (shape(g) === 2) { ctx.moveTo(x, y - r * 1.1); ctx.lineTo(x + r * 1.1, y + r * .9); ctx.lineTo(x - r * 1.1, y + r * .9); ctx.closePath(); }
    else { ctx.moveTo(x, y - r * 1.2); ctx.lineTo(x + r * 1.2, y); ctx.lineTo(x, y + r * 1.2); ctx.lineTo(x - r * 1.2, y); ctx.closePath(); }
  }
  function drawNow() {
    const ratio = devicePixelRatio || 1;
    if (canvas.width !== Math.round(w * ratio) || canvas.height !== Math.round(t * ratio)) { canvas.width = Math.round(w * ratio); canvas.height = Math.round(t * ratio); }
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    ctx.clearRect(0, 0, w, t);
    const r = Math.max(2, Math.min(6, (n > 1500 ? 2.4 : n > 400 ? 3.2 : 4.2) * Math.sqrt(k)));
    for (const pass of [false, true]) for (let i = 0; i < n; i++) {
      const strong = alone === null || group[i] === alone;
      if (strong !== pass) continue;
      ctx.globalAlpha = strong ? .78 : .1;
      ctx.fillStyle = colours[Math.max(group[i], 0) % 10];
      dot(i, r); ctx.fill();
    }
    ctx.globalAlpha = 1;
    ctx.font = "600 13px Inter, 'Segoe UI', 'Helvetica Neue', Arial, 'Liberation Sans', sans-serif";
    ctx.textAlign = "center"; ctx.textBaseline = "middle"; ctx.lineJoin = "round";
    for (const one of groups) {
      if (groups.length > 60 && alone !== one.g) continue;
      if (alone !== null && alone !== one.g) continue;
      const x = X(one.mid), y = Y(one.mid);
      const text = one.label.length > 20 ? `${one.label.slice(0, 19)}…` : one.label;
      ctx.strokeStyle = ground; ctx.lineWidth = 4; ctx.strokeText(text, x, y);
      ctx.fillStyle = ink; ctx.fillText(text, x, y);
    }
    if (over >= 0) { dot(over, r + 3); ctx.lineWidth = 2; ctx.strokeStyle = ink; ctx.stroke(); }
  }
  function nearest(x, y, within) {
    let best = -1, least = within * within;
    for (let i = 0; i < n; i++) {
      if (alone !== null && group[i] !== alone) continue;
      const d = (X(i) - x) ** 2 + (Y(i) - y) ** 2;
      if (d < least) { least = d; best = i; }
    }
    return best;
  }
  function point(i) {
    if (i === over) return;
    over = i;
    canvas.classList.toggle("hit", i >= 0);
    tip.hidden = i < 0;
    draw();
    if (i < 0) return;
    const row = m.row[i], confidence = items.confidence[row], known = className(row);
    tip.replaceChildren(...[thumbs ? place(h("span", { role: "img", "aria-label": items.name[row] }), row, 88) : null, h("b", {}, items.text ? items.text[row] : items.name[row]),
      h("span", {}, byId(items.cluster[row]).name), confidence === null ? null : h("span", { class: "small" }, `${percent(confidence)} confident`),
      known === null ? null : h("span", { class: "small" }, `class ${known}`)].filter(Boolean));
    const x = X(i), y = Y(i), left = x + 16 + tip.offsetWidth > w ? x - 16 - tip.offsetWidth : x + 16;
    tip.style.left = `${Math.max(4, left)}px`;
    tip.style.top = `${Math.max(4, Math.min(t - tip.offsetHeight - 4, y - tip.offsetHeight / 2))}px`;
  }
  function zoom(factor, x = w / 2, y = t / 2) {
    const next = Math.max(1, Math.min(40, k * factor)), f = next / k;
    ox = (ox + w / 2 - x) * f + x - w / 2; oy = (oy + t / 2 - y) * f + y - t / 2; k = next;
    settle();
  }
  function settle() {
    const edge = (k - 1) * Math.max(w, t) * .75;
    ox = Math.max(-edge, Math.min(edge, ox)); oy = Math.max(-edge, Math.min(edge, oy));
    canvas.style.touchAction = k > 1 ? "none" : "pan-y";
    point(-1); draw();
  }
  function reset() { k = 1; ox = oy = 0; settle(); }
  const where = (event) => { const box = canvas.getBoundingClientRect(); return [event.clientX - box.left, event.clientY - box.top]; };
  const fingers = new Map();
  let moved = 0;
  canvas.addEventListener("pointerdown", (event) => { fingers.set(event.pointerId, where(event)); moved = 0; try { canvas.setPointerCapture(event.pointerId); } catch { /* a pointer that is gone */ } });
  canvas.addEventListener("pointermove", (event) => {
    const [x, y] = where(event), before = fingers.get(event.pointerId);
    if (!before) { point(nearest(x, y, 14)); return; }
    if (fingers.size === 2) {
      const other = [...fingers].find(([id]) => id !== event.pointerId)[1];
      const was = Math.hypot(before[0] - other[0], before[1] - other[1]), is = Math.hypot(x - other[0], y - other[1]);
      if (was > 0) zoom(is / was, (x + other[0]) / 2, (y + other[1]) / 2);
    } else { ox += x - before[0]; oy += y - before[1]; canvas.classList.add("dragging"); settle(); }
    moved += Math.hypot(x - before[0], y - before[1]);
    fingers.set(event.pointerId, [x, y]);
  });
  const release = (event) => { fingers.delete(event.pointerId); canvas.classList.remove("dragging"); };
  canvas.addEventListener("pointerup", (event) => {
    release(event);
    if (moved > 5) return;
    const hit = nearest(...where(event), event.pointerType === "mouse" ? 14 : 22);
    if (hit < 0) { point(-1); return; }
    if (event.pointerType === "mouse" || hit === over) jump(items.cluster[m.row[hit]]); else point(hit);
  });
  canvas.addEventListener("pointercancel", release);
  canvas.addEventListener("pointerleave", (event) => { if (event.pointerType === "mouse" && !fingers.size && document.activeElement !== canvas) point(-1); });
  canvas.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey && document.activeElement !== canvas) return;
    event.preventDefault();
    zoom(Math.exp(-Math.max(-60, Math.min(60, event.deltaY)) * .006), ...where(event));
  }, { passive: false });
  canvas.addEventListener("blur", () => point(-1));
  canvas.addEventListener("keydown", (event) => {
    const way = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] }[event.key];
    if (way) step(way);
    else if (event.key === "Enter" && over >= 0) jump(items.cluster[m.row[over]]);
    else if (event.key === "+" || event.key === "=") zoom(1.6);
    else if (event.key === "-") zoom(1 / 1.6);
    else if (event.key === "0") reset();
    else if (event.key === "Escape") point(-1);
    else return;
    event.preventDefault();
  });
  /* The nearest point in a direction, points off the axis counting as further. */
  function step([dx, dy]) {
    if (over < 0) { point(nearest(w / 2, t / 2, Infinity)); if (over >= 0) say(describe(m.row[over])); return; }
    let best = -1, least = Infinity;
    for (let i = 0; i < n; i++) {
      if (i === over || (alone !== null && group[i] !== alone)) continue;
      const ax = X(i) - X(over), ay = Y(i) - Y(over), along = ax * dx + ay * dy, off = Math.abs(ax * dy) + Math.abs(ay * dx);
      if (along > .5 && along + 2 * off < least) { least = along + 2 * off; best = i; }
    }
    if (best < 0) return;
    const x = X(best), y = Y(best);
    if (x < 20 || y < 20 || x > w - 20 || y > t - 20) { ox += w / 2 - x; oy += t / 2 - y; settle(); }
    point(best);
    say(describe(m.row[best]));
  }
  const colour = items.class ? choice("Colour by", [["cluster", "By cluster"], ["class", "By class"]], "cluster", (key) => { by = key; regroup(); }) : null;
  const shown = n < run.n ? `A random sample of ${count(n)} of the ${count(run.n)} ${run.noun}s` : `All ${count(n)} ${run.noun}s`;
  section("map", "Map", `${shown}, placed so that those with a similar embedding are close together. Distances between groups that are far apart mean little.`,
    colour && h("div", { class: "controls" }, colour), h("div", { class: "map" }, stage, legend),
    h("p", { class: "small hint" }, "Point at a dot to see it, click to go to its cluster. Drag to move; click the map once, then scroll to zoom. By keyboard: arrows, Enter, + − 0. ", `Positions: ${m.how.replace("t-SNE", "t\u2011SNE")}.`));
  new ResizeObserver(() => { w = stage.clientWidth; t = stage.clientHeight; fit(); settle(); }).observe(stage);
  themed.push(paint);
  regroup();
  canvas.pointAt = (i) => [X(i), Y(i)];
}
