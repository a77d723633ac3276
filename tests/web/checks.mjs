// What every check of the studio uses: a browser, a page that is watched for faults, and pictures of it.
import assert from "node:assert/strict";
import { mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export const kHttpError = /Failed to load resource.*(400|401|404|429)/;
export const can = (models, ...abilities) =>
  models.filter((model) => abilities.some((ability) => model.abilities.includes(ability)));
export const text = (locator) => locator.innerText();
export const button = (page, name) => page.getByRole("button", { name, exact: true });

export async function setSlider(page, label, value) {
  await page.getByRole("slider", { name: label }).evaluate((input, number) => {
    input.value = number;
    input.dispatchEvent(new Event("input"));
  }, `${value}`);
}

const kRoot = fileURLToPath(new URL("../..", import.meta.url));

// What tools/web-test-deps.sh installed: {chromium of playwright-core, the source of axe-core}.
export function loadDependencies(folder = join(kRoot, "build/web-test")) {
  const load = createRequire(join(folder, "/"));
  try {
    return {
      chromium: load("playwright-core").chromium,
      axe: readFileSync(load.resolve("axe-core/axe.min.js"), "utf8"),
    };
  } catch (error) {
    throw new Error(
      `No playwright-core or axe-core in ${folder}; run tools/web-test-deps.sh (${error.message.split("\n")[0]})`,
    );
  }
}

// Faults that must not be: errors on the console, uncaught ones, requests to elsewhere. Whoever provokes
// an HTTP error says so with `expected`, since browsers write those to the console too.
export function watch(page, base) {
  const faults = [];
  const watched = { faults, expected: null };
  const isExpected = (text) => watched.expected?.test(text) ?? false;
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type()) && !isExpected(message.text()))
      faults.push(`console: ${message.text()} (${message.location().url})`);
  });
  page.on("pageerror", (error) => faults.push(`uncaught: ${error.stack}`));
  page.on("request", (request) => {
    if (!request.url().startsWith(base) && !/^(data|blob):/.test(request.url()))
      faults.push(`outside request: ${request.url()}`);
  });
  return watched;
}

export class Studio {
  constructor({ browser, axe, base, key, shots, wait }) {
    Object.assign(this, { browser, axe, base, key, shots, wait });
    if (shots) mkdirSync(shots, { recursive: true });
  }

  async get(path) {
    const headers = this.key ? { authorization: `Bearer ${this.key}` } : {};
    const response = await fetch(new URL(path, this.base), { headers });
    assert.equal(response.status, 200, `GET ${path}`);
    return response.json();
  }

  // A page in a browser context of its own; `use` gets (page, watched). Any fault fails the check.
  async withPage({ isFirstVisit = false, ...settings }, use) {
    const context = await this.browser.newContext({
      viewport: { width: 1280, height: 860 },
      acceptDownloads: true,
      ...settings,
    });
    const page = await context.newPage();
    page.setDefaultTimeout(this.wait);
    if (this.key) await page.addInitScript((key) => sessionStorage.setItem("heed-api-key", key), this.key);
    if (!isFirstVisit) await page.addInitScript(() => localStorage.setItem("heed-welcomed", "yes"));
    const watched = watch(page, this.base);
    try {
      await use(page, watched);
      assert.deepEqual(watched.faults, []);
    } catch (error) {
      await this.shoot(page, `failed-${Date.now()}`);
      if (watched.faults.length > 0) error.message += `\nfaults: ${watched.faults.join("\n")}`;
      throw error;
    } finally {
      await context.close();
    }
  }

  async open(page, id) {
    await page.goto(`${this.base}#/${id}`);
    await page.waitForSelector(`[data-page="${id}"] h1`);
  }

