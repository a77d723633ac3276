// All attention of an answer: which kind, layer and head, small pictures of all of them, and the chosen
// one as lines between words or as a heat map.
import { element, freshId } from "../dom.js";
import { onTheme } from "../theme.js";
import {
  byWords,
  formatWeight,
  headName,
  kKinds,
  kMean,
  largest,
  readable,
  readAttention,
  sidesOf,
  specialsIn,
  strongest,
  weightsOf,
} from "./attention_data.js";
import { checkBox, choice, segments, table, tableBehind } from "./controls.js";
import { HeatMap, paint } from "./heat_map.js";
import { thumb } from "./thumbs.js";
import { WordLines } from "./word_lines.js";

// Most heads of a language model rest on the first token; without it the rest can be seen.
function withoutFirst(map) {
  const cut = (weights) => weights.map((weight, i) => (i % map.keys === 0 ? 0 : weight));
  return { ...map, weights: map.weights.map(cut), mean: cut(map.mean) };
}

// The first of a causal map's rows can only look at itself: its 1 says nothing about the others.
function brightest(map, head) {
  const weights = weightsOf(map, head);
  return largest(map.kind === "decoder" && map.queries > 1 ? weights.subarray(map.keys) : weights) || 1;
}

export class AttentionView {
  // names: {source, target, produced}: what the sides are called. view: "lines" or "heat".
  constructor({ names = { source: "token", target: "token", produced: "token" }, view = "lines" } = {}) {
    this.names = { hops: "hop", ...names };
    this.state = { kind: null, layer: 0, head: kMean, view, words: true, stretch: true, skip: true };
    this.kinds = segments({
      label: "Kind of attention",
      options: [],
      onchange: (kind) => this.#choose({ kind }),
    });
    this.views = segments({
      label: "View",
      options: [
        ["lines", "Lines"],
        ["heat", "Heat map"],
      ],
      value: view,
      onchange: (chosen) => this.#choose({ view: chosen }),
    });
    this.layer = choice({
      label: "Layer",
      options: [],
      onchange: (layer) => this.#choose({ layer: Number(layer) }),
    });
    this.head = choice({
      label: "Head",
      options: [],
      onchange: (head) => this.#choose({ head: Number(head) }),
    });
    this.words = checkBox({
      label: "Whole words",
      checked: true,
      onchange: (words) => this.#choose({ words }),
    });
    this.stretch = checkBox({
      label: "Scale to the largest weight",
      checked: true,
      onchange: (stretch) => this.#choose({ stretch }),
    });
    this.skip = checkBox({
      label: "Hide the first token",
      checked: true,
      onchange: (skip) => this.#choose({ skip }),
    });
    this.heat = new HeatMap({ name: "Attention weights", format: formatWeight });
    this.lines = new WordLines();
    this.title = element("h3", { class: "attention-title", id: freshId("attention") });
    this.overview = element("div", {
      class: "thumbs",
      role: "grid",
      "aria-label": "All layers and heads",
      onkeydown: (event) => this.#walk(event),
    });
    this.detail = element("div", { class: "attention-detail" });
    this.specials = element("p", { class: "hint specials" });
    this.scaleEnd = element("span", {});
    this.ramp = element("canvas", {
      class: "ramp",
      role: "img",
      "aria-label": "Colours from weight 0 to the largest",
    });
    this.element = element(
      "div",
      { class: "attention", hidden: true },
      element(
        "div",
        { class: "bar-row" },
        this.kinds.element,
        this.views.element,
        this.layer.element,
        this.head.element,
        this.words.element,
        this.stretch.element,
        this.skip.element,
      ),
      element(
        "div",
        { class: "attention-body" },
        element(
          "div",
          { class: "attention-all" },
          element("h3", {}, "All layers and heads"),
          element("p", { class: "hint" }, "One row per layer, one column per head."),
          this.overview,
        ),
        element(
          "div",
          { class: "attention-one" },
          this.title,
          this.detail,
          this.specials,
          (this.scale = element("div", { class: "scale" }, "0", this.ramp, this.scaleEnd)),
          (this.table = tableBehind("As a table", () => this.#table())),
        ),
      ),
    );
    onTheme(() => {
      if (this.tokens) this.#draw();
    });
  }

  show(answer) {
    this.tokens = readAttention(answer);
    this.joined = byWords(this.tokens);
    this.element.hidden = false;
    const kinds = Object.keys(kKinds).filter((kind) => this.tokens.maps.some((map) => map.kind === kind));
    if (!kinds.includes(this.state.kind)) this.state.kind = kinds.includes("cross") ? "cross" : kinds[0];
    this.kinds.fill(
      kinds.map((kind) => [kind, kKinds[kind].name]),
      this.state.kind,
    );
    this.kinds.element.hidden = kinds.length < 2;
    this.words.element.hidden =
      this.joined.target.length === this.tokens.target.length &&
      this.joined.produced.length === this.tokens.produced.length &&
      this.joined.source.length === this.tokens.source.length;
    this.skip.element.hidden = !this.#isLanguageModel();
    if (!this.state.chosen) this.state.layer = this.#maps().at(-1).layer;
    this.#choose({});
  }

  clear() {
    this.element.hidden = true;
    this.tokens = null;
  }

  #isLanguageModel() {
    return this.tokens.isLanguageModel;
  }

  #data() {
    return this.state.words ? this.joined : this.tokens;
  }

