// What stands where a result would be: an error with its reason, nothing yet, or no model for it.
import { element } from "../dom.js";
import { explain } from "./explain.js";

export function emptyState(about) {
  return element(
    "section",
    { class: "card empty" },
    element("h2", {}, `No ${about.wants} on this server`),
    element("p", {}, about.start.text),
    element("pre", {}, element("code", {}, about.start.command)),
  );
}

export function errorState(error, again) {
  return element(
    "div",
    { class: "page" },
    element(
      "section",
      { class: "card empty" },
      element("h1", {}, "The studio cannot start"),
      element("p", { role: "alert" }, explain(error)),
      element("button", { type: "button", class: "primary", onclick: again }, "Try again"),
    ),
  );
}

export const notFoundState = (route) =>
  element(
    "div",
    { class: "page", "data-page": "not-found" },
    element(
      "section",
      { class: "card empty" },
      element("h1", {}, "Page not found"),
      element("p", {}, "The studio has no page ", element("code", {}, route), "."),
      element("p", {}, element("a", { href: "#/overview" }, "Go to the overview")),
    ),
  );

// A place for an error beside what caused it. `fields` maps the API's parameters to controls, so that
// the one to blame is named and marked; it is a function where controls come and go.
export class Notice {
  #fields;

  constructor(fields = {}) {
    this.#fields = typeof fields === "function" ? fields : () => fields;
    this.element = element("p", { class: "notice", role: "alert", hidden: true });
  }

  show(error) {
    this.clear();
    this.element.textContent = explain(error, (param) => this.#labelOf(param));
    this.element.hidden = false;
    this.#fields()[error.param]?.setAttribute("aria-invalid", "true");
  }

  clear() {
    this.element.hidden = true;
    this.element.replaceChildren();
    for (const field of Object.values(this.#fields())) field.removeAttribute("aria-invalid");
  }

  #labelOf(param) {
    return this.#fields()[param]?.labels?.[0]?.firstChild?.textContent;
  }
}
