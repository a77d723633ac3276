// Text as the tokens it was made of, each coloured by its surprise. Pointing at one shows what else the
// model considered; choosing one keeps that open below.
import { announce, element, hideTip, showTip } from "../dom.js";
import { readable } from "./attention_data.js";
import { bar, button } from "./controls.js";
import { bitsOf, edgesOf, levelOf } from "./surprise.js";

const percent = (logprob) => {
  const share = 100 * Math.exp(logprob);
  return share >= 10 ? `${share.toFixed(0)}%` : share >= 0.1 ? `${share.toFixed(1)}%` : "< 0.1%";
};

// Spaces at the ends and line breaks would not be seen.
const visible = (token) => token.replace(/ /g, "·").replace(/\n/g, "↵") || "nothing";

function alternativesOf(token) {
  const all = Object.entries(token.top ?? {}).map(([text, logprob]) => ({ text, logprob }));
  if (token.logprob !== null && !all.some(({ text }) => text === token.piece)) {
    all.push({ text: token.piece, logprob: token.logprob });
  }
  return all.sort((a, b) => b.logprob - a.logprob);
}

export class TokenStrip {
  // `take(before, text)` is called when an alternative is chosen: what stands before it, and it.
  constructor({ take }) {
    this.take = take;
    this.tokens = [];
    this.edges = edgesOf(); // of the levels of surprise, in bits
    this.text = element("p", {
      class: "strip",
      role: "group",
      "aria-label": "Generated tokens. Use the arrow keys to move between them.",
      dir: "auto",
    });
    this.panel = element("div", { class: "alternatives", hidden: true });
    this.element = element("div", { class: "token-strip" }, this.text, this.panel);
  }

  clear(prompt = "") {
    this.tokens = [];
    this.held = [];
    this.prompt = prompt;
    this.text.replaceChildren(...(prompt ? [element("span", { class: "prompt" }, prompt)] : []));
    this.panel.hidden = true;
  }

  get written() {
    return this.tokens.map((token) => token.text).join("");
  }

  // One choice of a completion: its text and the tokens in it. A character may be of several tokens; they
  // wait for it and become one piece.
  add(choice) {
    const said = choice.logprobs;
    const pieces = said
      ? said.tokens.map((piece, i) => ({
          piece,
          logprob: said.token_logprobs[i],
          top: said.top_logprobs?.[i],
        }))
      : [{ piece: choice.text, logprob: null }];
    if (choice.text === "") {
      this.held.push(...pieces.filter(({ piece }) => piece !== ""));
      return;
    }
    const all = [...this.held, ...pieces];
    this.held = [];
    if (all.map(({ piece }) => piece).join("") === choice.text)
      all.forEach((token) => this.#append({ ...token, text: token.piece }));
    else if (all.length > 0)
      this.#append({ ...all.at(-1), piece: choice.text, text: choice.text, top: null });
  }

  #append(token) {
    const i = this.tokens.length;
    this.tokens.push(token);
    const probability = token.logprob === null ? "" : percent(token.logprob);
    const made = element(
      "span",
      {
        class: "token",
        role: "button",
        tabIndex: i === 0 ? 0 : -1,
        "aria-label": `${readable(token.text)} ${probability}`,
        onmousemove: (event) => this.#point(event, token),
        onmouseleave: hideTip,
        onclick: () => this.#choose(i),
        onfocus: () => this.#choose(i),
        onkeydown: (event) => this.#walk(event, i),
      },
      token.text,
    );
    if (token.logprob !== null) made.classList.add(`s${levelOf(token.logprob, this.edges)}`);
    this.text.append(made);
  }

  #point(event, token) {
    if (token.logprob === null) return;
    const rows = alternativesOf(token)
      .slice(0, 6)
      .map(({ text, logprob }) =>
        element(
          "tr",
          { class: text === token.piece ? "taken" : "" },
          element("td", {}, visible(text)),
          element("td", {}, percent(logprob)),
        ),
      );
    showTip(
      event,
      element("b", {}, `${bitsOf(token.logprob).toFixed(1)} bits of surprise`),
      element("table", {}, element("tbody", {}, rows)),
    );
  }

  #choose(i) {
    const token = this.tokens[i];
    for (const lit of this.text.querySelectorAll(".chosen")) lit.classList.remove("chosen");
    const spans = this.text.querySelectorAll(".token");
    spans[i].classList.add("chosen");
    for (const span of spans) span.tabIndex = span === spans[i] ? 0 : -1;
    if (token.logprob === null) return;
    const before = this.tokens
      .slice(0, i)
      .map(({ text }) => text)
      .join("");
    this.panel.replaceChildren(
      element("h3", {}, "What the model considered here"),
      element(
        "ul",
        {},
        alternativesOf(token).map(({ text, logprob }) =>
          element(
            "li",
            {},
            text === token.piece
              ? element("strong", { class: "alternative" }, visible(text))
              : button(visible(text), {
                  class: "alternative",
                  title: "Continue with this token instead",
                  onclick: () => this.take(this.prompt + before, text),
                }),
            bar(Math.exp(logprob), percent(logprob)),
          ),
        ),
      ),
    );
    this.panel.hidden = false;
    announce(
      `${readable(token.text)} ${percent(token.logprob)}. Alternatives: ` +
        alternativesOf(token)
          .filter(({ text }) => text !== token.piece)
          .slice(0, 3)
          .map(({ text, logprob }) => `${readable(text)} ${percent(logprob)}`)
          .join(", "),
    );
  }

  #walk(event, i) {
    const spans = this.text.querySelectorAll(".token");
    const next = {
      ArrowRight: i + 1,
      ArrowDown: i + 1,
      ArrowLeft: i - 1,
      ArrowUp: i - 1,
      Home: 0,
      End: spans.length - 1,
    }[event.key];
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      this.panel.querySelector("button")?.focus();
    }
    if (next === undefined || !spans[next]) return;
    event.preventDefault();
    spans[next].focus();
  }
}
