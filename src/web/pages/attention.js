// A tour through attention, from one query to all layers, with the weights of a model that is served here.
import { postJson } from "../api.js";
import { announce, element } from "../dom.js";
import { formatWeight, kKinds, readAttention, sidesOf, weightsOf } from "../parts/attention_data.js";
import { button, card, choice, lineField, modelPicker, segments } from "../parts/controls.js";
import { ExampleButtons, examplesOf } from "../parts/examples.js";
import { clearestHead } from "../parts/head_facts.js";
import { HeatMap } from "../parts/heat_map.js";
import { Job } from "../parts/job.js";
import { tasksOf } from "../parts/model_tasks.js";
import { Notice } from "../parts/states.js";
import { kSteps } from "../parts/tour_steps.js";
import { onTheme } from "../theme.js";

// Those whose text /v1/attention reads; what music attends to stands on its own page.
const kTextAbilities = ["translate", "complete", "fill", "classify", "embed"];
const readers = (studio) =>
  studio
    .withAbility("attention")
    .filter((model) => kTextAbilities.some((ability) => model.abilities.includes(ability)));

export const about = {
  id: "attention",
  title: "How attention works",
  short: "Attention",
  wants: "text model with attention",
  lead: "Follow attention from one query to all heads and layers, step by step, with the real weights of a model.",
  isUseful: (studio) => readers(studio).length > 0,
  start: {
    text: "The tour shows the weights of a running model. Start the server with a Transformer that reads text: a translator, a language model or an encoder.",
    command: "heed serve --model gpt2=models/gpt2",
  },
};

const kKindTexts = {
  encoder: "Self-attention",
  decoder: "Decoder self-attention",
  cross: "Cross-attention",
  hops: "Hops of attention",
};
const kFewTokens = 24; // what a newcomer can follow

// The tour as its steps see it: state and what follows from it.
class Tour {
  constructor({ changed }) {
    this.changed = changed;
    this.state = { step: 0, kind: null, layer: 0, head: 0, query: 0 };
    this.heat = new HeatMap({ name: "Attention weights", format: formatWeight });
  }

  // A new text begins with the head that shows most, and with a query in its middle.
  read(answer) {
    this.data = readAttention(answer);
    this.kinds = Object.keys(kKinds).filter((kind) => this.data.maps.some((map) => map.kind === kind));
    const kind = this.kinds.includes(this.state.kind) ? this.state.kind : this.kinds[0];
    this.#begin(kind);
  }

  #begin(kind) {
    Object.assign(this.state, { kind, ...clearestHead(this.data.maps.filter((map) => map.kind === kind)) });
    this.state.query = Math.floor(this.queries.length / 2);
  }

  set(change) {
    if (change.kind) this.#begin(change.kind);
    else Object.assign(this.state, change);
    this.changed();
  }

  get maps() {
    return this.data.maps.filter((map) => map.kind === this.state.kind);
  }
  get map() {
    return this.maps.find((map) => map.layer === this.state.layer);
  }
  get weights() {
    return weightsOf(this.map, this.state.head);
  }
  get queries() {
    return sidesOf(this.data, this.map).queries;
  }
  get keys() {
    return sidesOf(this.data, this.map).keys;
  }
  get query() {
    return this.queries[this.state.query];
  }
  get row() {
    const { keys } = this.map;
    return this.weights.subarray(this.state.query * keys, (this.state.query + 1) * keys);
  }

  // A decoder's query may not see what comes after the token that it reads.
  isMasked(key) {
    return this.map.kind === "decoder" && key > this.state.query && this.row[key] === 0;
  }

  sideName() {
    return this.map.kind === "cross" ? "key (source token)" : "key (token)";
  }
}