  #maps() {
    const maps = this.#data().maps.filter((map) => map.kind === this.state.kind);
    return this.state.skip && this.#isLanguageModel() ? maps.map(withoutFirst) : maps;
  }

  #current() {
    return this.maps.find((map) => map.layer === this.state.layer);
  }

  #choose(change) {
    Object.assign(this.state, change);
    if ("layer" in change || "head" in change) this.state.chosen = true;
    if (!this.tokens) return;
    this.maps = this.#maps();
    if (!this.#current()) this.state.layer = this.maps.at(-1).layer;
    if (!(this.state.head < this.#current().weights.length)) this.state.head = kMean;
    this.#draw();
  }

  #labels(map) {
    const { queries, keys } = sidesOf(this.#data(), map);
    return [queries.map(readable), keys.map(readable)];
  }

  #draw() {
    const { layer, head, view, stretch } = this.state;
    const map = this.#current();
    const sides = kKinds[map.kind];
    const [queries, keys] = this.#labels(map);
    this.layer.fill(
      this.maps.map((one) => [one.layer, `${one.layer}`]),
      layer,
    );
    this.head.fill([[kMean, "mean"], ...map.weights.map((_, one) => [one, `${one}`])], head);
    this.title.textContent = `Layer ${layer}, ${headName(head)}`;
    this.#explainSpecials(queries, keys);
    this.detail.replaceChildren(view === "heat" ? this.heat.element : this.lines.element);
    this.scale.hidden = view !== "heat";
    this.#drawOverview();
    this.table.ontoggle();
    const most = stretch ? brightest(map, head) : 1;
    if (view === "heat") {
      this.heat.show({ values: weightsOf(map, head), rows: queries, columns: keys, low: 0, high: most });
      paint(
        this.ramp,
        Float32Array.from({ length: 128 }, (_, i) => i / 127),
        128,
      );
      this.scaleEnd.textContent = most === 1 ? "1" : formatWeight(most);
    } else {
      this.lines.show({
        map,
        head,
        queries,
        keys,
        names: [this.names[sides.queries], this.names[sides.keys]],
        high: stretch ? undefined : 1,
      });
    }
  }

  #explainSpecials(...sides) {
    const found = specialsIn(...sides);
    this.specials.hidden = found.length === 0;
    this.specials.replaceChildren(
      ...found.flatMap(([token, meaning], i) => [
        i === 0 ? "" : "; ",
        element("code", {}, token),
        ` ${meaning}`,
      ]),
      ".",
    );
  }

  #drawOverview() {
    const focused = this.overview.contains(document.activeElement);
    const heads = [kMean, ...this.maps[0].weights.keys()];
    this.overview.style.setProperty("--heads-count", heads.length);
    const row = (...cells) => element("div", { role: "row", class: "thumb-row" }, ...cells);
    this.overview.replaceChildren(
      row(
        element("span", { role: "columnheader" }, ""),
        ...heads.map((head) =>
          element("span", { role: "columnheader" }, head === kMean ? "mean" : `${head}`),
        ),
      ),
      ...this.maps.map((map) =>
        row(
          element("span", { role: "rowheader" }, `${map.layer}`),
          ...heads.map((head) => this.#thumb(map, head)),
        ),
      ),
    );
    if (focused) this.overview.querySelector("[aria-selected=true]").focus();
  }

  #thumb(map, head) {
    const isChosen = map.layer === this.state.layer && head === this.state.head;
    return thumb(map, head, {
      role: "gridcell",
      "aria-selected": isChosen,
      tabIndex: isChosen ? 0 : -1,
      onclick: () => this.#choose({ layer: map.layer, head }),
    });
  }

  #walk(event) {
    const moved = (list, value, step) =>
      list[Math.max(0, Math.min(list.length - 1, list.indexOf(value) + step))];
    const layers = this.maps.map((map) => map.layer);
    const heads = [kMean, ...this.maps[0].weights.keys()];
    const change = {
      ArrowLeft: () => ({ head: moved(heads, this.state.head, -1) }),
      ArrowRight: () => ({ head: moved(heads, this.state.head, 1) }),
      ArrowUp: () => ({ layer: moved(layers, this.state.layer, -1) }),
      ArrowDown: () => ({ layer: moved(layers, this.state.layer, 1) }),
    }[event.key];
    if (!change) return;
    event.preventDefault();
    this.#choose(change());
  }

  #table() {
    const map = this.#current();
    const sides = kKinds[map.kind];
    const [queries, keys] = this.#labels(map);
    const weights = weightsOf(map, this.state.head);
    return table(
      [this.names[sides.queries], "attends most to"],
      queries.map((word, query) => [
        word,
        strongest(weights, map.keys, query)
          .map(({ key, weight }) => `${keys[key]} ${formatWeight(weight)}`)
          .join(", "),
      ]),
      `Layer ${map.layer}, ${headName(this.state.head)}`,
    );
  }
}
