// Light and dark, and the colours that canvases draw with.
import { byId } from "./dom.js";

const root = document.documentElement;
const kStored = "heed-theme";
const changes = new EventTarget();

// Canvases do not follow style sheets: whoever draws one redraws it here.
export const onTheme = (call) => changes.addEventListener("change", call);

export const colour = (name) => getComputedStyle(root).getPropertyValue(name).trim();
export const colours = (name) => colour(name).split(/\s+/);

const rgb = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));

// 256 colours as canvases hold them: opacity, blue, green, red.
let ramp = null;
function readRamp() {
  const stops = colours("--ramp").map(rgb);
  return Uint32Array.from({ length: 256 }, (_, i) => {
    const at = (i / 255) * (stops.length - 1);
    const low = Math.min(Math.floor(at), stops.length - 2);
    const [red, green, blue] = stops[low].map((from, c) =>
      Math.round(from + (stops[low + 1][c] - from) * (at - low)),
    );
    return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
  });
}

// The ramp's colour for a share from 0 to 1.
export function rampColour(share) {
  ramp ??= readRamp();
  return ramp[Math.round(255 * Math.max(0, Math.min(1, share || 0)))];
}

export function rampCss(share) {
  const packed = rampColour(share);
  return `rgb(${packed & 255} ${(packed >> 8) & 255} ${(packed >> 16) & 255})`;
}

function set(theme) {
  root.dataset.theme = theme;
  ramp = null;
  byId("theme").textContent = theme === "dark" ? "Light theme" : "Dark theme";
  changes.dispatchEvent(new Event("change"));
}

export function followTheme() {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  set(root.dataset.theme);
  byId("theme").onclick = () => {
    const theme = root.dataset.theme === "dark" ? "light" : "dark";
    localStorage.setItem(kStored, theme);
    set(theme);
  };
  dark.addEventListener("change", () => {
    if (!localStorage.getItem(kStored)) set(dark.matches ? "dark" : "light");
  });
}
