// The steps of the tour through attention: from tokens over one query's scores to all layers. Every number
// is computed from weights that the model gave for this text. The server tells weights after the softmax,
// so scores are their logarithms, and what depends on the values is only drawn.
import { element } from "../dom.js";
import { meaningOf, readable } from "./attention_data.js";
import { headFact } from "./head_facts.js";
import { thumb } from "./thumbs.js";

const kLowest = -8; // natural logarithms: scores below this have no bar
const kTerms = 4; // of the weighted sum, written out

const real = (text) => element("p", { class: "truth" }, element("strong", {}, "Real: "), text);
const drawn = (text) => element("p", { class: "truth drawn" }, element("strong", {}, "Illustration: "), text);
const formula = (text) => element("p", { class: "formula" }, text);
const lead = (...content) => element("p", { class: "step-lead" }, ...content);
const number = (value, digits = 3) => value.toFixed(digits).replace("-", "−");

// --- Tokens

function chip(tour, token, i) {
  return element(
    "button",
    {
      type: "button",
      class: "chip",
      "aria-pressed": i === tour.state.query,
      title: meaningOf(token),
      onclick: () => tour.set({ query: i }),
    },
    readable(token),
  );
}

const kReads = {
  encoder: "Every token may attend to every token of the text.",
  decoder:
    "A decoder predicts one token after another. Each query predicts the token it is named after, and may attend only to tokens that were already read; all others are masked.",
  cross: "Each token of the translation attends to the tokens of the source.",
  hops: "Here the queries are no tokens: each hop has learned one of its own, which sums the text up.",
};
const kChoose = {
  cross: "Choose a token of the translation as the query:",
  hops: "Choose a hop:",
};

const chips = (tour) =>
  element(
    "div",
    { class: "chips", role: "group", "aria-label": "Queries" },
    tour.queries.map((token, i) => chip(tour, token, i)),
  );

function tokens(tour) {
  const { kind } = tour.map;
  const read = element(
    "div",
    { class: "chips", role: "group", "aria-label": "Tokens that are read" },
    tour.keys.map((token) => element("span", { class: "chip", title: meaningOf(token) }, readable(token))),
  );
  return [
    lead(
      `The model does not read letters or words. It reads ${tour.keys.length} tokens: words and pieces of words. Each one becomes a list of numbers, its vector.`,
    ),
    kind !== "encoder" && read, // an encoder's tokens are its queries, too
    lead(
      "Attention lets vectors exchange information. From each vector the model computes three others: a ",
      element("b", {}, "query"),
      " (what this position looks for), a ",
      element("b", {}, "key"),
      " (what it offers) and a ",
      element("b", {}, "value"),
      " (what it passes on). ",
      kReads[kind],
    ),
    lead(
      kChoose[kind] ?? "Choose a token as the query:",
    ),
    chips(tour),
    real("the tokens, as the model’s own tokenizer makes them."),
  ].filter(Boolean);
}

// --- Scores, softmax and the sum

// Natural logarithms of the weights, with the largest as 0: the scores up to a constant.
const scoresOf = (tour) => {
  const most = Math.max(...tour.row);
  return Array.from(tour.row, (weight) => Math.log(weight / most));
};

const share = (value) => {
  const filled = element("span", { class: "bar-fill" });
  filled.style.width = `${100 * Math.max(0, Math.min(1, value))}%`;
  return element("span", { class: "bar-track", "aria-hidden": true }, filled);
};

// A row for every key. `cells(i)` gives what stands behind its name, or nothing if the key is masked.
function keyTable(tour, head, cells) {
  return element(
    "div",
    { class: "scroll-x keys-table", role: "region", "aria-label": "Keys", tabIndex: 0 },
    element(
      "table",
      {},
      element(
        "thead",
        {},
        element(
          "tr",
          {},
          [tour.sideName("keys"), ...head].map((text) => element("th", { scope: "col" }, text)),
        ),
      ),
      element(
        "tbody",
        {},
        tour.keys.map((token, i) =>
          element(
            "tr",
            { class: tour.isMasked(i) ? "masked" : "" },
            element("th", { scope: "row" }, readable(token)),
            tour.isMasked(i)
              ? element("td", { colspan: head.length }, "masked: this token is not known yet")
              : cells(i).map((cell) => element("td", {}, cell)),
          ),
        ),
      ),
    ),
  );
}

function scores(tour) {
  const found = scoresOf(tour);
  return [
    lead(
      "The query of ",
      element("b", {}, readable(tour.query)),
      " is compared with every key: the larger their dot product, the better the match.",
    ),
    formula("score = query · key / √d"),
    keyTable(tour, ["score", ""], (i) => [
      found[i] === -Infinity ? "below −87" : number(found[i], 2),
      share(1 - found[i] / kLowest),
    ]),
    real(
      "the differences between scores. The server tells weights after the softmax; their logarithms are the scores up to a constant that is the same in the whole row. The constant is chosen so that the best match has the score 0.",
    ),
  ];
}

