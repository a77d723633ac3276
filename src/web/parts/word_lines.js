// Two columns of words and a curve for every weight between them. Point at a word, or focus it, to see
// only its lines and their numbers.
import { announce, element, followWidth, sharpContext } from "../dom.js";
import { colours, onTheme } from "../theme.js";
import { formatWeight, kMean, largest, meaningOf, weightsOf } from "./attention_data.js";

const kFaintest = 0.04; // of the strongest; fainter lines would only be work
const kRow = 28,
  kDenseRow = 22,
  kManyWords = 40;

export const headColour = (head) => {
  const all = colours("--heads");
  return all[head % all.length];
};

export class WordLines {
  constructor() {
    this.shown = null;
    this.hover = null;
    this.left = element("ol", { class: "words left" });
    this.right = element("ol", { class: "words right" });
    this.canvas = element("canvas", { "aria-hidden": true });
    this.middle = element("div", { class: "lines" }, this.canvas);
    this.leftName = element("h3", {});
    this.rightName = element("h3", {});
    this.legend = element("div", { class: "legend" });
    this.element = element(
      "div",
      { class: "word-lines-scroll" },
      this.legend,
      element(
        "div",
        { class: "word-lines" },
        this.leftName,
        element("span", {}),
        this.rightName,
        this.left,
        this.middle,
        this.right,
      ),
    );
    followWidth(this.middle, () => this.#draw());
    onTheme(() => {
      if (this.shown) this.show(this.shown);
    });
  }

  // shown: {map, head, queries: words, keys: words, names: [of queries, of keys], high}. Keys stand on the
  // left, since the text that is read comes before the text that is written.
  show(shown) {
    this.shown = shown;
    this.hover = null;
    const { map, head, keys, queries, names } = shown;
    this.row = Math.max(keys.length, queries.length) > kManyWords ? kDenseRow : kRow;
    this.leftName.textContent = names[1];
    this.rightName.textContent = names[0];
    this.#fill(this.left, "keys", keys);
    this.#fill(this.right, "queries", queries);
    this.legend.replaceChildren(
      ...(head === kMean
        ? map.weights.map((_, i) => {
            const made = element("span", {}, `head ${i}`);
            made.style.setProperty("--colour", headColour(i));
            return made;
          })
        : []),
    );
    this.#draw();
  }

  #fill(column, side, words) {
    column.replaceChildren(
      ...words.map((word, i) => {
        const made = element(
          "li",
          {
            class: "word",
            title: meaningOf(word),
            tabIndex: i === 0 ? 0 : -1,
            onmouseenter: () => this.#point({ side, i }),
            onmouseleave: () => this.#point(null),
            onfocus: () => this.#point({ side, i }, true),
            onblur: () => this.#point(null),
            onkeydown: (event) => this.#walk(event, column, i),
          },
          element("bdi", {}, word),
          element("small", {}),
        );
        made.style.height = `${this.row}px`;
        return made;
      }),
    );
  }

  #walk(event, column, i) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const next = step && column.children[i + step];
    if (!next) return;
    event.preventDefault();
    column.children[i].tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  }

  #point(hover, speak = false) {
    this.hover = hover;
    this.#draw();
    if (speak) this.#speak();
  }

  #draw() {
    const width = this.middle.clientWidth;
    if (!this.shown || !width) return;
    const { map, head, high, keys, queries } = this.shown;
    const context = sharpContext(this.canvas, width, this.row * Math.max(keys.length, queries.length));
    const heads = head === kMean ? [...map.weights.keys()] : [head];
    const most = high ?? (Math.max(...heads.map((one) => largest(map.weights[one]))) || 1);
    const isHidden = (query, key) =>
      this.hover && this.hover.i !== (this.hover.side === "queries" ? query : key);
    context.lineWidth = this.hover ? 2.6 : 2;
    for (const one of heads) {
      context.strokeStyle = headColour(one);
      map.weights[one].forEach((weight, i) => {
        const query = Math.floor(i / map.keys),
          key = i % map.keys;
        const share = Math.min(1, weight / most);
        if (share < kFaintest || isHidden(query, key)) return;
        const from = (key + 0.5) * this.row,
          to = (query + 0.5) * this.row;
        context.globalAlpha = share * (heads.length > 1 && !this.hover ? 0.7 : 1);
        context.beginPath();
        context.moveTo(0, from);
        context.bezierCurveTo(width * 0.45, from, width * 0.55, to, width, to);
        context.stroke();
      });
    }
    this.#shade();
  }

  // How much the words on the other side have to do with the one pointed at; null beside it.
  #linked(side, i) {
    const { map, head } = this.shown;
    if (!this.hover || this.hover.side === side) return null;
    const [query, key] = side === "queries" ? [i, this.hover.i] : [this.hover.i, i];
    return weightsOf(map, head)[query * map.keys + key];
  }

  #shade() {
    const { map, head, high } = this.shown;
    const most = high ?? (largest(weightsOf(map, head)) || 1);
    for (const [side, column] of [
      ["keys", this.left],
      ["queries", this.right],
    ]) {
      [...column.children].forEach((word, i) => {
        const weight = this.#linked(side, i);
        word.classList.toggle("lit", this.hover?.side === side && this.hover.i === i);
        word.style.setProperty(
          "--share",
          weight === null ? "0%" : `${Math.round(65 * Math.min(1, weight / most))}%`,
        );
        word.lastChild.textContent = weight !== null && weight >= 0.01 ? weight.toFixed(2) : "";
      });
    }
  }

  #speak() {
    if (!this.hover) return;
    const other = this.hover.side === "queries" ? "keys" : "queries";
    const heard = this.shown[other]
      .map((word, i) => [this.#linked(other, i), word])
      .sort((a, b) => b[0] - a[0]);
    announce(
      heard
        .slice(0, 3)
        .map(([weight, word]) => `${word} ${formatWeight(weight)}`)
        .join(", "),
    );
  }
}
