// Translation while typing, line by line, and what each word of the chosen line looked at.
import { postJson } from "../api.js";
import { debounce, element } from "../dom.js";
import { AttentionView } from "../parts/attention.js";
import { button, card, modelPicker, textField } from "../parts/controls.js";
import { Job } from "../parts/job.js";
import { Notice } from "../parts/states.js";

export const about = {
  id: "translate",
  title: "Translate",
  abilities: ["translate"],
  wants: "translator",
  lead: "Type, and the translation follows. Below it: which source words every word was made from.",
  start: {
    text: "Start the server with a folder that heed train made for translation:",
    command: "heed serve --model en-de=runs/multi30k",
  },
};

const kPause = 350; // milliseconds of quiet before asking

const kExamples = {
  en: "A man in a blue shirt is standing on a ladder.\nTwo dogs are playing in the snow.",
  de: "Ein Mann in einem blauen Hemd steht auf einer Leiter.\nZwei Hunde spielen im Schnee.",
  fr: "Un homme en chemise bleue est debout sur une échelle.\nDeux chiens jouent dans la neige.",
};

function languageName(code) {
  try {
    return new Intl.DisplayNames(["en"], { type: "language" }).of(code) ?? code;
  } catch {
    return code; // "source" and the like are no codes
  }
}

class TranslatePage {
  constructor(studio) {
    this.picker = modelPicker(studio.withAbility("translate"), () => this.#begin());
    this.source = textField({
      label: "Source",
      rows: 6,
      oninput: () => {
        this.#waiting(true);
        this.soon();
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
    this.notice = new Notice({ q: this.source.input, text: this.source.input });
    this.attention = new AttentionView();
    this.attentionNotice = new Notice();
    this.attentionHint = element(
      "p",
      { class: "hint" },
      "The stronger a line, the larger the weight. Point at a word to see only its lines.",
    );
    this.attentionCard = card(
      "What it looked at",
      this.attentionHint,
      this.attentionNotice.element,
      this.attention.element,
    );
    this.translating = new Job({ notice: this.notice, busy: (busy) => this.#waiting(busy) });
    this.looking = new Job({ notice: this.attentionNotice });
    this.soon = debounce(kPause, () => this.#translate());
    this.element = element(
      "div",
      { class: "stack" },
      element(
        "section",
        { class: "card", "aria-label": "Translation" },
        element("div", { class: "bar-row" }, this.picker.element),
        element(
          "div",
          { class: "two" },
          this.source.element,
          element("div", { class: "field" }, this.outputName, this.output),
        ),
        this.others,
        this.notice.element,
      ),
      this.attentionCard,
    );
    this.#begin();
  }

  #waiting(busy) {
    this.output.classList.toggle("waiting", busy);
  }

  #begin() {
    const { source = "source", target = "target" } = this.picker.model;
    this.source.element.querySelector("label").textContent = languageName(source);
    this.outputName.textContent = languageName(target);
    this.output.lang = target;
    this.attention.names = { source: languageName(source), target: languageName(target) };
    if (!this.source.value || Object.values(kExamples).includes(this.source.value)) {
      this.source.input.value = kExamples[source] ?? kExamples.en;
    }
    this.attentionCard.hidden = !this.picker.model.abilities.includes("attention");
    this.#translate();
  }

  #ask(q, alternatives, signal) {
    const { source, target } = this.picker.model;
    return postJson(
      "translate",
      { q, source, target, format: "text", ...(alternatives && { alternatives }) },
      { signal },
    );
  }

  async #translate() {
    const lines = this.source.value.split("\n");
    const full = lines.filter((line) => line.trim());
    if (full.length === 0) {
      this.translating.stop();
      this.looking.stop();
      this.output.replaceChildren();
      this.others.replaceChildren();
      this.attention.clear();
      this.#waiting(false);
      return;
    }
    await this.translating.run(async (signal) => {
      const { translatedText } = await this.#ask(full, 0, signal);
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
            title: "Show what this line looked at",
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
    this.others.replaceChildren(
      button("Other translations of this line", { class: "quiet", onclick: () => this.#showOthers(pair) }),
    );
    this.#look(pair.text, pair.translation);
  }

  async #showOthers(pair) {
    await this.translating.run(async (signal) => {
      const answer = await this.#ask(pair.text, 3, signal);
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

  async #look(text, target) {
    if (this.attentionCard.hidden) return;
    await this.looking.run(async (signal) => {
      this.attention.show(
        await postJson("v1/attention", { model: this.picker.model.id, text, target }, { signal }),
      );
    });
  }

  useModel(id) {
    this.picker.use(id);
  }
}

export const make = (studio) => {
  const page = new TranslatePage(studio);
  return { element: page.element, useModel: (id) => page.useModel(id) };
};
