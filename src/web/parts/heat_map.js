// A matrix as colours on a canvas, with a word for every row and column. Point at a cell, or walk with
// the arrow keys, to read it.
import { announce, clamp, element, followWidth, hideTip, showTip } from "../dom.js";
import { onTheme, rampColour } from "../theme.js";

const kMinCell = 13,
  kMaxCell = 40;

// One pixel per value; style sheets enlarge it.
export function paint(canvas, values, columns, { low = 0, high = 1 } = {}) {
  canvas.width = columns;
  canvas.height = values.length / columns;
  const context = canvas.getContext("2d");
  const image = context.createImageData(canvas.width, canvas.height);
  const pixels = new Uint32Array(image.data.buffer);
  values.forEach((value, i) => {
    pixels[i] = rampColour((value - low) / (high - low || 1));
  });
  context.putImageData(image, 0, 0);
}

export class HeatMap {
  // `name` says what it shows; `format` writes a value; `words` are the pixels that a row's word may take.
  constructor({ name, format, words = 150 }) {
    Object.assign(this, { name, format, words, shown: null, at: [0, 0] });
    this.canvas = element("canvas", { class: "cells-canvas" });
    this.marks = element("div", { class: "marks" });
    this.cells = element(
      "div",
      {
        class: "cells",
        role: "application",
        "aria-label": name,
        tabIndex: 0,
        onkeydown: (event) => this.#walk(event),
        onmousemove: (event) => this.#point(event),
        onmouseleave: () => {
          this.#light(null);
          hideTip();
        },
        onblur: () => this.#light(null),
      },
      this.canvas,
      element("div", { class: "net" }),
      this.marks,
    );
    this.rows = element("div", { class: "heat-rows", "aria-hidden": true });
    this.columns = element("div", { class: "heat-columns", "aria-hidden": true });
    this.element = element(
      "div",
      { class: "heat-scroll" },
      element(
        "div",
        { class: "heat" },
        element("div", { class: "heat-corner" }),
        this.columns,
        this.rows,
        this.cells,
      ),
    );
    followWidth(this.element, () => this.#draw());
    onTheme(() => this.#draw());
  }

  // matrix: {values, rows: words, columns: words, low, high, marked: a row}
  show(matrix) {
    this.shown = matrix;
    this.at = [0, 0];
    this.cells.setAttribute(
      "aria-label",
      `${this.name}: ${matrix.rows.length} rows by ${matrix.columns.length} columns. ` +
        "Arrow keys read the cells.",
    );
    this.#draw();
  }

  #draw() {
    if (!this.shown || !this.element.clientWidth) return;
    const { values, rows, columns, low, high } = this.shown;
    const words = Math.min(this.words, this.element.clientWidth * 0.32);
    const cell = clamp(
      Math.floor((this.element.clientWidth - words - 4) / columns.length),
      kMinCell,
      kMaxCell,
    );
    this.cell = cell;
    const label = (side) => (word) => {
      const made = element("div", {}, element("bdi", {}, word));
      made.style[side] = `${cell}px`;
      made.style.fontSize = `${Math.min(13, cell - 1)}px`;
      if (side === "height") made.style.maxWidth = `${words}px`;
      return made;
    };
    this.rows.replaceChildren(...rows.map(label("height")));
    this.columns.replaceChildren(...columns.map(label("width")));
    this.canvas.style.width = `${cell * columns.length}px`;
    this.canvas.style.height = `${cell * rows.length}px`;
    this.cells.style.setProperty("--cell", `${cell}px`);
    paint(this.canvas, values, columns.length, { low, high });
    this.#light(null);
  }

  #light(at) {
    for (const side of [this.rows, this.columns]) {
      for (const lit of side.querySelectorAll(".lit")) lit.classList.remove("lit");
    }
    this.marks.replaceChildren();
    const { cell } = this;
    const box = (name, left, top, width, height) => {
      const made = element("div", { class: name });
      Object.assign(made.style, {
        left: `${left}px`,
        top: `${top}px`,
        width: `${width}px`,
        height: `${height}px`,
      });
      return made;
    };
    const { marked, columns } = this.shown;
    if (marked !== undefined)
      this.marks.append(box("cursor", -1, marked * cell - 1, columns.length * cell + 2, cell + 2));
    if (!at) return;
    this.at = at;
    const [row, column] = at;
    this.rows.children[row].classList.add("lit");
    this.columns.children[column].classList.add("lit");
    this.marks.append(
      box("beam", 0, row * cell, this.shown.columns.length * cell, cell),
      box("beam", column * cell, 0, cell, this.shown.rows.length * cell),
      box("cursor", column * cell - 1, row * cell - 1, cell + 2, cell + 2),
    );
  }

  #valueAt([row, column]) {
    return this.format(this.shown.values[row * this.shown.columns.length + column]);
  }

  #point(event) {
    if (!this.shown) return;
    const area = this.cells.getBoundingClientRect();
    const place = (offset, count) => clamp(Math.floor(offset / this.cell), 0, count - 1);
    const at = [
      place(event.clientY - area.top, this.shown.rows.length),
      place(event.clientX - area.left, this.shown.columns.length),
    ];
    this.#light(at);
    showTip(
      event,
      element("b", {}, this.#valueAt(at)),
      element("bdi", {}, this.shown.rows[at[0]]),
      " → ",
      element("bdi", {}, this.shown.columns[at[1]]),
    );
  }

  #walk(event) {
    const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
    if (!step || !this.shown) return;
    event.preventDefault();
    const { rows, columns } = this.shown;
    this.#light([
      clamp(this.at[0] + step[0], 0, rows.length - 1),
      clamp(this.at[1] + step[1], 0, columns.length - 1),
    ]);
    announce(`${rows[this.at[0]]} to ${columns[this.at[1]]}: ${this.#valueAt(this.at)}`);
    this.marks.lastChild.scrollIntoView({ block: "nearest", inline: "nearest" });
  }
}
