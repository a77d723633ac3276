// Translation while typing, line by line; of the chosen line, how it filled in and what each word looked at.
import { postJson } from "../api.js";
import { debounce, element } from "../dom.js";
import { AttentionView } from "../parts/attention.js";
import { button, card, modelPicker, textField } from "../parts/controls.js";
import { DecodingChoice } from "../parts/decoding_choice.js";
import { ExampleButtons, examplesOf } from "../parts/examples.js";
import { FillView } from "../parts/fill_view.js";
import { Job } from "../parts/job.js";
import { languageName } from "../parts/model_tasks.js";
import { Notice } from "../parts/states.js";

export const about = {
  id: "translate",
  title: "Translate",
  abilities: ["translate"],
  wants: "translator",
  lead: "Type a text and the translation follows. Below it you see how it filled in, and which source words each word attended to.",
  start: {
    text: "Start the server with a translator that heed train has trained:",
    command: "heed serve --model en-de=runs/multi30k",
  },
};

const kPause = 350; // milliseconds of quiet before asking

class TranslatePage {
  constructor(studio) {
    this.picker = modelPicker(studio.withAbility("translate"), () => this.#begin());
    this.decoding = new DecodingChoice({
      onchange: () => {
        this.#waiting(true);
        this.soon();
      },
    });
    this.source = textField({
      label: "Source",
      rows: 5,
      placeholder: "Type a text here",
      oninput: () => {
        this.#waiting(true);
        this.soon();
      },
    });
    this.examples = new ExampleButtons({
      use: (text) => {
        this.source.input.value = text;
        this.#translate();
      },
    });
    this.output = element("ol", {
      class: "translation",
      "aria-live": "polite",
      "aria-label": "Translation",
      dir: "auto",
    });
    this.outputName = element("span", { class: "label" });
    this.others = element("div", { class: "others" });
    this.notice = new Notice(() => ({
      q: this.source.input,
      text: this.source.input,
      ...this.decoding.inputs,
    }));
    this.fill = new FillView();
    this.fillNotice = new Notice();
    this.fillCard = card(
      "How the translation fills in",
      element(
        "p",
        { class: "hint" },
        "What stands there after each pass of the decoder. Tokens that are new or have changed are marked.",
      ),
      this.fillNotice.element,
      this.fill.element,
    );
    this.attention = new AttentionView();
    this.attentionNotice = new Notice();
    this.attentionHint = element(
      "p",
      { class: "hint" },
      "A stronger line is a larger weight. Point at a word to see only its lines.",
    );
    this.attentionCard = card(
      "Attention",
      this.attentionHint,
      this.attentionNotice.element,
      this.attention.element,
    );
    this.translating = new Job({
      notice: this.notice,
      busy: (busy) => this.#waiting(busy),
      failed: () => this.#clear(),
    });
    this.filling = new Job({ notice: this.fillNotice, failed: () => this.fill.clear() });
    this.looking = new Job({ notice: this.attentionNotice, failed: () => this.attention.clear() });
    this.soon = debounce(kPause, () => this.#translate());
    this.element = element(
      "div",
      { class: "stack" },
      element(
        "section",
        { class: "card", "aria-label": "Translation" },
        element("div", { class: "bar-row" }, this.picker.element),
        this.decoding.element,
        element(
          "div",
          { class: "two" },
          this.source.element,
          element("div", { class: "field" }, this.outputName, this.output),
        ),
        this.others,
        this.examples.element,
        this.notice.element,
      ),
      this.fillCard,
      this.attentionCard,
    );
    this.#begin();
  }

  // What is shown belongs to another text until the answer is there.
  #waiting(busy) {
    this.output.classList.toggle("waiting", busy);
    this.fill.element.classList.toggle("waiting", busy);
    this.attention.element.classList.toggle("waiting", busy);
  }

  #clear() {
    this.output.replaceChildren();
    this.others.replaceChildren();
    this.fill.clear();
    this.attention.clear();
  }

