// Small pictures of attention maps.
import { element } from "../dom.js";
import { headName, weightsOf } from "./attention_data.js";
import { paint } from "./heat_map.js";

const kThumbCells = 32;

// The largest weight of every patch, so that nothing sharp is lost in a small picture.
function pooled(weights, columns) {
  const rows = weights.length / columns;
  const width = Math.min(columns, kThumbCells),
    height = Math.min(rows, kThumbCells);
  const small = new Float32Array(width * height);
  weights.forEach((weight, i) => {
    const x = Math.floor(((i % columns) * width) / columns),
      y = Math.floor((Math.floor(i / columns) * height) / rows);
    small[y * width + x] = Math.max(small[y * width + x], weight);
  });
  return [small, width];
}

// A button with the picture of one head; never scaled to its largest weight, so that sharp heads stand out.
export function thumb(map, head, attributes = {}) {
  const canvas = element("canvas", {});
  const [weights, columns] = pooled(weightsOf(map, head), map.keys);
  paint(canvas, weights, columns);
  return element(
    "button",
    { type: "button", class: "thumb", "aria-label": `layer ${map.layer}, ${headName(head)}`, ...attributes },
    canvas,
  );
}
