// A language model continues a text token by token, and shows what else it considered.
import { postJson, postStream } from "../api.js";
import { announce, element } from "../dom.js";
import { AttentionView } from "../parts/attention.js";
import { button, card, modelPicker, numberField, temperatureSlider, textField, topPSlider } from "../parts/controls.js";
import { ExampleButtons, examplesOf } from "../parts/examples.js";
import { Job } from "../parts/job.js";
import { Notice } from "../parts/states.js";
import { edgesOf, levelNames } from "../parts/surprise.js";
import { TokenStrip } from "../parts/token_strip.js";

export const about = {
  id: "complete",
  title: "Complete",
  abilities: ["complete"],
  wants: "language model",
  lead: "Enter a prompt; the model continues it. Colours show how surprising each token was to the model.",
  start: {
    text: "Start the server with a language model, such as GPT-2:",
    command: "heed serve --model gpt2=models/gpt2",
  },
};

const kAlternatives = 5;
const kLookAgain = 100; // new tokens up to which attention follows by itself

const kEnds = { stop: "The model ended the text.", length: "The token limit was reached." };

class CompletePage {
  constructor(studio) {
    this.picker = modelPicker(studio.withAbility("complete"), () => this.#modelChanged());
    this.prompt = textField({
      label: "Prompt",
      rows: 4,
      placeholder: "Type a prompt here",
      oninput: () => this.#textChanged(),
    });
    this.examples = new ExampleButtons({
      use: (text) => {
        this.prompt.input.value = text;
        this.#textChanged();
        this.prompt.input.focus();
      },
    });
    this.prompt.input.onkeydown = (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) this.#start();
    };
    this.temperature = temperatureSlider({ max: 2, value: 0.8 });
    this.topP = topPSlider({ value: 0.95 });
    this.most = numberField({ label: "Tokens", value: 60, min: 1, max: 4096 });
    this.seed = numberField({ label: "Seed", min: 0, placeholder: "random" });
    this.notice = new Notice({
      prompt: this.prompt.input,
      temperature: this.temperature.input,
      top_p: this.topP.input,
      max_tokens: this.most.input,
      seed: this.seed.input,
    });
    this.strip = new TokenStrip({ take: (before, text) => this.#go(before + text) });
    this.status = element("p", { class: "hint strip-status", role: "status" }, "Nothing generated yet.");
    this.go = button("Complete", { class: "primary", onclick: () => this.#start() });
    this.stop = button("Stop", { disabled: true, onclick: () => this.writing.stop() });
    this.keep = button("Use as prompt", { disabled: true, onclick: () => this.#keep() });
    this.writing = new Job({ notice: this.notice, busy: (busy) => this.#busy(busy) });
    this.attention = new AttentionView({
      names: { source: "token", target: "token that was read", produced: "token that follows" },
      view: "heat",
    });
    this.attentionNotice = new Notice();
    this.attentionPart = element("p", { class: "hint", role: "status" });
    this.looking = new Job({ notice: this.attentionNotice, failed: () => this.#clearAttention() });
    this.legend = element("div", { class: "legend surprise", role: "group", "aria-label": "Colours" });
    this.attentionCard = card(
      "Attention",
      element(
        "p",
        { class: "hint" },
        "Each row is a token of the text; its colours show how much the model attended to each token before it to predict that token.",
      ),
      button("Show the attention of the text", { onclick: () => this.#look() }),
      this.attentionPart,
      this.attentionNotice.element,
      this.attention.element,
    );
    this.element = element(
      "div",
      { class: "stack" },
      element(
        "div",
        { class: "wide-narrow" },
        card(
          "Text",
          this.prompt.element,
          this.examples.element,
          element(
            "div",
            { class: "row" },
            this.go,
            this.stop,
            this.keep,
            element("span", { class: "hint keys" }, "Ctrl + Enter"),
          ),
          this.notice.element,
          this.strip.element,
          this.legend,
          this.status,
        ),
        card(
          "Settings",
          this.picker.element,
          this.temperature.element,
          this.topP.element,
          element("div", { class: "pair" }, this.most.element, this.seed.element),
        ),
      ),
      this.attentionCard,
    );
    this.strip.clear();
    this.#modelChanged();
  }

  #modelChanged() {
    const { model } = this.picker;
    this.attentionCard.hidden = !model.abilities.includes("attention");
    if (model.context) this.most.input.max = model.context;
    const examples = examplesOf(model, "complete");
    if (this.examples.isOurs(this.prompt.value)) this.prompt.input.value = examples.texts[0];
    this.examples.show(examples);
    this.#showColours(edgesOf(model.vocabulary));
    this.writing.stop();
    this.strip.clear();
    this.status.textContent = "Nothing generated yet.";
    this.#textChanged();
    this.isLooking = false;
  }

  // The same token surprises one model more than another.
  #showColours(edges) {
    this.strip.edges = edges;
    this.legend.replaceChildren(
      element("strong", {}, "Surprise, −log₂ p:"),
      ...levelNames(edges).map((name, level) => element("span", { class: `s${level}` }, name)),
    );
  }

  // A map of another text is worse than none.
  #textChanged() {
    if (this.strip.tokens.length === 0) this.#clearAttention();
  }

  #clearAttention() {
    this.attention.clear();
    this.attentionPart.textContent = "";
  }

  use({ model, text }) {
    if (model) this.picker.use(model);
    if (!text) return;
    this.prompt.input.value = text;
    this.#textChanged();
  }

  #busy(busy) {
    this.stop.disabled = !busy;
    this.go.textContent = busy ? "Start again" : "Complete";
    this.strip.element.classList.toggle("writing", busy);
    this.keep.disabled = busy || this.strip.tokens.length === 0;
  }

  #start() {
    return this.#go(this.prompt.value);
  }

  #keep() {
    this.prompt.input.value = this.strip.prompt + this.strip.written;
    this.prompt.input.focus();
  }

  async #go(prompt) {
    const began = performance.now();
    let end = null;
    const isWhole = await this.writing.run(async (signal) => {
      this.strip.clear(prompt);
      this.looking.stop();
      this.attentionNotice.clear();
      this.#clearAttention();
      this.status.textContent = "Reading the prompt…";
      const request = {
        model: this.picker.model.id,
        prompt,
        max_tokens: this.most.value,
        temperature: this.temperature.value,
        top_p: this.topP.value,
        seed: this.seed.value,
        logprobs: kAlternatives,
      };
      for await (const event of postStream("v1/completions", request, { signal })) {
        const [choice] = event.choices;
        if (!choice) continue; // the last event may tell only the usage
        this.strip.add(choice);
        end = choice.finish_reason ?? end;
        this.status.textContent = this.#speed(began);
      }
    });
    const isFailed = !this.notice.element.hidden;
    const said = isWhole ? (kEnds[end] ?? "") : isFailed ? "" : "Stopped.";
    this.status.textContent = isFailed ? "" : `${this.#speed(began)} ${said}`;
    if (!isWhole) return;
    announce(this.strip.written);
    // For a long text it takes a while, so it is done only when asked for.
    if (this.isLooking && this.strip.tokens.length <= kLookAgain) await this.#look();
  }

  #speed(began) {
    const count = this.strip.tokens.length;
    const seconds = (performance.now() - began) / 1000;
    return `${count} ${count === 1 ? "token" : "tokens"}, ${(count / seconds).toFixed(1)} per second.`;
  }

  async #look() {
    this.isLooking = true;
    const text = this.strip.tokens.length > 0 ? this.strip.prompt + this.strip.written : this.prompt.value;
    await this.looking.run(async (signal) => {
      const answer = await postJson(
        "v1/attention",
        { model: this.picker.model.id, text, crop: true },
        { signal },
      );
      this.attention.show(answer);
      // The server reads the end of a text that is too long for maps.
      this.attentionPart.textContent = answer.left_out
        ? `The text is longer than attention can be shown for; these are its last ${answer.tokens.length} tokens.`
        : "";
    });
  }
}

export const make = (studio) => {
  const page = new CompletePage(studio);
  return { element: page.element, use: (wanted) => page.use(wanted) };
};
