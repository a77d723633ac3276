// Lines over steps, as SVG: axes with round numbers, a hair line that reads the nearest point under the
// mouse or the arrow keys, and a table for those who do not see it.
import { announce, clamp, element, followWidth, hideTip, shape, showTip } from "../dom.js";
import { table, tableBehind } from "./controls.js";

const kHeight = 230,
  kRight = 16,
  kTop = 10,
  kBottom = 28,
  kMostPoints = 600,
  kFewPoints = 12; // with a dot each: a line through one or two would not be seen
const kDigit = 7, // pixels of a digit on the axes
  kAxisGap = 10;

export function niceNumber(value) {
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e6) return `${+(value / 1e6).toPrecision(3)}M`;
  if (size >= 1e4) return `${+(value / 1e3).toPrecision(3)}k`;
  if (size < 1e-3) return value.toExponential(1).replace(".0", "").replace("e-", "e−");
  return `${+value.toPrecision(4)}`;
}

function ticks(low, high, count) {
  const rough = (high - low) / count || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((times) => times * power).find((one) => one >= rough);
  const made = [];
  for (let at = Math.ceil(low / step) * step; at <= high + step * 1e-6; at += step)
    made.push(Math.abs(at) < step / 2 ? 0 : at);
  return made;
}

// Neighbours become their mean once there are more points than pixels.
function thinned(points) {
  if (points.length <= kMostPoints) return points;
  const size = Math.ceil(points.length / kMostPoints);
  return Array.from({ length: Math.ceil(points.length / size) }, (_, i) => {
    const some = points.slice(i * size, (i + 1) * size);
    return { x: some.at(-1).x, y: some.reduce((sum, point) => sum + point.y, 0) / some.length };
  });
}

export class LineChart {
  constructor({ title, xName = "step", fromZero = false }) {
    this.fromZero = fromZero;
    this.title = title;
    this.left = 52; // as wide as the labels of the axis need
    this.xName = xName;
    this.series = [];
    this.at = null;
    this.legend = element("div", { class: "legend" });
    this.name = element("strong", {}, title);
    this.hint = element("p", { class: "hint", hidden: true });
    this.svg = shape("svg", { class: "chart", height: kHeight, role: "application", tabindex: 0 });
    this.#label();
    this.svg.onmousemove = (event) => this.#point(event);
    this.svg.onmouseleave = () => {
      this.#mark(null);
      hideTip();
    };
    this.svg.onkeydown = (event) => this.#walk(event);
    this.table = tableBehind("As a table", () => this.#table());
    this.element = element(
      "figure",
      { class: "figure" },
      element("figcaption", {}, this.name, this.legend),
      this.svg,
      this.hint,
      this.table,
    );
    followWidth(this.element, (width) => {
      this.width = width;
      this.#draw();
    });
  }

  rename(title) {
    this.title = title;
    this.name.textContent = title;
  }

  note(text) {
    this.hint.textContent = text;
    this.hint.hidden = !text;
  }

  // series: [{name, colour: a CSS variable, points: [{x, y}], dots, isFaint}]
  show(series) {
    this.series = series
      .map((one) => ({ ...one, points: thinned(one.points.filter((point) => Number.isFinite(point.y))) }))
      .filter((one) => one.points.length > 0);
    this.legend.replaceChildren(
      ...this.series.map(({ name, colour, isFaint }) => {
        const made = element("span", { class: isFaint ? "faint" : "" }, name);
        made.style.setProperty("--colour", `var(${colour})`);
        return made;
      }),
    );
    this.#label();
    this.#draw();
    if (!this.table.contains(document.activeElement)) this.table.ontoggle();
  }

  // What a screen reader says of the chart, from the moment it is on the page.
  #label() {
    const last = this.series.map(({ name, points }) => `${name} ${niceNumber(points.at(-1).y)}`).join(", ");
    this.svg.setAttribute(
      "aria-label",
      `${this.title}: a line chart. Last: ${last || "nothing yet"}. Arrow keys read the points.`,
    );
  }

  #draw() {
    if (!this.width) return;
    this.svg.setAttribute("viewBox", `0 0 ${this.width} ${kHeight}`);
    const all = this.series.flatMap((one) => one.points);
    if (all.length === 0) {
      this.svg.replaceChildren(
        shape("text", { x: this.width / 2, y: kHeight / 2, "text-anchor": "middle" }, "nothing yet"),
      );
      return;
    }
    const range = (pick) => [Math.min(...all.map(pick)), Math.max(...all.map(pick))];
    this.xs = range((point) => point.x);
    const [low, high] = range((point) => point.y);
    const margin = (high - low) * 0.06 || Math.abs(high) * 0.1 || 1;
    this.ys = [this.fromZero ? 0 : low >= 0 ? Math.max(0, low - margin) : low - margin, high + margin];
    this.yTicks = ticks(...this.ys, 4);
    this.left =
      kAxisGap + kDigit * Math.max(this.xName.length, ...this.yTicks.map((tick) => niceNumber(tick).length));
    this.marks = shape("g", {});
    this.svg.replaceChildren(...this.#axes(), ...this.series.flatMap((one) => this.#line(one)), this.marks);
  }