  #begin() {
    const { source = "source", target = "target" } = this.picker.model;
    this.source.element.querySelector("label").textContent = languageName(source);
    this.outputName.textContent = languageName(target);
    this.output.lang = target;
    const [from, to] = [languageName(source), languageName(target)];
    this.attention.names = { source: from, target: `${to}, read`, produced: `${to}, written` };
    const examples = examplesOf(this.picker.model, "translate");
    if (this.examples.isOurs(this.source.value)) this.source.input.value = examples.texts[0] ?? "";
    this.examples.show(examples);
    this.decoding.begin(this.picker.model);
    this.fill.clear();
    this.fillCard.hidden = !this.picker.model.decodings;
    this.attention.clear();
    this.attentionCard.hidden = !this.picker.model.abilities.includes("attention");
    this.#translate();
  }

  // `more` are further fields of the request.
  #ask(q, more, signal) {
    const model = this.picker.model.id;
    return postJson("translate", { q, model, format: "text", ...this.decoding.value, ...more }, { signal });
  }

  async #translate() {
    const lines = this.source.value.split("\n");
    const full = lines.filter((line) => line.trim());
    if (full.length === 0) {
      this.translating.stop();
      this.filling.stop();
      this.looking.stop();
      this.notice.clear();
      this.#clear();
      this.#waiting(false);
      return;
    }
    await this.translating.run(async (signal) => {
      const { translatedText } = await this.#ask(full, {}, signal);
      this.pairs = full.map((text, i) => ({ text, translation: translatedText[i] }));
      this.#drawLines(lines);
      this.#choose(Math.min(this.#caretLine(lines), full.length - 1));
    });
  }

  // The number, among the lines with text, of the line somebody types in.
  #caretLine(lines) {
    const before = this.source.value.slice(0, this.source.input.selectionStart).split("\n").length - 1;
    const isTyping = document.activeElement === this.source.input;
    return isTyping ? Math.max(0, lines.slice(0, before + 1).filter((line) => line.trim()).length - 1) : 0;
  }

  #drawLines(lines) {
    let i = 0;
    this.output.replaceChildren(
      ...lines.map((line) => {
        if (!line.trim()) return element("li", { class: "blank" });
        const number = i++;
        return element(
          "li",
          {},
          button(this.pairs[number].translation, {
            class: "line",
            "aria-pressed": false,
            title: "Show the attention of this line",
            onclick: () => this.#choose(number),
          }),
        );
      }),
    );
  }

  #choose(number) {
    this.output
      .querySelectorAll(".line")
      .forEach((line, i) => line.setAttribute("aria-pressed", `${i === number}`));
    const pair = this.pairs[number];
    const hasOthers = this.decoding.kind?.n_best ?? true;
    this.others.replaceChildren(
      ...(hasOthers
        ? [button("Other translations of this line", { class: "quiet", onclick: () => this.#showOthers(pair) })]
        : []),
    );
    this.#fillIn(pair.text);
    this.#look(pair.text, pair.translation);
  }

  async #showOthers(pair) {
    await this.translating.run(async (signal) => {
      const answer = await this.#ask(pair.text, { alternatives: 3 }, signal);
      const all = [answer.translatedText, ...(answer.alternatives ?? [])];
      this.others.replaceChildren(
        element("h3", {}, "Other translations"),
        element(
          "ul",
          {},
          all.map((text) =>
            element("li", {}, button(text, { class: "line", onclick: () => this.#look(pair.text, text) })),
          ),
        ),
      );
    });
  }

  use({ model, text }) {
    if (model) this.picker.use(model);
    if (!text || text === this.source.value) return;
    this.source.input.value = text;
    this.#translate();
  }

  async #fillIn(text) {
    if (this.fillCard.hidden) return;
    await this.filling.run(async (signal) => {
      this.fill.show((await this.#ask(text, { trace: true }, signal)).trace);
    });
  }

  async #look(text, target) {
    if (this.attentionCard.hidden) return;
    await this.looking.run(async (signal) => {
      this.attention.show(
        await postJson("v1/attention", { model: this.picker.model.id, text, target }, { signal }),
      );
    });
  }
}

export const make = (studio) => {
  const page = new TranslatePage(studio);
  return { element: page.element, use: (wanted) => page.use(wanted) };
};
