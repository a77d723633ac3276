// A run as it trains: curves, speed, and examples of what the model produces.
import { getJson } from "../api.js";
import { element } from "../dom.js";
import { card, choice } from "../parts/controls.js";
import { LineChart, niceNumber } from "../parts/line_chart.js";
import { metricName } from "../parts/metric_names.js";
import { Poll } from "../parts/poll.js";
import { Notice } from "../parts/states.js";

export const about = {
  id: "training",
  title: "Training",
  wants: "training run",
  lead: "Follow a run while it trains.",
  isUseful: ({ runs }) => runs.length > 0,
  start: {
    text: "Tell the server which run to follow, while heed train is working on it or afterwards:",
    command: "heed serve --run runs/multi30k",
  },
};

const kEvery = 2000; // milliseconds
const kShownExamples = 5;
const kManyPoints = 30; // from here on a smoothed curve says more than the points do
const kWindow = 12; // points on each side that a smoothed one is the mean of, at most

const kTasks = {
  translate: "Translation",
  translate_parallel: "Parallel translation",
  translate_blockwise: "Blockwise translation",
  translate_latent: "Translation through latents",
  language: "Language model",
  deep_language: "Deep character model",
  masked: "Masked language model",
  classify: "Classification",
  similarity: "Similarity",
  summarise: "Summarisation",
  questions: "Questions about stories",
  music: "Music",
  accompany: "Accompaniment",
  algorithm: "Algorithm",
  image: "Images",
};
// What people quote for a task whose score is its loss.
const kFromLoss = {
  language: { metric: "perplexity", of: Math.exp },
  deep_language: { metric: "bits_per_character", of: (loss) => loss / Math.LN2 },
  summarise: { metric: "perplexity", of: Math.exp },
  image: { metric: "bits_per_dimension", of: (loss) => loss / Math.LN2 },
};

const pointsOf = (rows, name) =>
  rows.map((row) => ({ x: row.step, y: row[name] })).filter((point) => typeof point.y === "number");

// The mean of as many points on both sides, so that the curve does not lag behind.
function smoothed(points) {
  return points.map(({ x }, i) => {
    const side = Math.min(kWindow, i, points.length - 1 - i);
    const near = points.slice(i - side, i + side + 1);
    return { x, y: near.reduce((sum, point) => sum + point.y, 0) / near.length };
  });
}

function withMetric(task, row) {
  if (row.metric || !kFromLoss[task] || typeof row.loss !== "number") return row;
  const { metric, of } = kFromLoss[task];
  return { ...row, metric, value: of(row.loss) };
}

class TrainingPage {
  constructor(studio) {
    this.run = choice({
      label: "Run",
      options: studio.runs.map((run) => [run.name, run.name]),
      value: studio.runs[0].name,
      onchange: () => this.poll.now(),
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
    this.poll = new Poll({ every: kEvery, look: () => this.#look() });
  }

  // False once there is nothing more to come.
  async #look() {
    const name = this.run.value;
    try {
      const run = await getJson(`v1/runs/${encodeURIComponent(name)}`);
      if (name !== this.run.value) return true;
      this.notice.clear();
      this.#show(run);
      return run.state !== "finished";
    } catch (error) {
      this.notice.show(error);
      return true;
    }
  }

  #show(run) {
    const { task, state, metrics } = run;
    const validation = run.validation.map((row) => withMetric(task, row));
    this.state.textContent = state;
    this.state.classList.toggle("good", state === "training");
    this.#showFacts(run, metrics.at(-1) ?? {}, validation.at(-1));
    this.#showLoss(run, validation);
    const score = validation.at(-1)?.metric;
    this.metric.rename(score ? metricName(score) : "Validation score");
    this.#showOptional(this.metric, "validation", "--series-3", pointsOf(validation, "value"), true);
    this.#showOptional(this.rate, "learning rate", "--series-4", pointsOf(metrics, "rate"));
    this.#showOptional(this.speed, "tokens per second", "--series-1", pointsOf(metrics, "tokens_per_second"));
    this.#showExamples(validation);
  }

  #showFacts({ task, step }, last, lastValidation) {
    const facts = [
      ["Task", kTasks[task] ?? task],
      ["Step", `${step}`],
      ["Epoch", last.epoch !== undefined && niceNumber(last.epoch)],
      ["Training loss", typeof last.loss === "number" && niceNumber(last.loss)],
      ["Validation loss", typeof lastValidation?.loss === "number" && niceNumber(lastValidation.loss)],
      [
        metricName(lastValidation?.metric),
        lastValidation?.value !== undefined && niceNumber(lastValidation.value),
      ],
      ["Tokens per second", last.tokens_per_second && niceNumber(Math.round(last.tokens_per_second))],
    ];
    this.facts.replaceChildren(
      ...facts
        .filter(([name, value]) => name && value)
        .map(([name, value]) => element("div", {}, element("dt", {}, name), element("dd", {}, value))),
    );
  }

  #showLoss({ metrics, label_smoothing: labels }, validation) {
    const points = pointsOf(metrics, "loss");
    const isNoisy = points.length >= kManyPoints;
    this.loss.show([
      {
        name: isNoisy ? "training, as logged" : "training",
        colour: "--series-1",
        points,
        isFaint: isNoisy,
      },
      ...(isNoisy
        ? [{ name: "training, moving average", colour: "--series-1", points: smoothed(points) }]
        : []),
      { name: "validation", colour: "--series-2", points: pointsOf(validation, "loss"), dots: true },
    ]);
    this.loss.note(
      labels > 0 && validation.length > 0
        ? `The training loss includes label smoothing (${niceNumber(labels)}) and dropout; the validation loss has neither, so it may be the lower one.`
        : "",
    );
  }

  #showExamples(validation) {
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
    if (typeof example === "string") return element("p", {}, example.replace(" -> ", " → "));
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
  return { element: page.element, shown: () => page.poll.start(), hidden: () => page.poll.stop() };
};