  #x(value) {
    const share = this.xs[1] > this.xs[0] ? (value - this.xs[0]) / (this.xs[1] - this.xs[0]) : 0.5;
    return this.left + share * (this.width - this.left - kRight);
  }

  #y(value) {
    return kTop + (1 - (value - this.ys[0]) / (this.ys[1] - this.ys[0])) * (kHeight - kTop - kBottom);
  }

  #axes() {
    const across = this.yTicks.flatMap((value) => {
      const y = this.#y(value);
      return [
        shape("line", { class: "grid", x1: this.left, x2: this.width - kRight, y1: y, y2: y }),
        shape("text", { x: this.left - 8, y: y + 4, "text-anchor": "end" }, niceNumber(value)),
      ];
    });
    const y = kHeight - 8;
    const name = shape("text", { x: this.left - 8, y, "text-anchor": "end" }, this.xName);
    const steps =
      this.xs[1] > this.xs[0] ? ticks(...this.xs, Math.max(2, Math.floor(this.width / 90))) : [this.xs[0]];
    const down = steps.map((value) => {
      const text = niceNumber(value);
      const half = (kDigit * text.length) / 2; // a label ends where the picture does
      const x = clamp(this.#x(value), this.left + half, this.width - half);
      return shape("text", { x, y, "text-anchor": "middle" }, text);
    });
    return [...across, name, ...down];
  }

  #line({ points, colour, dots, isFaint }) {
    const path = points
      .map((point, i) => `${i ? "L" : "M"}${this.#x(point.x).toFixed(1)} ${this.#y(point.y).toFixed(1)}`)
      .join("");
    const line = shape("path", { class: `line${isFaint ? " faint" : ""}`, d: path });
    line.style.stroke = `var(${colour})`;
    if (!dots && points.length > kFewPoints) return [line];
    return [
      line,
      ...points.map((point) => {
        const made = shape("circle", { cx: this.#x(point.x), cy: this.#y(point.y), r: 3 });
        made.style.fill = `var(${colour})`;
        return made;
      }),
    ];
  }

  #reading(x) {
    return this.series.map((one) => ({
      ...one,
      point: one.points.reduce((near, point) =>
        Math.abs(point.x - x) < Math.abs(near.x - x) ? point : near,
      ),
    }));
  }

  #mark(reading) {
    if (!this.marks) return;
    if (!reading) {
      this.marks.replaceChildren();
      return;
    }
    const x = this.#x(reading[0].point.x);
    this.marks.replaceChildren(
      shape("line", { class: "hair", x1: x, x2: x, y1: kTop, y2: kHeight - kBottom }),
      ...reading.map(({ point, colour }) => {
        const made = shape("circle", { class: "mark", cx: this.#x(point.x), cy: this.#y(point.y), r: 4.5 });
        made.style.fill = `var(${colour})`;
        return made;
      }),
    );
  }

  #point(event) {
    if (this.series.length === 0) return;
    const box = this.svg.getBoundingClientRect();
    const share = clamp((event.clientX - box.left - this.left) / (this.width - this.left - kRight), 0, 1);
    const reading = this.#reading(this.xs[0] + share * (this.xs[1] - this.xs[0]));
    this.#mark(reading);
    showTip(
      event,
      element("b", {}, `${this.xName} ${reading[0].point.x}`),
      ...reading.map(({ name, point }) => element("div", {}, `${name} ${niceNumber(point.y)}`)),
    );
  }

  #walk(event) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step || this.series.length === 0) return;
    event.preventDefault();
    const { points } = this.series[0];
    this.at = clamp((this.at ?? points.length) + step, 0, points.length - 1);
    const reading = this.#reading(points[this.at].x);
    this.#mark(reading);
    announce(
      `${this.xName} ${points[this.at].x}: ${reading.map(({ name, point }) => `${name} ${niceNumber(point.y)}`).join(", ")}`,
    );
  }

  #table() {
    const rows = new Map();
    this.series.forEach(({ points }, i) =>
      points.slice(-50).forEach(({ x, y }) => {
        if (!rows.has(x))
          rows.set(
            x,
            this.series.map(() => ""),
          );
        rows.get(x)[i] = niceNumber(y);
      }),
    );
    return table(
      [this.xName, ...this.series.map(({ name }) => name)],
      [...rows].sort((a, b) => b[0] - a[0]).map(([x, values]) => [`${x}`, ...values]),
      `${this.title}, latest first`,
    );
  }
}
