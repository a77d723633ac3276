// The first page of a first visit: what can be done here, with the models that are here.
import { element } from "../dom.js";
import { icon } from "../icons.js";
import { card } from "../parts/controls.js";
import { tasksOf } from "../parts/model_tasks.js";

export const about = {
  id: "welcome",
  title: "Welcome",
  lead: "Heed runs self-attention models on this machine. Try them, look inside them, and watch them learn.",
  isUseful: () => true,
};

// One tile for every thing that can be done, with each model that does it.
function tilesOf(models) {
  const tiles = new Map();
  for (const model of models) {
    for (const task of tasksOf(model)) {
      if (!tiles.has(task.can)) tiles.set(task.can, { ...task, models: [] });
      tiles.get(task.can).models.push({ id: model.id, href: task.href });
    }
  }
  return [...tiles.values()];
}

const tile = ({ page, can, does, example, models }) =>
  element(
    "li",
    { class: "card tile" },
    element("h3", {}, icon(page), can),
    element("p", { class: "hint" }, does),
    example && element("q", { class: "sample" }, example.replace("\t", " | ")),
    element(
      "div",
      { class: "row actions" },
      models.map(({ id, href }) => {
        const text = models.length > 1 ? `Try ${id}` : "Try it";
        return element("a", { class: "button primary", href, "aria-label": `${text}: ${can}` }, text);
      }),
    ),
  );

const lookTile = (page, title, text, link) =>
  element(
    "li",
    { class: "card tile" },
    element("h3", {}, icon(page), title),
    element("p", { class: "hint" }, text),
    element("div", { class: "row actions" }, element("a", { class: "button", href: `#/${page}` }, link)),
  );

export const make = (studio) => {
  const tiles = tilesOf(studio.models);
  const isUseful = (id) => studio.isUseful(studio.pages.find((page) => page.id === id));
  const section = (id, title, ...content) =>
    element(
      "section",
      { "aria-labelledby": id },
      element("h2", { id, class: "free" }, title),
      element("ul", { class: "models" }, ...content),
    );
  return {
    element: element(
      "div",
      { class: "stack" },
      tiles.length > 0
        ? section("can-title", "What would you like to do?", tiles.map(tile))
        : card(
            "No models yet",
            element("p", {}, "This server has no models. Train a small translator in a minute and serve it:"),
            element(
              "pre",
              {},
              element(
                "code",
                {},
                "heed train recipes/translation/demo.toml --out runs/demo\nheed serve --model runs/demo",
              ),
            ),
          ),
      section(
        "look-title",
        "Look inside",
        isUseful("attention") &&
          lookTile(
            "attention",
            "How attention works",
            "From one query to all heads and layers, step by step, with the weights of a model on this server.",
            "Start the tour",
          ),
        isUseful("training") &&
          lookTile(
            "training",
            "Follow a training",
            "Loss, validation scores and examples of a run while it trains.",
            "Show the runs",
          ),
        lookTile(
          "overview",
          "See what is here",
          "All models with their size and speed, the state of the server, and what else it could do.",
          "Open the overview",
        ),
      ),
      element(
        "p",
        { class: "hint" },
        "Everything runs on the server that you started. The studio loads nothing from elsewhere and sends nothing elsewhere.",
      ),
    ),
  };
};
