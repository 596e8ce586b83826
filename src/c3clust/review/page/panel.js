/* The panel at the side. */
import { h } from "./dom.js";

const percent = (x) => `${Math.round(100 * x)}`;
export const panel = {
  help() {},
  check() {},
  close() {},
  update() {},
  key: () => false,
  quality(found) {
    if (!found) return null;
    const [low, high] = found.interval.map(percent);
    return h("p", { class: "small" }, `About ${percent(found.estimated_accuracy)} in 100 are probably in the right cluster (${low} to ${high}; estimated without labels, before any correction).`);
  },
};
