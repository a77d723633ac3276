// What all pages do. A page's own script follows, and has choose(change), through which every change of its state goes.
const $ = (id) => document.getElementById(id);
const data = JSON.parse($("data").textContent);
const kMean = -1;  // the "head" that stands for all of them
const headName = (head) => (head === kMean ? "all heads" : `head ${head}`);
const headText = (head) => (head === kMean ? "all" : `${head}`);

// The state that the address asks for.
const hash = new URLSearchParams(location.hash.slice(1));
const hashNumber = (name) => (/^\d+$/.test(hash.get(name) ?? "") ? Number(hash.get(name)) : undefined);

function meanOf(heads) {
  const mean = new Float32Array(heads[0].length);
  for (const weights of heads) weights.forEach((w, i) => { mean[i] += w / heads.length; });
  return mean;
}

function fill(made, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made[key] = value;
    else made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}
const element = (name, attributes = {}, ...children) => fill(document.createElement(name), attributes, children);

function options(select, values, chosen) {
  select.replaceChildren(...values.map(([value, text]) => new Option(text, value, false, value === chosen)));
}

function showTip(event, ...content) {
  const tip = $("tip");
  tip.replaceChildren(...content);
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  tip.style.left = `${Math.min(event.clientX + 16, innerWidth - box.width - 8)}px`;
  tip.style.top = `${Math.min(event.clientY + 18, innerHeight - box.height - 8)}px`;
}

const systemTheme = () => (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
const otherTheme = () => (document.documentElement.dataset.theme === "dark" ? "light" : "dark");
function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  $("theme").textContent = theme === "dark" ? "Light theme" : "Dark theme";
}

// The heading, and the controls that all pages have.
function followControls() {
  $("title").textContent = data.title;
  $("layer").onchange = (event) => choose({ layer: Number(event.target.value) });
  $("head").onchange = (event) => choose({ head: Number(event.target.value) });
  $("stretch").onchange = (event) => choose({ stretch: event.target.checked });
}
