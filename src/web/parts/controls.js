// Labelled form controls. Each gives {element, input} and reads as `value`.
import { element, freshId } from "../dom.js";

function withLabel(label, input, hint, extra) {
  const id = freshId("field");
  input.id = id;
  const note = hint ? element("small", { class: "hint", id: `${id}-hint` }, hint) : null;
  if (note) input.setAttribute("aria-describedby", note.id);
  return element(
    "div",
    { class: "field" },
    element("label", { class: "label", htmlFor: id }, label, extra),
    input,
    note,
  );
}

export function textField({ label, hint, value = "", rows = 3, placeholder, oninput, lang }) {
  const input = element("textarea", { rows, value, placeholder, oninput, lang, dir: "auto" });
  return {
    element: withLabel(label, input, hint),
    input,
    get value() {
      return input.value;
    },
  };
}

export function lineField({ label, hint, value = "", placeholder, oninput }) {
  const input = element("input", { type: "text", value, placeholder, oninput, dir: "auto" });
  return {
    element: withLabel(label, input, hint),
    input,
    get value() {
      return input.value;
    },
  };
}

// An empty box reads as undefined: the server's own choice.
export function numberField({ label, hint, value = "", min, max, step = 1, placeholder, oninput = null }) {
  const input = element("input", {
    type: "number",
    value,
    min,
    max,
    step,
    placeholder,
    oninput,
    inputmode: "decimal",
  });
  return {
    element: withLabel(label, input, hint),
    input,
    get value() {
      return input.value === "" ? undefined : Number(input.value);
    },
  };
}

export function slider({
  label,
  hint,
  value,
  min,
  max,
  step,
  format = (number) => `${number}`,
  oninput = () => {},
}) {
  const shown = element("output", {});
  const input = element("input", { type: "range", min, max, step, value });
  const draw = () => {
    shown.textContent = format(Number(input.value));
    input.setAttribute("aria-valuetext", shown.textContent);
    input.style.setProperty("--done", `${(100 * (input.value - input.min)) / (input.max - input.min || 1)}%`);
  };
  input.oninput = () => {
    draw();
    oninput(Number(input.value));
  };
  draw();
  return {
    element: withLabel(label, input, hint, shown),
    input,
    draw,
    get value() {
      return Number(input.value);
    },
    set value(number) {
      input.value = number;
      draw();
    },
  };
}

// How freely a model samples, with two decimals.
const share = (settings) => slider({ ...settings, format: (value) => value.toFixed(2) });
export const temperatureSlider = ({ min = 0, max = 1.5, value }) =>
  share({ label: "Temperature", min, max, step: 0.05, value });
export const topPSlider = ({ value }) => share({ label: "Top-p", min: 0.05, max: 1, step: 0.01, value });

export function checkBox({ label, checked = false, onchange }) {
  const input = element("input", { type: "checkbox", checked, onchange: () => onchange?.(input.checked) });
  return {
    element: element("label", { class: "check" }, input, label),
    input,
    get value() {
      return input.checked;
    },
  };
}

// options: [value, text] pairs.
export function choice({ label, options, value, onchange = () => {} }) {
  const input = element("select", {});
  const fill = (pairs, chosen) =>
    input.replaceChildren(
      ...pairs.map(([option, text]) => new Option(text, option, false, `${option}` === `${chosen}`)),
    );
  fill(options, value);
  input.onchange = () => onchange(input.value);
  return {
    element: withLabel(label, input),
    input,
    fill,
    get value() {
      return input.value;
    },
    set value(chosen) {
      input.value = chosen;
    },
  };
}

// A row of buttons of which one is chosen; arrow keys walk.
export function segments({ label, options, value, onchange }) {
  const group = element("div", { class: "segments", role: "radiogroup", "aria-label": label });
  const choose = (chosen, { tell = true, focus = false } = {}) => {
    for (const button of group.children) {
      const isIt = button.dataset.value === `${chosen}`;
      button.setAttribute("aria-checked", `${isIt}`);
      button.tabIndex = isIt ? 0 : -1;
      if (isIt && focus) button.focus();
    }
    if (tell) onchange(chosen);
  };
  const fill = (pairs, chosen) => {
    const values = pairs.map(([option]) => option);
    const walk = (event, option) => {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (!step) return;
      event.preventDefault();
      choose(values[(values.indexOf(option) + step + values.length) % values.length], { focus: true });
    };
    group.replaceChildren(
      ...pairs.map(([option, text]) =>
        element(
          "button",
          {
            type: "button",
            role: "radio",
            "data-value": option,
            onclick: () => choose(option),
            onkeydown: (event) => walk(event, option),
          },
          text,
        ),
      ),
    );
    choose(chosen, { tell: false });
  };
  fill(options, value);
  return { element: group, fill, choose };
}

// Which model; with only one there is nothing to choose, and its name is told.
export function modelPicker(models, onchange = () => {}) {
  const picker = choice({
    label: "Model",
    options: models.map((model) => [model.id, model.id]),
    value: models[0].id,
    onchange: () => onchange(),
  });
  picker.input.disabled = models.length === 1;
  picker.element.classList.add("model");
  return {
    element: picker.element,
    input: picker.input,
    get model() {
      return models.find((model) => model.id === picker.value) ?? models[0];
    },
    use(id) {
      if (!models.some((model) => model.id === id) || picker.value === id) return;
      picker.value = id;
      onchange();
    },
  };
}

export const button = (text, attributes = {}) => element("button", { type: "button", ...attributes }, text);

// A card with a heading, which names it for those who jump between regions.
export function card(title, ...content) {
  const id = freshId("card");
  return element(
    "section",
    { class: "card", "aria-labelledby": id },
    element("h2", { id }, title),
    ...content,
  );
}

// A share as a bar with its number.
export function bar(share, text) {
  const filled = element("span", { class: "bar-fill" });
  filled.style.width = `${100 * Math.max(0, Math.min(1, share))}%`;
  return element(
    "span",
    { class: "bar" },
    element("span", { class: "bar-track", "aria-hidden": true }, filled),
    element("span", { class: "bar-text" }, text),
  );
}

// Rows of plain text; the first row of `head` are headings.
export function table(head, rows, caption) {
  return element(
    "table",
    {},
    caption && element("caption", {}, caption),
    element(
      "thead",
      {},
      element(
        "tr",
        {},
        head.map((text) => element("th", { scope: "col" }, text)),
      ),
    ),
    element(
      "tbody",
      {},
      rows.map((row) =>
        element(
          "tr",
          {},
          row.map((cell) => element("td", {}, cell)),
        ),
      ),
    ),
  );
}

// A canvas's text alternative: made only when somebody opens it.
export function tableBehind(summary, make) {
  const place = element("div", { class: "scroll-x" });
  const details = element("details", {}, element("summary", {}, summary), place);
  details.ontoggle = () => place.replaceChildren(...(details.open ? [make()] : []));
  return details;
}
