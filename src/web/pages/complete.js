// A language model continues a text token by token, and shows the alternatives it considered.
import { postJson, postStream } from "../api.js";
import { announce, element } from "../dom.js";
import { AttentionView } from "../parts/attention.js";
import { button, card, modelPicker, numberField, slider, textField } from "../parts/controls.js";
import { Job } from "../parts/job.js";
import { Notice } from "../parts/states.js";
import { TokenStrip } from "../parts/token_strip.js";

export const about = {
  id: "complete",
  title: "Complete",
  abilities: ["complete"],
  wants: "language model",
  lead: "Give a beginning; the model continues. The stronger a token is coloured, the less likely it was.",
  start: {
    text: "Start the server with a language model, such as GPT-2's folder:",
    command: "heed serve --model gpt2=models/gpt2",
  },
};

const kAlternatives = 5;
const kLookAgain = 100; // new tokens up to which attention follows by itself
const kAttentionLetters = 1500; // of the text's end that attention is asked for; maps grow with the square

const kEnds = { stop: "The model ended the text.", length: "Cut at the length limit." };

class CompletePage {
  constructor(studio) {
    this.picker = modelPicker(studio.withAbility("complete"), () => this.#modelChanged());
    this.prompt = textField({
      label: "Prompt",
      rows: 4,
      value: "The old lighthouse keeper opened the door and",
    });
    this.prompt.input.onkeydown = (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) this.#start();
    };
    this.temperature = slider({
      label: "Temperature",
      min: 0,
      max: 2,
      step: 0.05,
      value: 0.8,
      format: (value) => value.toFixed(2),
    });
    this.topP = slider({
      label: "Top-p",
      min: 0.05,
      max: 1,
      step: 0.01,
      value: 0.95,
      format: (value) => value.toFixed(2),
    });
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
    this.status = element("p", { class: "hint", role: "status" }, "Nothing written yet.");
    this.go = button("Complete", { class: "primary", onclick: () => this.#start() });
    this.stop = button("Stop", { disabled: true, onclick: () => this.writing.stop() });
    this.keep = button("Use as prompt", { disabled: true, onclick: () => this.#keep() });
    this.writing = new Job({ notice: this.notice, busy: (busy) => this.#busy(busy) });
    this.attention = new AttentionView({ names: { source: "token", target: "token" }, view: "heat" });
    this.attentionNotice = new Notice();
    this.looking = new Job({ notice: this.attentionNotice });
    this.attentionCard = card(
      "Attention",
      element("p", { class: "hint" }, "How much every token of the text looks at those before it."),
      button("Show the attention of the text", { onclick: () => this.#look() }),
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
          this.status,
          element(
            "div",
            { class: "legend probabilities", "aria-hidden": true },
            element("span", { class: "c0" }, "unlikely"),
            element("span", { class: "c1" }),
            element("span", { class: "c2" }),
            element("span", { class: "c3" }, "certain"),
          ),
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
    this.attention.clear();
    this.isLooking = false;
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
    const said = isWhole ? (kEnds[end] ?? "") : this.notice.element.hidden ? "Stopped." : "";
    this.status.textContent = `${this.#speed(began)} ${said}`;
    if (!isWhole) return;
    announce(this.strip.written);
    // Of a long text only when it is asked for: it may be too long for the server.
    if (this.isLooking && this.strip.tokens.length <= kLookAgain) await this.#look();
  }

  #speed(began) {
    const count = this.strip.tokens.length;
    const seconds = (performance.now() - began) / 1000;
    return `${count} ${count === 1 ? "token" : "tokens"}, ${(count / seconds).toFixed(1)} a second.`;
  }

  async #look() {
    this.isLooking = true;
    const text = ((this.strip.prompt || this.prompt.value) + this.strip.written).slice(-kAttentionLetters);
    await this.looking.run(async (signal) => {
      this.attention.show(await postJson("v1/attention", { model: this.picker.model.id, text }, { signal }));
    });
  }
}

export const make = (studio) => {
  const page = new CompletePage(studio);
  return { element: page.element, useModel: (id) => page.picker.use(id) };
};
