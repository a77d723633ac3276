// What is here: the models and what they can do, the server's state, and what else there could be.
import { getJson, getText } from "../api.js";
import { element } from "../dom.js";
import { icon } from "../icons.js";
import { card, table, tableBehind } from "../parts/controls.js";
import { niceNumber } from "../parts/line_chart.js";
import { Notice } from "../parts/states.js";
import { readMetrics, summary } from "../prometheus.js";

export const about = {
  id: "overview",
  title: "Overview",
  abilities: [],
  lead: "Self-attention models that run here, and what each can do.",
};

const kEvery = 5000; // milliseconds
const kAbilityPages = {
  translate: "translate",
  complete: "complete",
  fill: "understand",
  classify: "understand",
  embed: "understand",
  music: "music",
  image: "images",
};
const kAbilityNames = {
  translate: "translates",
  complete: "completes texts",
  fill: "fills gaps",
  classify: "classifies",
  embed: "compares texts",
  music: "continues music",
  accompany: "accompanies",
  image: "draws images",
  attention: "shows its attention",
};

function factsOf(model) {
  const { rows, columns, channels } = model;
  return [
    ["kind", model.kind],
    ["languages", model.source && model.target && `${model.source} → ${model.target}`],
    ["context", model.context && `${niceNumber(model.context)} tokens`],
    ["vocabulary", model.vocabulary && niceNumber(model.vocabulary)],
    ["parameters", model.parameters && niceNumber(model.parameters)],
    ["numbers", model.dtype],
    ["images", rows && `${columns} × ${rows}, ${channels === 1 ? "grey" : "colour"}`],
    ["classes", model.classes?.length],
    ["labels", model.labels?.join(", ")],
    ["music", model.form],
  ].filter(([, value]) => value);
}

function modelCard(model) {
  const pages = model.abilities.map((ability) =>
    element(
      "li",
      {},
      kAbilityPages[ability]
        ? element(
            "a",
            { class: "ability", href: `#/${kAbilityPages[ability]}?model=${encodeURIComponent(model.id)}` },
            icon(kAbilityPages[ability]),
            kAbilityNames[ability],
          )
        : element("span", { class: "ability" }, kAbilityNames[ability] ?? ability),
    ),
  );
  return element(
    "li",
    { class: "card model-card" },
    element("h3", {}, model.id),
    element(
      "dl",
      { class: "facts small" },
      factsOf(model).map(([name, value]) =>
        element("div", {}, element("dt", {}, name), element("dd", {}, `${value}`)),
      ),
    ),
    element("ul", { class: "abilities" }, pages),
  );
}

const missingPage = (page) =>
  element(
    "li",
    {},
    element("a", { href: `#/${page.id}` }, icon(page.id), element("strong", {}, page.title)),
    element("span", { class: "hint" }, page.start.command),
  );

class OverviewPage {
  constructor(studio) {
    this.notice = new Notice();
    this.facts = element("dl", { class: "facts" });
    this.families = [];
    this.metrics = tableBehind("All metrics", () =>
      table(
        ["metric", "value"],
        this.families.map((family) => [family.help || family.name, niceNumber(summary(family))]),
      ),
    );
    const missing = studio.pages.filter((page) => !studio.isUseful(page.id));
    this.element = element(
      "div",
      { class: "stack" },
      card("Server", this.notice.element, this.facts, this.metrics),
      element(
        "section",
        { "aria-labelledby": "models-title" },
        element("h2", { id: "models-title", class: "free" }, "Models"),
        studio.models.length > 0
          ? element("ul", { class: "models" }, studio.models.map(modelCard))
          : element(
              "p",
              { class: "card empty" },
              "No model is served. Start the server with one: heed serve --model NAME=FOLDER",
            ),
      ),
      missing.length > 0 &&
        card("What else could be here", element("ul", { class: "missing" }, missing.map(missingPage))),
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

  async #look() {
    clearTimeout(this.timer);
    try {
      const [health, text] = await Promise.all([getJson("health"), getText("metrics")]);
      this.notice.clear();
      this.families = readMetrics(text);
      this.#show(health);
    } catch (error) {
      this.notice.show(error);
    }
    if (this.isShown) this.timer = setTimeout(() => this.#look(), kEvery);
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
      this.#about("Requests", ["requests", "total"]),
      this.#about("Tokens made", ["tokens", "total"]),
      this.#about("Waiting", ["queue"]),
      this.#about("Slots busy", ["slots", "busy"]),
      this.#about("Memory", ["resident"], (bytes) => `${niceNumber(Math.round(bytes / 1e6))} MB`),
    ];
    this.facts.replaceChildren(
      ...facts
        .filter(Boolean)
        .map(([name, value]) => element("div", {}, element("dt", {}, name), element("dd", {}, value))),
    );
    if (!this.metrics.contains(document.activeElement)) this.metrics.ontoggle();
  }
}

export const make = (studio) => {
  const page = new OverviewPage(studio);
  return { element: page.element, shown: () => page.shown(), hidden: () => page.hidden() };
};
