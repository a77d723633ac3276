// Inputs to try a model with: those that its folder has, which are of the kind of data that it was
// trained on, and plain ones for folders that have none.
import { element } from "../dom.js";
import { button } from "./controls.js";

const kSentences = {
  en: "The children are playing in the garden.",
  de: "Die Kinder spielen im Garten.",
  fr: "Les enfants jouent dans le jardin.",
  it: "I bambini giocano nel giardino.",
  es: "Los niños juegan en el jardín.",
};
const kMask = "[MASK]";

const kPlain = {
  translate: (model) => [kSentences[model.source]],
  complete: () => ["Once upon a time"],
  fill: (model) => [`The weather is ${model.mask ?? kMask} today.`],
  classify: () => ["This is a short text.", "And this is another one."],
  answer: () => ["Mary went to the garden.\nJohn went to the kitchen.\nWhere is Mary?"],
  embed: () => [
    "The cat sleeps on the sofa.",
    "A kitten is napping on the couch.",
    "The market lost three percent.",
  ],
};

// {texts, isOwn}: isOwn says that they come with the model. Of an encoder's examples, those with a mask are
// for filling gaps, and the others are not.
export function examplesOf(model, ability) {
  const mask = model.mask ?? kMask;
  const texts = (model.examples ?? []).filter((text) => text.includes(mask) === (ability === "fill"));
  if (texts.length > 0) return { texts, isOwn: true };
  return { texts: kPlain[ability](model).filter(Boolean), isOwn: false };
}

// Buttons that put one of them into a field. `use(text)` is called for the one that is chosen.
export class ExampleButtons {
  constructor({ use }) {
    this.use = use;
    this.offered = new Set();
    this.row = element("div", { class: "tries" });
    this.label = element("span", { class: "hint" });
    this.element = element(
      "div",
      { class: "try", role: "group", "aria-label": "Examples" },
      this.label,
      this.row,
    );
  }

  show({ texts, isOwn }) {
    texts.forEach((text) => this.offered.add(text));
    this.label.textContent = isOwn ? "Examples from the model’s own data:" : "Example:";
    this.row.replaceChildren(
      ...texts.map((text) =>
        button(text.replace("\t", " | "), { class: "try-one", onclick: () => this.use(text) }),
      ),
    );
    this.element.hidden = texts.length === 0;
  }

  // Whether nobody typed this: then another model's example may replace it.
  isOurs(text) {
    return !text.trim() || this.offered.has(text);
  }
}