class AttentionPage {
  constructor(studio) {
    this.picker = modelPicker(readers(studio), () => this.#modelChanged());
    this.text = lineField({
      label: "Text",
      hint: `Short texts are easier to follow: up to ${kFewTokens} tokens.`,
    });
    this.text.input.onkeydown = (event) => {
      if (event.key === "Enter") this.#ask();
    };
    this.text.input.oninput = () => this.#clear();
    this.examples = new ExampleButtons({
      use: (text) => {
        this.text.input.value = text.split("\t")[0];
        this.#ask();
      },
    });
    this.notice = new Notice({ text: this.text.input });
    this.job = new Job({ notice: this.notice, failed: () => this.#clear() });
    this.tour = new Tour({ changed: () => this.#draw() });
    this.#makeStage();
    this.element = element(
      "div",
      { class: "stack" },
      card(
        "Model and text",
        element("div", { class: "bar-row" }, this.picker.element),
        this.text.element,
        this.examples.element,
        element("div", { class: "row" }, button("Show its attention", { onclick: () => this.#ask() })),
        this.notice.element,
      ),
      this.stage,
    );
    onTheme(() => {
      if (!this.stage.hidden) this.#draw();
    });
    this.#modelChanged();
  }

  #makeStage() {
    const { tour } = this;
    this.kinds = segments({
      label: "Kind of attention",
      options: [],
      onchange: (kind) => tour.set({ kind }),
    });
    this.layer = choice({
      label: "Layer",
      options: [],
      onchange: (layer) => tour.set({ layer: Number(layer) }),
    });
    this.head = choice({ label: "Head", options: [], onchange: (head) => tour.set({ head: Number(head) }) });
    this.queryChoice = choice({
      label: "Query",
      options: [],
      onchange: (query) => tour.set({ query: Number(query) }),
    });
    this.steps = element("ol", { class: "steps" });
    this.title = element("h2", { tabIndex: -1 });
    this.content = element("div", { class: "step" });
    this.back = button("← Back", { onclick: () => this.#go(tour.state.step - 1) });
    this.next = button("Next →", { class: "primary", onclick: () => this.#go(tour.state.step + 1) });
    this.stage = element(
      "section",
      { class: "card", "aria-label": "Tour", hidden: true },
      element("nav", { "aria-label": "Steps" }, this.steps),
      element(
        "div",
        { class: "bar-row" },
        this.kinds.element,
        this.layer.element,
        this.head.element,
        this.queryChoice.element,
      ),
      this.title,
      this.content,
      element("div", { class: "row step-buttons" }, this.back, this.next),
    );
  }

  #modelChanged() {
    const { model } = this.picker;
    const ability = kTextAbilities.find((name) => model.abilities.includes(name));
    const examples = examplesOf(model, ability);
    const first = (examples.texts[0] ?? "").split("\t")[0];
    if (this.examples.isOurs(this.text.value) || this.text.value === this.begunWith)
      this.text.input.value = this.begunWith = first;
    this.examples.show(examples);
    this.#ask();
  }

  use({ model }) {
    if (model) this.picker.use(model);
  }

  #clear() {
    this.stage.hidden = true;
  }

  #ask() {
    if (!this.text.value.trim()) {
      this.#clear();
      return null;
    }
    return this.job.run(async (signal) => {
      const request = { model: this.picker.model.id, text: this.text.value, crop: true };
      this.tour.read(await postJson("v1/attention", request, { signal }));
      [this.tour.next] = tasksOf(this.picker.model); // where to go from here
      this.stage.hidden = false;
      this.#draw();
    });
  }

  #go(step) {
    if (step < 0 || step >= kSteps.length) return;
    this.tour.set({ step });
    this.title.focus();
    announce(this.title.textContent);
  }

  #draw() {
    const { tour } = this;
    const { step, kind, layer, head, query } = tour.state;
    this.steps.replaceChildren(
      ...kSteps.map(({ title }, i) =>
        element(
          "li",
          {},
          button(title, {
            class: "step-name",
            ...(i === step && { "aria-current": "step" }),
            onclick: () => this.#go(i),
          }),
        ),
      ),
    );
    this.kinds.fill(
      tour.kinds.map((one) => [one, kKindTexts[one]]),
      kind,
    );
    this.kinds.element.hidden = tour.kinds.length < 2;
    this.layer.fill(
      tour.maps.map((map) => [map.layer, `${map.layer}`]),
      layer,
    );
    this.head.fill(
      tour.map.weights.map((_, one) => [one, `${one}`]),
      head,
    );
    this.queryChoice.fill(
      tour.queries.map((token, i) => [i, `${i + 1}: ${token.replace(/[\u2581\u0120]/g, "").trim() || "␣"}`]),
      query,
    );
    this.title.textContent = `${step + 1} of ${kSteps.length}: ${kSteps[step].title}`;
    this.content.replaceChildren(...kSteps[step].draw(tour));
    this.back.disabled = step === 0;
    this.next.disabled = step === kSteps.length - 1;
  }
}

export const make = (studio) => {
  const page = new AttentionPage(studio);
  return { element: page.element, use: (wanted) => page.use(wanted) };
};