  // What axe finds on the page as it is now; nothing of it may keep people from using the page.
  async checkAccess(page, name) {
    await page.evaluate(this.axe);
    const { violations } = await page.evaluate(() => globalThis.axe.run({ resultTypes: ["violations"] }));
    const grave = violations
      .filter(({ impact }) => impact === "serious" || impact === "critical")
      .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 160)).join(" ; ")}`);
    assert.deepEqual(grave, [], name);
  }

  async shoot(page, name) {
    if (!this.shots) return;
    await page.evaluate(() => scrollTo(0, 0));
    await page.screenshot({ path: join(this.shots, `${name}.png`), fullPage: true });
  }
}

// How many colours a canvas has: one is an empty picture.
export const coloursOf = (canvas) =>
  canvas.evaluate((element) => {
    const { data } = element.getContext("2d").getImageData(0, 0, element.width, element.height);
    return new Set(new Uint32Array(data.buffer)).size;
  });

// Attention is there, can be switched between views, layers and heads, and is read with the keyboard.
export async function checkAttention(page, scope) {
  const view = scope.locator(".attention");
  await view.waitFor();
  const thumbs = await view.locator(".thumb").count();
  assert.ok(thumbs >= 2, `${thumbs} small pictures`);
  await view.getByRole("radio", { name: "Lines" }).click();
  const lines = view.locator(".lines canvas");
  await lines.waitFor();
  assert.ok((await coloursOf(lines)) > 2, "lines are drawn");
  await view.locator(".word").first().focus();
  await page.waitForFunction(() => /\d/.test(document.getElementById("live").textContent));

  await view.getByRole("radio", { name: "Heat map" }).click();
  const cells = view.locator(".cells");
  await cells.hover({ position: { x: 5, y: 5 } });
  assert.match(await page.locator("#tip").innerText(), /^[\d.e+-]+\s/);
  await cells.focus();
  await page.keyboard.press("ArrowDown");
  assert.match(await page.locator("#live").textContent(), /.+ to .+: [\d.]/);

  const title = view.locator(".attention-title");
  await view.locator(".thumb[aria-selected=true]").focus();
  await page.keyboard.press("ArrowRight");
  assert.match(await title.innerText(), /head 0$/);
  await checkSpecials(view);
  const layers = await view.getByLabel("Layer", { exact: true }).locator("option").allInnerTexts();
  await view.getByLabel("Layer", { exact: true }).selectOption(layers[0]);
  assert.equal(await title.innerText(), `Layer ${layers[0]}, head 0`);
  await view.getByText("As a table").click();
  await view.locator("details tbody tr").first().waitFor();
  await view.getByText("As a table").click();
}

// Tokens that are not text are explained wherever they are shown.
async function checkSpecials(view) {
  const shown = await view.locator(".heat-rows, .heat-columns").allInnerTexts();
  const explained = await view.locator(".specials").innerText();
  for (const token of ["<s>", "</s>", "[CLS]", "[SEP]", "(next)"])
    if (shown.some((side) => side.split("\n").includes(token)))
      assert.ok(explained.includes(`${token} `), `${token} is explained in "${explained}"`);
}

// What screen readers need: names for all controls, one main heading, no id twice, no forced tab order.
const readabilityFaults = (page) =>
  page.evaluate(() => {
    const faults = [];
    const isShown = (element) => element.checkVisibility();
    const nameOf = (element) =>
      element.getAttribute("aria-label") ||
      [...(element.labels ?? [])].map((label) => label.innerText).join("") ||
      element.innerText ||
      element.title;
    for (const element of document.querySelectorAll(
      "button, input, select, textarea, a[href], [role=application]",
    )) {
      if (isShown(element) && !nameOf(element)?.trim())
        faults.push(`no name: ${element.outerHTML.slice(0, 120)}`);
    }
    const headings = [...document.querySelectorAll("h1")].filter(isShown).length;
    if (headings !== 1) faults.push(`${headings} main headings`);
    const ids = [...document.querySelectorAll("[id]")].map((element) => element.id);
    for (const id of new Set(ids.filter((one, i) => ids.indexOf(one) !== i))) faults.push(`id twice: ${id}`);
    for (const element of document.querySelectorAll("[tabindex]"))
      if (element.tabIndex > 0) faults.push(`tabindex ${element.tabIndex}`);
    for (const image of document.querySelectorAll("img:not([alt])"))
      faults.push(`no alt: ${image.outerHTML.slice(0, 80)}`);
    for (const canvas of document.querySelectorAll("canvas")) {
      if (isShown(canvas) && !canvas.closest("[aria-label], [aria-hidden=true]"))
        faults.push("a canvas without words");
    }
    return faults;
  });

// Contrast of two colours of the style sheet, as WCAG counts it.
export const contrast = (page, one, other) =>
  page.evaluate(
    ([a, b]) => {
      const luminance = (name) => {
        const hex = getComputedStyle(document.documentElement).getPropertyValue(name).trim();
        const [red, green, blue] = [1, 3, 5]
          .map((at) => parseInt(hex.slice(at, at + 2), 16) / 255)
          .map((part) => (part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
      };
      const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y);
      return (high + 0.05) / (low + 0.05);
    },
    [one, other],
  );

export async function readable(page) {
  assert.deepEqual(await readabilityFaults(page), []);
}
