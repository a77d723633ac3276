// What stands where a result would be: an error with its reason, nothing yet, or no model for it.
import { element } from "../dom.js";

export function emptyState(about) {
  return element(
    "section",
    { class: "card empty" },
    element("h2", {}, `No ${about.wants} here`),
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
      element("p", { role: "alert" }, error.message),
      element("button", { type: "button", class: "primary", onclick: again }, "Try again"),
    ),
  );
}

function reasonOf(error) {
  if (error.status === 429) {
    return `The server is busy${error.retryAfter ? `; try again in ${error.retryAfter} s` : ""}. ${error.message}`;
  }
  return error.message;
}

// A place for an error beside what caused it. `fields` maps the API's parameters to controls, so that
// the one to blame is marked too.
export class Notice {
  constructor(fields = {}) {
    this.fields = fields;
    this.element = element("p", { class: "notice", role: "alert", hidden: true });
  }

  show(error) {
    this.clear();
    const status = error.status ? element("span", { class: "status" }, `${error.status}`) : null;
    this.element.replaceChildren(...(status ? [status] : []), reasonOf(error));
    this.element.hidden = false;
    this.fields[error.param]?.setAttribute("aria-invalid", "true");
  }

  clear() {
    this.element.hidden = true;
    this.element.replaceChildren();
    for (const field of Object.values(this.fields)) field.removeAttribute("aria-invalid");
  }
}
