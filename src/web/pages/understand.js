// What encoders know: words that are left out, classes of texts, and which texts are alike.
import { postJson } from "../api.js";
import { element } from "../dom.js";
import { AttentionView } from "../parts/attention.js";
import {
  bar,
  button,
  card,
  lineField,
  modelPicker,
  segments,
  table,
  tableBehind,
  textField,
} from "../parts/controls.js";
import { HeatMap } from "../parts/heat_map.js";
import { Job } from "../parts/job.js";
import { Notice } from "../parts/states.js";

export const about = {
  id: "understand",
  title: "Understand",
  abilities: ["fill", "classify", "embed"],
  wants: "model that understands texts",
  lead: "Fill gaps, sort texts into classes, and see which ones mean the same.",
  start: {
    text: "Start the server with an encoder such as BERT, or a classifier that heed train made:",
    command: "heed serve --model bert=models/bert",
  },
};

const kShownWords = 6;
const percent = (share) => `${(100 * share).toFixed(share < 0.1 ? 1 : 0)}%`;
const linesOf = (text) =>
  text
    .split("\n")
    .map((line) => line.trim())
    .filter(Boolean);

// What the three have in common: a model, an input, a button, an answer or an error, and attention.
class Task {
  constructor({ models, fields, action, work }) {
    this.picker = modelPicker(models, () => this.modelChanged());
    this.answer = element("div", { class: "answer", "aria-live": "polite" });
    this.notice = new Notice(fields);
    this.go = button(action, { class: "primary", onclick: () => this.start() });
    this.job = new Job({
      notice: this.notice,
      busy: (busy) => this.answer.classList.toggle("waiting", busy),
    });
    this.work = work;
  }

  modelChanged() {
    this.answer.replaceChildren();
  }

  start() {
    return this.job.run((signal) => this.work(signal));
  }

  lay(title, ...content) {
    return card(title, this.picker.element, ...content, this.notice.element, this.answer);
  }
}

// --- Gaps

function fillView(models) {
  const text = textField({ label: "Text with gaps", rows: 3 });
  const task = new Task({ models, fields: { text: text.input }, action: "Fill the gaps", work });
  const maskOf = () => task.picker.model.mask ?? "[MASK]";
  text.input.value = `The ${maskOf()} of France is Paris, and the ${maskOf()} is warm there.`;
  const addGap = () => {
    text.input.setRangeText(maskOf(), text.input.selectionStart, text.input.selectionEnd, "end");
    text.input.focus();
  };

  async function work(signal) {
    const { masks } = await postJson(
      "v1/fill",
      { model: task.picker.model.id, text: text.value, top: kShownWords },
      { signal },
    );
    task.answer.replaceChildren(
      ...masks.map((words, i) =>
        element(
          "div",
          { class: "gap-words" },
          element("h3", {}, masks.length > 1 ? `Gap ${i + 1}` : "The gap"),
          element(
            "ul",
            { class: "ranked" },
            words.map(({ word, probability }) =>
              element(
                "li",
                {},
                button(word, {
                  class: "alternative",
                  title: "Put it into the gap",
                  onclick: () => put(i, word),
                }),
                bar(probability, percent(probability)),
              ),
            ),
          ),
        ),
      ),
    );
  }

  // Other gaps stay, and their words follow the new text.
  function put(gap, word) {
    let at = -1;
    for (let i = 0; i <= gap; ++i) at = text.value.indexOf(maskOf(), at + 1);
    if (at < 0) return;
    text.input.value = text.value.slice(0, at) + word + text.value.slice(at + maskOf().length);
    if (text.value.includes(maskOf())) task.start();
    else task.answer.replaceChildren(element("p", { class: "hint" }, "All gaps are filled."));
  }

  const made = task.lay(
    "Fill gaps",
    text.element,
    element("div", { class: "row" }, task.go, button("Add a gap", { onclick: addGap })),
  );
  return { element: made, task, text: () => text.value };
}

// --- Classes

function classResult(text, result) {
  if (result.scores) {
    const sorted = [...result.scores].sort((a, b) => b.score - a.score);
    return element(
      "div",
      { class: "gap-words" },
      element("h3", {}, element("q", {}, text), " ", element("strong", { class: "badge" }, result.label)),
      element(
        "ul",
        { class: "ranked" },
        sorted.map(({ label, score }) =>
          element("li", {}, element("span", { class: "alternative" }, label), bar(score, percent(score))),
        ),
      ),
    );
  }
  return element(
    "div",
    { class: "gap-words" },
    element(
      "h3",
      {},
      element("q", {}, text),
      " ",
      element("strong", { class: "badge" }, result.score.toFixed(2)),
    ),
  );
}

function classifyView(models) {
  const text = textField({
    label: "Texts, one per line",
    rows: 4,
    value: "A warm and funny film that I will watch again.\nTwo hours that felt like ten.",
  });
  const pair = lineField({
    label: "Second text",
    hint: "Only for models that judge two texts together.",
    placeholder: "none",
  });
  const task = new Task({
    models,
    fields: { text: text.input, texts: text.input, pair: pair.input },
    action: "Classify",
    work: async (signal) => {
      const texts = linesOf(text.value);
      const { results } = await postJson(
        "v1/classify",
        {
          model: task.picker.model.id,
          texts,
          ...(!pair.element.hidden && pair.value.trim() && { pair: pair.value.trim() }),
        },
        { signal },
      );
      task.answer.replaceChildren(...results.map((result, i) => classResult(texts[i], result)));
    },
  });
  // Models may say whether they judge pairs; those that do not say are left the choice.
  const showPair = () => {
    pair.element.hidden = task.picker.model.pairs === false;
  };
  task.modelChanged = () => {
    task.answer.replaceChildren();
    showPair();
  };
  showPair();
  const made = task.lay("Classify", text.element, pair.element, element("div", { class: "row" }, task.go));
  return { element: made, task, text: () => linesOf(text.value)[0] ?? "" };
}

