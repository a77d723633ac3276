// What encoders can do: fill gaps, classify texts, and compare them.
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
import { ExampleButtons, examplesOf } from "../parts/examples.js";
import { HeatMap } from "../parts/heat_map.js";
import { Job } from "../parts/job.js";
import { Notice } from "../parts/states.js";

export const about = {
  id: "understand",
  title: "Understand",
  abilities: ["fill", "classify", "embed"],
  wants: "text encoder",
  lead: "Fill gaps in a text, classify texts, and compare what they mean.",
  start: {
    text: "Start the server with an encoder such as BERT, or with a classifier that heed train has trained:",
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

// What the three have in common: a model, an input with examples, a button, an answer or an error, and
// attention. An answer to another text goes away when the text changes, and `changed` is told.
class Task {
  // `use(example)` and `first(examples)` write what the field shows: an example that was chosen, and what
  // stands there at the beginning.
  constructor({
    ability,
    models,
    text,
    fields,
    action,
    work,
    use = (one) => one,
    first = ([one]) => use(one),
  }) {
    Object.assign(this, { ability, text, work, use, first });
    this.changed = () => {};
    this.modelWatchers = [];
    this.picker = modelPicker(models, () => this.modelChanged());
    this.answer = element("div", { class: "answer", "aria-live": "polite" });
    this.notice = new Notice(fields);
    this.go = button(action, { class: "primary", onclick: () => this.start() });
    this.job = new Job({
      notice: this.notice,
      busy: (busy) => this.answer.classList.toggle("waiting", busy),
      failed: () => this.answer.replaceChildren(),
    });
    this.examples = new ExampleButtons({ use: (example) => this.#try(example) });
    text.input.addEventListener("input", () => this.inputChanged());
    this.#showExamples();
  }

  show(example) {
    this.text.input.value = this.use(example);
    this.inputChanged();
  }

  #try(example) {
    this.show(example);
    this.start();
  }

  #showExamples() {
    const examples = examplesOf(this.picker.model, this.ability);
    if (this.examples.isOurs(this.text.value) || this.text.value === this.begunWith)
      this.text.input.value = this.begunWith = this.first(examples.texts);
    this.examples.show(examples);
  }

  inputChanged() {
    this.job.stop();
    this.answer.replaceChildren();
    this.changed();
  }

  modelChanged() {
    this.#showExamples();
    this.inputChanged();
    this.modelWatchers.forEach((watch) => watch());
  }

  start() {
    return this.job.run((signal) => this.work(signal));
  }

  lay(title, ...content) {
    return card(
      title,
      this.picker.element,
      ...content,
      this.examples.element,
      this.notice.element,
      this.answer,
    );
  }
}

// --- Gaps

function fillView(models) {
  const text = textField({ label: "Text with gaps", rows: 3 });
  const task = new Task({
    ability: "fill",
    models,
    text,
    fields: { text: text.input },
    action: "Fill the gaps",
    work,
  });
  const maskOf = () => task.picker.model.mask ?? "[MASK]";
  const addGap = () => {
    text.input.setRangeText(maskOf(), text.input.selectionStart, text.input.selectionEnd, "end");
    task.inputChanged();
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
          element("h3", {}, masks.length > 1 ? `Gap ${i + 1}` : "Likely words"),
          element(
            "ul",
            { class: "ranked" },
            words.map(({ word, probability }) =>
              element(
                "li",
                {},
                button(word, {
                  class: "alternative",
                  title: "Put this word into the gap",
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
    task.changed();
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
  });
  const pair = lineField({
    label: "Second text",
    hint: "Only for models that classify pairs of texts.",
    placeholder: "none",
  });
  const task = new Task({
    ability: "classify",
    models,
    text,
    // The second text of a pair stands behind a tab.
    use: (example) => {
      const [one, other = ""] = example.split("\t");
      pair.input.value = other;
      return one;
    },
    fields: { text: text.input, texts: text.input, pair: pair.input },
    action: "Classify",
    work: async (signal) => {
      const texts = linesOf(text.value);
      const model = task.picker.model.id;
      const second = pair.element.hidden ? "" : pair.value.trim();
      const { results } = await postJson(
        "v1/classify",
        second ? { model, text: text.value.trim(), pair: second } : { model, texts },
        { signal },
      );
      task.answer.replaceChildren(...results.map((result, i) => classResult(texts[i], result)));
    },
  });
  // A model's examples show whether it reads pairs; without any the choice is left to people.
  const showPair = () => {
    const { examples = [] } = task.picker.model;
    pair.element.hidden = examples.length > 0 && !examples.some((text) => text.includes("\t"));
  };
  pair.input.oninput = () => task.inputChanged();
  task.modelWatchers.push(showPair);
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
    rows: 5,
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
    ability: "embed",
    models,
    text,
    use: (example) => `${text.value.trim()}\n${example.replace("\t", "\n")}`.trim(),
    first: (examples) => examples.join("\n").replaceAll("\t", "\n"),
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
        element("p", { class: "hint" }, `Cosine similarity; colours run from ${low.toFixed(2)} to 1.`),
        element("h3", {}, "Most similar"),
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
  const attention = new AttentionView({ view: "heat" });
  const notice = new Notice();
  const looking = new Job({ notice, failed: () => attention.clear() });
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
    element(
      "p",
      { class: "hint" },
      "Each row is a token of the first text; its colours show how much it attends to every token.",
    ),
    button("Show the attention of the text", { onclick: look }),
    notice.element,
    attention.element,
  );
  const clearAttention = () => {
    looking.stop();
    attention.clear();
    notice.clear();
  };
  const show = (ability) => {
    chosen = ability;
    clearAttention();
    const { element: made, task } = views.get(ability);
    place.replaceChildren(made);
    attentionCard.hidden = !task.picker.model.abilities.includes("attention");
  };
  for (const { task } of views.values()) {
    task.changed = clearAttention;
    task.modelWatchers.push(() => show(chosen));
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
    use: ({ model: id, task: wanted, text }) => {
      const able = [...views].filter(([ability]) =>
        studio.withAbility(ability).some((model) => model.id === id),
      );
      if (able.length === 0) return;
      able.forEach(([, { task }]) => task.picker.use(id));
      const [ability, { task }] = able.find(([name]) => name === wanted) ?? able[0];
      tabs.choose(ability);
      if (text) task.show(text);
    },
  };
};
