// Making elements, and the three things all pages share: the tip beside the mouse, the text that
// screen readers speak, and files that are saved.
const kSvg = "http://www.w3.org/2000/svg";
const kProperties = new Set(["value", "checked", "textContent", "disabled", "hidden", "tabIndex", "htmlFor"]);

function fill(made, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on") || kProperties.has(name)) made[name] = value;
    else if (name === "style")
      Object.entries(value).forEach(([key, text]) => made.style.setProperty(key, text));
    else if (name.startsWith("aria-")) made.setAttribute(name, `${value}`);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false && value != null) made.setAttribute(name, value);
  }
  made.append(...children.flat().filter((child) => child != null && child !== false));
  return made;
}

// element("button", { class: "primary", onclick }, "Go"): attributes, handlers and children at once.
export const element = (name, attributes = {}, ...children) =>
  fill(document.createElement(name), attributes, children);
export const shape = (name, attributes = {}, ...children) =>
  fill(document.createElementNS(kSvg, name), attributes, children);

export const byId = (id) => document.getElementById(id);

let ids = 0;
export const freshId = (prefix) => `${prefix}-${++ids}`;

export const clamp = (value, least, most) => Math.max(least, Math.min(most, value));

export function showTip(at, ...content) {
  const tip = byId("tip");
  tip.replaceChildren(...content);
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  const kGap = 16,
    kEdge = 8;
  const below = at.clientY + kGap + box.height + kEdge < innerHeight;
  tip.style.left = `${clamp(at.clientX + kGap, kEdge, Math.max(kEdge, innerWidth - box.width - kEdge))}px`;
  tip.style.top = `${Math.max(kEdge, below ? at.clientY + kGap : at.clientY - box.height - kGap)}px`;
}
export const hideTip = () => {
  byId("tip").hidden = true;
};

// Spoken by screen readers, not seen.
export const announce = (text) => {
  byId("live").textContent = text;
};

export function save(blob, name) {
  const link = element("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  const kLongEnough = 10_000;
  setTimeout(() => URL.revokeObjectURL(link.href), kLongEnough);
}

// Calls after the last of many calls, when `pause` milliseconds were quiet.
export function debounce(pause, call) {
  let timer = 0;
  return (...values) => {
    clearTimeout(timer);
    timer = setTimeout(() => call(...values), pause);
  };
}

// Makes a canvas as sharp as the screen and gives its context in CSS pixels.
export function sharpContext(canvas, width, height) {
  const dense = devicePixelRatio || 1;
  canvas.width = Math.round(width * dense);
  canvas.height = Math.round(height * dense);
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const context = canvas.getContext("2d");
  context.scale(dense, dense);
  return context;
}

// Calls with the element's width now and whenever it changes; elements that are not shown have none.
export function followWidth(watched, call) {
  let last = 0;
  new ResizeObserver(() => {
    const width = Math.floor(watched.clientWidth);
    if (width === 0 || width === last) return;
    last = width;
    call(width);
  }).observe(watched);
}
