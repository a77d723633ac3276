// How a translator decodes, where it can do so in several ways, and the numbers of the way that is chosen.
import { element } from "../dom.js";
import { choice, numberField } from "./controls.js";

const sentence = (text) => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
const title = (name) => sentence(name.replaceAll("_", " ")).slice(0, -1);

export class DecodingChoice {
  // `onchange` is called when something else is chosen.
  constructor({ onchange }) {
    this.onchange = onchange;
    this.kinds = [];
    this.fields = new Map(); // of options, by their names
    this.picker = choice({ label: "Decoding", options: [], onchange: () => this.#choose() });
    this.help = element("p", { class: "hint" });
    this.options = element("div", { class: "bar-row" });
    this.element = element(
      "div",
      { class: "decoding", role: "group", "aria-label": "Decoding" },
      element("div", { class: "bar-row" }, this.picker.element, this.options),
      this.help,
    );
  }

  // What a model can do; one that says nothing decodes as it likes.
  begin({ decodings = [], decoding }) {
    this.kinds = decodings;
    this.picker.fill(
      decodings.map(({ name }) => [name, title(name)]),
      decoding,
    );
    this.picker.input.disabled = decodings.length < 2;
    this.element.hidden = decodings.length === 0;
    this.#draw();
  }

  get kind() {
    return this.kinds.find(({ name }) => name === this.picker.value);
  }

  // As fields of a request.
  get value() {
    if (!this.kind) return {};
    const given = [...this.fields].map(([name, field]) => [name, field.value]);
    return {
      decoding: this.kind.name,
      ...Object.fromEntries(given.filter(([, value]) => value !== undefined)),
    };
  }

  // The controls that an error of the server may be about, by the names of its fields.
  get inputs() {
    return Object.fromEntries([
      ["decoding", this.picker.input],
      ...[...this.fields].map(([name, field]) => [name, field.input]),
    ]);
  }

  #choose() {
    this.#draw();
    this.onchange();
  }

  #draw() {
    this.help.textContent = this.kind ? sentence(this.kind.help) : "";
    this.fields = new Map(
      (this.kind?.options ?? []).map((option) => [
        option.name,
        numberField({
          label: title(option.name),
          hint: sentence(option.help),
          min: option.least,
          max: option.most,
          step: Number.isInteger(option.default) ? 1 : 0.1,
          placeholder: `${option.default}`,
          oninput: this.onchange,
        }),
      ]),
    );
    this.options.replaceChildren(...[...this.fields.values()].map((field) => field.element));
  }
}