function softmax(tour) {
  const found = scoresOf(tour);
  const total = found.reduce((sum, score) => sum + Math.exp(score), 0);
  return [
    lead(
      "The softmax turns scores into weights: it raises e to each score and divides by the sum. Weights are positive and add up to 1, and the constant of the step before cancels out.",
    ),
    formula(`weight = e^score / ${number(total, 2)}`),
    keyTable(tour, ["score", "e^score", "weight", ""], (i) => [
      found[i] === -Infinity ? "below −87" : number(found[i], 2),
      number(Math.exp(found[i])),
      element("b", {}, number(tour.row[i])),
      share(tour.row[i]),
    ]),
    element(
      "p",
      {},
      `The sum of the weights is ${number(tour.row.reduce((sum, weight) => sum + weight, 0))}.`,
    ),
    real(`all weights, as head ${tour.state.head} of layer ${tour.map.layer} computed them for this text.`),
  ];
}

function weightedSum(tour) {
  const ranked = [...tour.row.keys()].sort((a, b) => tour.row[b] - tour.row[a]);
  const kept = ranked.slice(0, kTerms).filter((i) => tour.row[i] >= 0.005);
  const rest = 1 - kept.reduce((sum, i) => sum + tour.row[i], 0);
  const strip = element("div", { class: "mixture", role: "img", "aria-label": "The share of each value" });
  [...kept, -1].forEach((i, place) => {
    const weight = i < 0 ? Math.max(0, rest) : tour.row[i];
    const part = element("span", { class: `part-${i < 0 ? "rest" : place % kTerms}` });
    part.style.width = `${100 * weight}%`;
    strip.append(part);
  });
  return [
    lead(
      "The output at ",
      element("b", {}, readable(tour.query)),
      " is a mixture of the value vectors: each is multiplied by its weight, and the results are added up.",
    ),
    strip,
    element(
      "ul",
      { class: "legend blocks mixture-legend" },
      kept.map((i, place) =>
        element(
          "li",
          { class: `part-${place % kTerms}` },
          `${readable(tour.keys[i])} ${number(tour.row[i], 2)}`,
        ),
      ),
      rest >= 0.005 && element("li", { class: "part-rest" }, `all others ${number(rest, 2)}`),
    ),
    formula(
      `output = ${kept.map((i) => `${number(tour.row[i], 2)} · v(${readable(tour.keys[i])})`).join(" + ")}${rest >= 0.005 ? " + …" : ""}`,
    ),
    real("the shares of the mixture."),
    drawn("the value vectors. The server tells no values, so they are only named here."),
  ];
}

// --- All queries, heads and layers

function matrix(tour) {
  tour.heat.show({
    values: tour.weights,
    rows: tour.queries.map(readable),
    columns: tour.keys.map(readable),
    low: 0,
    high: Math.max(...tour.row, 0.2),
    marked: tour.state.query,
  });
  return [
    lead(
      "Every position asks its own query at the same time. Written below each other, the rows of weights are a matrix: one row per query, one column per key. The row of ",
      element("b", {}, readable(tour.query)),
      " is marked.",
    ),
    formula("weights = softmax(Q Kᵀ / √d), output = weights · V"),
    tour.heat.element,
    real("every cell. Point at one to read it."),
  ];
}

function headButtons(tour, map) {
  return map.weights.map((_, head) =>
    element(
      "li",
      {},
      thumb(map, head, {
        "aria-pressed": map.layer === tour.state.layer && head === tour.state.head,
        onclick: () => tour.set({ layer: map.layer, head }),
      }),
      element("strong", {}, `Head ${head}`),
      element("span", { class: "hint" }, headFact(map, head)),
    ),
  );
}

function heads(tour) {
  const count = tour.map.weights.length;
  return [
    lead(
      count === 1
        ? "This layer has a single head. Others have several: each has its own queries, keys and values, so each can attend to something else."
        : `Layer ${tour.map.layer} does all this ${count} times in parallel. Each head has its own queries, keys and values, so each can attend to something else; their outputs are put side by side and mixed by one more matrix. Choose a head to see its numbers in all steps.`,
    ),
    element("ul", { class: "heads" }, headButtons(tour, tour.map)),
    real("the pictures, and the sentence below each: it is counted over all rows of the head."),
  ];
}

function layers(tour) {
  return [
    lead(
      `The model repeats this in ${tour.maps.length} ${tour.maps.length === 1 ? "layer" : "layers"}. Between them, each vector passes through a small network of its own, so later layers compare vectors that already know their context.`,
    ),
    element(
      "div",
      { class: "all-layers" },
      tour.maps.map((map) =>
        element(
          "section",
          { "aria-label": `Layer ${map.layer}` },
          element("h3", {}, `Layer ${map.layer}`),
          element("ul", { class: "heads" }, headButtons(tour, map)),
        ),
      ),
    ),
    real("all weights of all layers. Choose a head and go back to see its scores, softmax and matrix."),
    drawn(
      "nothing here says why a head attends to a token. Weights show where information may flow, not how it is used.",
    ),
    tour.next && lead("Try more texts: ", element("a", { href: tour.next.href }, tour.next.can), "."),
  ].filter(Boolean);
}

export const kSteps = [
  { title: "Tokens", draw: tokens },
  { title: "One query’s scores", draw: scores },
  { title: "Softmax", draw: softmax },
  { title: "Weighted sum", draw: weightedSum },
  { title: "All queries", draw: matrix },
  { title: "All heads", draw: heads },
  { title: "All layers", draw: layers },
];