// --- Likeness

function cosine(a, b) {
  let both = 0,
    one = 0,
    other = 0;
  a.forEach((x, i) => {
    both += x * b[i];
    one += x * x;
    other += b[i] * b[i];
  });
  return both / (Math.sqrt(one * other) || 1);
}

function embedView(models) {
  const text = textField({
    label: "Texts, one per line",
    rows: 6,
    value:
      "The cat sleeps on the sofa.\nA kitten is napping on the couch.\nStocks fell sharply on Monday.\n" +
      "The market lost three percent.\nHow do I bake bread at home?",
  });
  const heat = new HeatMap({
    name: "Cosine similarity of the texts",
    format: (value) => value.toFixed(3),
    words: 320,
  });

  function pairsOf(lines, values) {
    const pairs = [];
    for (let i = 0; i < lines.length; ++i) {
      for (let j = i + 1; j < lines.length; ++j) pairs.push({ i, j, value: values[i * lines.length + j] });
    }
    return pairs.sort((a, b) => b.value - a.value);
  }

  const task = new Task({
    models,
    fields: { input: text.input },
    action: "Compare",
    work: async (signal) => {
      const lines = linesOf(text.value);
      const { data } = await postJson(
        "v1/embeddings",
        { model: task.picker.model.id, input: lines },
        { signal },
      );
      const vectors = [...data].sort((a, b) => a.index - b.index).map((one) => one.embedding);
      const values = Float32Array.from({ length: lines.length ** 2 }, (_, i) =>
        cosine(vectors[Math.floor(i / lines.length)], vectors[i % lines.length]),
      );
      const pairs = pairsOf(lines, values);
      const low = pairs.length > 0 ? Math.max(-1, pairs.at(-1).value - 0.05) : 0;
      task.answer.replaceChildren(
        heat.element,
        element("p", { class: "hint" }, `Colours run from ${low.toFixed(2)} to 1.`),
        element("h3", {}, "Most alike"),
        element(
          "ul",
          { class: "pairs" },
          pairs
            .slice(0, 3)
            .map(({ i, j, value }) =>
              element(
                "li",
                {},
                element("strong", {}, value.toFixed(3)),
                " ",
                element("q", {}, lines[i]),
                " and ",
                element("q", {}, lines[j]),
              ),
            ),
        ),
        tableBehind("As a table", () =>
          table(
            ["", ...lines],
            lines.map((line, i) => [line, ...lines.map((_, j) => values[i * lines.length + j].toFixed(3))]),
            "Cosine similarity",
          ),
        ),
      );
      heat.show({ values, rows: lines, columns: lines, low, high: 1 });
    },
  });
  const made = task.lay("Compare", text.element, element("div", { class: "row" }, task.go));
  return { element: made, task, text: () => linesOf(text.value)[0] ?? "" };
}

// --- Together

export const make = (studio) => {
  const kMakers = [
    ["fill", "Fill gaps", fillView],
    ["classify", "Classify", classifyView],
    ["embed", "Compare", embedView],
  ];
  const views = new Map(
    kMakers
      .filter(([ability]) => studio.withAbility(ability).length > 0)
      .map(([ability, name, view]) => [ability, { name, ...view(studio.withAbility(ability)) }]),
  );
  const place = element("div", {});
  const attention = new AttentionView({ names: { source: "token", target: "token" }, view: "heat" });
  const notice = new Notice();
  const looking = new Job({ notice });
  let chosen = [...views.keys()][0];

  const look = () =>
    looking.run(async (signal) => {
      const { task, text } = views.get(chosen);
      attention.show(
        await postJson("v1/attention", { model: task.picker.model.id, text: text() }, { signal }),
      );
    });
  const attentionCard = card(
    "Attention",
    element("p", { class: "hint" }, "How much every token of the text looks at all others."),
    button("Show the attention of the text", { onclick: look }),
    notice.element,
    attention.element,
  );
  const show = (ability) => {
    chosen = ability;
    looking.stop();
    attention.clear();
    notice.clear();
    const { element: made, task } = views.get(ability);
    place.replaceChildren(made);
    attentionCard.hidden = !task.picker.model.abilities.includes("attention");
  };
  for (const { task } of views.values()) {
    const changed = task.modelChanged.bind(task);
    task.modelChanged = () => {
      changed();
      show(chosen);
    };
  }
  const tabs = segments({
    label: "Task",
    options: [...views].map(([ability, { name }]) => [ability, name]),
    value: chosen,
    onchange: show,
  });
  show(chosen);
  return {
    element: element(
      "div",
      { class: "stack" },
      element("div", { class: "row" }, tabs.element),
      place,
      attentionCard,
    ),
    useModel: (id) => {
      const able = [...views].filter(([ability]) =>
        studio.withAbility(ability).some((model) => model.id === id),
      );
      if (able.length === 0) return;
      able.forEach(([, { task }]) => task.picker.use(id));
      tabs.choose(able[0][0]);
    },
  };
};
