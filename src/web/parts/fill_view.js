// A translation as it fills in: one pass of the decoder at a time, with what is new or has changed marked.
import { element } from "../dom.js";
import { readable } from "./attention_data.js";
import { button, slider, table, tableBehind } from "./controls.js";
import { passesOf, summaryOf } from "./fill_data.js";

const kBeat = 700; // milliseconds of a pass while it plays
const kOpen = "·"; // stands where there is no token yet
const kSpoken = { open: "open", new: "new", changed: "changed" };

export class FillView {
  constructor() {
    this.passes = [];
    this.timer = 0;
    this.tokens = element("ol", { class: "fill-tokens", dir: "auto", "aria-label": "Tokens of this pass" });
    this.caption = element("p", { class: "fill-caption", role: "status" });
    this.scale = slider({
      label: "Pass",
      min: 1,
      max: 1,
      step: 1,
      value: 1,
      format: (pass) => `${pass} of ${this.passes.length}`,
      oninput: (pass) => this.#go(pass),
    });
    this.playing = button("Play", { class: "primary", onclick: () => this.#toggle() });
    this.previous = button("Previous", { onclick: () => this.#go(this.scale.value - 1) });
    this.next = button("Next", { onclick: () => this.#go(this.scale.value + 1) });
    this.behind = element("div", {});
    this.element = element(
      "div",
      { class: "fill", hidden: true },
      this.tokens,
      this.caption,
      element(
        "div",
        { class: "bar-row fill-controls" },
        this.previous,
        this.playing,
        this.next,
        this.scale.element,
      ),
      this.behind,
    );
  }

  // Shows the last pass, which is the translation.
  show(trace) {
    this.#pause();
    this.passes = passesOf(trace);
    this.element.hidden = this.passes.length === 0;
    if (this.element.hidden) return;
    this.scale.input.max = this.passes.length;
    this.behind.replaceChildren(
      tableBehind("All passes as a table", () =>
        table(
          ["Pass", "Tokens", "What happened"],
          this.passes.map((pass, i) => [
            `${i + 1}`,
            pass.tokens.map(({ text }) => (text === null ? kOpen : readable(text))).join(" "),
            summaryOf(pass),
          ]),
        ),
      ),
    );
    this.#draw(this.passes.length);
  }

  clear() {
    this.show([]);
  }

  #go(pass) {
    this.#pause();
    this.#draw(pass);
  }

  #draw(pass) {
    const { tokens, ...counts } = this.passes[pass - 1];
    this.scale.value = pass;
    this.previous.disabled = pass === 1;
    this.next.disabled = pass === this.passes.length;
    this.caption.textContent = `Pass ${pass} of ${this.passes.length}: ${summaryOf(counts)}.`;
    this.tokens.replaceChildren(
      ...tokens.map(({ text, state }) =>
        element(
          "li",
          { class: state },
          text === null ? kOpen : readable(text),
          kSpoken[state] && element("span", { class: "unseen" }, ` (${kSpoken[state]})`),
        ),
      ),
    );
  }

  // From the first pass, if the last one is there already.
  #toggle() {
    if (this.timer) return this.#pause();
    const last = this.passes.length;
    if (this.scale.value === last) this.#draw(1);
    this.playing.textContent = "Pause";
    this.timer = setInterval(() => {
      if (this.scale.value < last) this.#draw(this.scale.value + 1);
      if (this.scale.value === last) this.#pause();
    }, kBeat);
  }

  #pause() {
    clearInterval(this.timer);
    this.timer = 0;
    this.playing.textContent = "Play";
  }
}
