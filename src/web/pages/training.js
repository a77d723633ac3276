// A run as it trains: curves, speed, and what the model made of examples.
import { getJson } from "../api.js";
import { element } from "../dom.js";
import { card, choice } from "../parts/controls.js";
import { LineChart, niceNumber } from "../parts/line_chart.js";
import { Notice } from "../parts/states.js";

export const about = {
  id: "training",
  title: "Training",
  abilities: [],
  wants: "run to follow",
  lead: "Follows a run while it trains.",
  start: {
    text: "Tell the server which run to follow, while heed train works on it or afterwards:",
    command: "heed serve --run runs/multi30k",
  },
};

const kEvery = 2000; // milliseconds
const kShownExamples = 5;

const pointsOf = (rows, name) =>
  rows.map((row) => ({ x: row.step, y: row[name] })).filter((point) => typeof point.y === "number");

class TrainingPage {
  constructor(studio) {
    this.run = choice({
      label: "Run",
      options: studio.runs.map((run) => [run.name, run.name]),
      value: studio.runs[0].name,
      onchange: () => this.#look(),
    });
    this.notice = new Notice();
    this.facts = element("dl", { class: "facts" });
    this.state = element("strong", { class: "badge" });
    this.loss = new LineChart({ title: "Loss" });
    this.metric = new LineChart({ title: "Validation score" });
    this.rate = new LineChart({ title: "Learning rate" });
    this.speed = new LineChart({ title: "Tokens per second", fromZero: true });
    this.examples = element("ul", { class: "examples" });
    this.examplesCard = card("Examples", this.examples);
    this.element = element(
      "div",
      { class: "stack" },
      element(
        "section",
        { class: "card", "aria-label": "Run" },
        element("div", { class: "bar-row" }, this.run.element, this.state),
        this.notice.element,
        this.facts,
      ),
      element(
        "div",
        { class: "charts" },
        ...[this.loss, this.metric, this.rate, this.speed].map((chart) =>
          element("section", { class: "card", "aria-label": chart.title }, chart.element),
        ),
      ),
      this.examplesCard,
    );
  }

  shown() {
    this.isShown = true;
    this.#look();
  }

  hidden() {
    this.isShown = false;
    clearTimeout(this.timer);
  }

  // Asks again after each answer, not by the clock, so that a slow server is not asked twice at once.
  async #look() {
    clearTimeout(this.timer);
    const name = this.run.value;
    let isTraining = true;
    try {
      const run = await getJson(`v1/runs/${encodeURIComponent(name)}`);
      if (name !== this.run.value) return;
      this.notice.clear();
      this.#show(run);
      isTraining = run.state !== "finished";
    } catch (error) {
      this.notice.show(error);
    }
    if (this.isShown && isTraining) {
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.#look(), kEvery);
    }
  }

  #show({ task, step, state, metrics, validation }) {
    this.state.textContent = state;
    this.state.classList.toggle("good", state === "training");
    const last = metrics.at(-1) ?? {},
      lastValidation = validation.at(-1);
    const facts = [
      ["Task", task],
      ["Step", `${step}`],
      ["Epoch", last.epoch !== undefined && niceNumber(last.epoch)],
      ["Loss", last.loss !== undefined && niceNumber(last.loss)],
      ["Validation loss", lastValidation?.loss !== undefined && niceNumber(lastValidation.loss)],
      [lastValidation?.metric, lastValidation?.value !== undefined && niceNumber(lastValidation.value)],
      ["Tokens per second", last.tokens_per_second && niceNumber(Math.round(last.tokens_per_second))],
    ];
    this.facts.replaceChildren(
      ...facts
        .filter(([name, value]) => name && value)
        .map(([name, value]) => element("div", {}, element("dt", {}, name), element("dd", {}, value))),
    );
    this.loss.show([
      { name: "training", colour: "--series-1", points: pointsOf(metrics, "loss") },
      { name: "validation", colour: "--series-2", points: pointsOf(validation, "loss"), dots: true },
    ]);
    this.#showOptional(
      this.metric,
      lastValidation?.metric ?? "score",
      "--series-3",
      pointsOf(validation, "value"),
      true,
    );
    this.#showOptional(this.rate, "learning rate", "--series-4", pointsOf(metrics, "rate"));
    this.#showOptional(this.speed, "tokens per second", "--series-1", pointsOf(metrics, "tokens_per_second"));
    const told = validation
      .filter((row) => row.example)
      .slice(-kShownExamples)
      .reverse();
    this.examplesCard.hidden = told.length === 0;
    this.examples.replaceChildren(
      ...told.map((row) =>
        element("li", {}, element("span", { class: "when" }, `step ${row.step}`), this.#example(row.example)),
      ),
    );
  }

  #showOptional(chart, name, colour, points, dots = false) {
    chart.element.parentElement.hidden = points.length === 0;
    chart.show([{ name, colour, points, dots }]);
  }

  // Text, or named texts such as {source, output, reference}.
  #example(example) {
    if (typeof example === "string") return element("p", {}, example);
    return element(
      "dl",
      { class: "example" },
      Object.entries(example).flatMap(([name, text]) => [
        element("dt", {}, name),
        element("dd", {}, `${text}`),
      ]),
    );
  }
}

export const make = (studio) => {
  const page = new TrainingPage(studio);
  return { element: page.element, shown: () => page.shown(), hidden: () => page.hidden() };
};
