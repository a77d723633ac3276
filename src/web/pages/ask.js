// Questions about stories: the answers, and which sentences each hop or layer looks at.
import { postJson } from "../api.js";
import { element } from "../dom.js";
import { bar, button, card, modelPicker, table, tableBehind, textField } from "../parts/controls.js";
import { ExampleButtons, examplesOf } from "../parts/examples.js";
import { HeatMap } from "../parts/heat_map.js";
import { Job } from "../parts/job.js";
import { Notice } from "../parts/states.js";

export const about = {
  id: "ask",
  title: "Ask",
  abilities: ["answer"],
  wants: "model that answers questions",
  lead: "Tell a short story, ask a question about it, and see which sentences the answer comes from.",
  start: {
    text: "Start the server with a model that heed train has taught to answer questions about stories:",
    command: "heed serve --model babi=runs/babi-universal",
  },
};

const percent = (share) => `${(100 * share).toFixed(share < 0.1 ? 1 : 0)}%`;

// A line that ends with a question mark is a question; the others are facts.
function readStory(text) {
  const lines = text
    .split("\n")
    .map((line) => line.trim())
    .filter(Boolean);
  const isQuestion = (line) => line.endsWith("?");
  return { facts: lines.filter((line) => !isQuestion(line)), question: lines.filter(isQuestion).at(-1) };
}

// The shares of all sentences as one matrix: a row per sentence, a column per hop or layer.
function sharesOf({ facts, question }, { attention }) {
  const seesQuestion = attention.some((look) => look.question > 0);
  const rows = seesQuestion ? [...facts, question] : facts;
  const name = seesQuestion ? "layer" : "hop";
  const columns = attention.map((look) => `${name} ${look.layer + 1}`);
  const values = rows.flatMap((_, row) => attention.map((look) => look.facts[row] ?? look.question));
  return { rows, columns, values: Float32Array.from(values) };
}

function ponderTable({ facts, question }, { pondering }) {
  const rows = [...facts.map((fact, i) => [fact, pondering.facts[i]]), [question, pondering.question]];
  return table(["Sentence", "Steps"], rows, "Steps that each sentence was thought about");
}

export const make = (studio) => {
  const text = textField({
    label: "A story and a question",
    hint: "One sentence per line; the question ends with a question mark.",
    rows: 8,
  });
  const picker = modelPicker(studio.withAbility("answer"), () => showExamples());
  const answer = element("div", { class: "answer", "aria-live": "polite" });
  const notice = new Notice({ facts: text.input, question: text.input });
  const heat = new HeatMap({ name: "Attention to the sentences", format: percent, words: 360 });
  const job = new Job({
    notice,
    busy: (busy) => answer.classList.toggle("waiting", busy),
    failed: () => answer.replaceChildren(),
  });

  function showResult(story, result) {
    answer.replaceChildren(
      element(
        "h3",
        {},
        element("q", {}, story.question),
        " ",
        element("strong", { class: "badge" }, result.answer),
      ),
      element(
        "ul",
        { class: "ranked" },
        result.answers.map(({ answer: text, probability }) =>
          element("li", {}, element("span", { class: "alternative" }, text), bar(probability, percent(probability))),
        ),
      ),
    );
    if (story.facts.length > 0) {
      const shares = sharesOf(story, result);
      answer.append(
        element("h3", {}, "Where it looks"),
        heat.element,
        tableBehind("As a table", () =>
          table(
            ["Sentence", ...shares.columns],
            shares.rows.map((row, i) => [
              row,
              ...shares.columns.map((_, j) => percent(shares.values[i * shares.columns.length + j])),
            ]),
            "Attention to the sentences",
          ),
        ),
      );
      heat.show({ ...shares, low: 0, high: 1 });
    }
    if (result.pondering)
      answer.append(tableBehind("How long each sentence was thought about", () => ponderTable(story, result)));
  }

  const start = () =>
    job.run(async (signal) => {
      const story = readStory(text.value);
      const { results } = await postJson(
        "v1/answer",
        { model: picker.model.id, facts: story.facts, question: story.question ?? "", attention: true },
        { signal },
      );
      showResult(story, results[0]);
    });
  const show = (example) => {
    text.input.value = example;
    job.stop();
    answer.replaceChildren();
  };
  const examples = new ExampleButtons({
    use: (example) => {
      show(example);
      start();
    },
  });
  function showExamples() {
    const offered = examplesOf(picker.model, "answer");
    if (examples.isOurs(text.value)) show(offered.texts[0] ?? "");
    examples.show(offered);
  }
  text.input.addEventListener("input", () => {
    job.stop();
    answer.replaceChildren();
  });
  showExamples();
  return {
    element: card(
      "Story",
      picker.element,
      text.element,
      element("div", { class: "row" }, button("Answer", { class: "primary", onclick: start })),
      examples.element,
      notice.element,
      answer,
    ),
    use: ({ model: id, text: wanted }) => {
      picker.use(id);
      showExamples();
      if (wanted) show(wanted);
    },
  };
};
