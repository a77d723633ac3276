// What is here: the models, what they do and how fast, the server's state, and what else there could be.
import { getJson, getText } from "../api.js";
import { element } from "../dom.js";
import { icon } from "../icons.js";
import { card, table, tableBehind } from "../parts/controls.js";
import { niceNumber } from "../parts/line_chart.js";
import { tasksOf } from "../parts/model_tasks.js";
import { Poll } from "../parts/poll.js";
import { Notice } from "../parts/states.js";
import { readMetrics, summary, valueOf } from "../prometheus.js";

export const about = {
  id: "overview",
  title: "Overview",
  lead: "The models on this server, and how it is doing.",
  isUseful: () => true,
};

const kEvery = 5000; // milliseconds

function factsOf(model) {
  const { rows, columns, channels } = model;
  return [
    ["Architecture", model.kind],
    ["Size", model.parameters && `${niceNumber(model.parameters)} parameters`],
    ["Context", model.context && `${niceNumber(model.context)} tokens`],
    ["Vocabulary", model.vocabulary && `${niceNumber(model.vocabulary)} tokens`],
    ["Images", rows && `${columns} × ${rows}, ${channels === 1 ? "grey" : "colour"}`],
    ["Classes", model.classes?.length],
  ].filter(([, value]) => value);
}

const fact = (name, value) => element("div", {}, element("dt", {}, name), element("dd", {}, value));

const withoutPage = ({ abilities }) =>
  abilities.includes("accompany")
    ? "Accompanies a melody. The studio has no page for it; send melodies to /v1/music/accompany."
    : "The studio has no page for this model.";

class ModelCard {
  constructor(model) {
    this.model = model;
    this.speed = element("dd", {}, "not used yet");
    const tasks = tasksOf(model);
    const [first, ...others] = tasks;
    this.element = element(
      "li",
      { class: "card model-card" },
      element("h3", {}, first && icon(first.page), model.id),
      element("p", {}, tasks.map(({ does }) => does).join(" ") || withoutPage(model)),
      first?.example && element("q", { class: "sample" }, first.example.replace("\t", " | ")),
      element(
        "dl",
        { class: "facts small" },
        factsOf(model).map(([name, value]) => fact(name, `${value}`)),
        element("div", {}, element("dt", {}, "Speed"), this.speed),
      ),
      first &&
        element(
          "div",
          { class: "row actions" },
          element(
            "a",
            { class: "button primary", href: first.href, "aria-label": `Try it: ${model.id}` },
            "Try it",
          ),
          others.map(({ can, href }) => element("a", { class: "ability", href }, can)),
        ),
    );
  }

  // Tokens that it read and generated, by the time it worked.
  show(families) {
    const total = (name) => valueOf(families, name, { model: this.model.id }) ?? 0;
    const tokens = total("heed_prompt_tokens_total") + total("heed_generated_tokens_total");
    const seconds = total("heed_turn_seconds_total");
    this.speed.textContent =
      tokens > 0 && seconds > 0
        ? `${niceNumber(Math.round(tokens / seconds))} tokens per second`
        : "not used yet";
  }
}

const missingPage = (page) =>
  element(
    "li",
    {},
    element("a", { href: `#/${page.id}` }, icon(page.id), element("strong", {}, page.title)),
    element("code", { class: "hint" }, page.start.command),
  );

class OverviewPage {
  constructor(studio) {
    this.notice = new Notice();
    this.facts = element("dl", { class: "facts" });
    this.families = [];
    this.cards = studio.models.map((model) => new ModelCard(model));
    this.metrics = tableBehind("All metrics", () =>
      table(
        ["metric", "value"],
        this.families.map((family) => [family.help || family.name, niceNumber(summary(family))]),
      ),
    );
    const missing = studio.pages.filter((page) => !studio.isUseful(page));
    this.element = element(
      "div",
      { class: "stack" },
      element(
        "section",
        { "aria-labelledby": "models-title" },
        element("h2", { id: "models-title", class: "free" }, "Models"),
        this.cards.length > 0
          ? element(
              "ul",
              { class: "models" },
              this.cards.map((one) => one.element),
            )
          : element(
              "p",
              { class: "card empty" },
              "This server has no models. Start it with one: ",
              element("code", {}, "heed serve --model NAME=FOLDER"),
            ),
      ),
      card("Server", this.notice.element, this.facts, this.metrics),
      missing.length > 0 &&
        card("What else could be here", element("ul", { class: "missing" }, missing.map(missingPage))),
    );
    this.poll = new Poll({ every: kEvery, look: () => this.#look() });
  }

  async #look() {
    try {
      const [health, text] = await Promise.all([getJson("health"), getText("metrics")]);
      this.notice.clear();
      this.families = readMetrics(text);
      this.#show(health);
    } catch (error) {
      this.notice.show(error);
    }
  }

  // The first family whose name has all these words.
  #about(name, words, format = niceNumber) {
    const family = this.families.find((one) => words.every((word) => one.name.includes(word)));
    return family ? [name, format(summary(family))] : null;
  }

  #show(health) {
    const facts = [
      ["Status", health.status],
      ["Models", `${health.models}`],
      this.#about("Requests", ["jobs", "total"]),
      this.#about("Tokens generated", ["generated", "tokens"]),
      this.#about("Waiting requests", ["queued"]),
      this.#about("Busy slots", ["slots", "busy"]),
      this.#about("Memory", ["resident"], (bytes) => `${niceNumber(Math.round(bytes / 1e6))} MB`),
    ];
    this.facts.replaceChildren(...facts.filter(Boolean).map(([name, value]) => fact(name, value)));
    this.cards.forEach((one) => one.show(this.families));
    if (!this.metrics.contains(document.activeElement)) this.metrics.ontoggle();
  }
}

export const make = (studio) => {
  const page = new OverviewPage(studio);
  return { element: page.element, shown: () => page.poll.start(), hidden: () => page.poll.stop() };
};
