// Drives the studio in Chromium: every page does its job, by mouse and by keyboard, wide and narrow, light and dark.
//   node tests/web/studio_test.mjs [--base URL] [--key KEY] [--shots FOLDER] [--deps FOLDER] [--only NAME,...] [--wait SECONDS]
// Without --base it starts the mock server, and also checks what only that one can show: no models, and an API key.
// What is checked of a page depends on what /v1/models says; no answer's words are known beforehand.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { parseArgs } from "node:util";
import { checkAttention, coloursOf, contrast, loadPlaywright, readabilityFaults, Studio } from "./checks.mjs";
import * as answers from "./mock_answers.mjs";
import { startMock } from "./mock_server.mjs";

const { values: options } = parseArgs({
  options: {
    base: { type: "string" },
    key: { type: "string" },
    shots: { type: "string" },
    deps: { type: "string" },
    only: { type: "string" },
    wait: { type: "string", default: "60" },
    chromium: { type: "string", default: "/usr/bin/chromium" },
  },
});

const kHttpError = /Failed to load resource.*(400|401|404|429)/;

const can = (models, ...abilities) =>
  models.filter((model) => abilities.some((ability) => model.abilities.includes(ability)));
const text = (locator) => locator.innerText();
const button = (page, name) => page.getByRole("button", { name, exact: true });

async function setSlider(page, label, value) {
  await page.getByRole("slider", { name: label }).evaluate((input, number) => {
    input.value = number;
    input.dispatchEvent(new Event("input"));
  }, `${value}`);
}

function pagesFor(models, runs) {
  return [
    "overview",
    can(models, "translate").length && "translate",
    can(models, "complete").length && "complete",
    can(models, "fill", "classify", "embed").length && "understand",
    can(models, "music").length && "music",
    can(models, "image").length && "images",
    runs.length && "training",
  ].filter(Boolean);
}

// --- One check per page

async function overview(studio, models, pages) {
  await studio.withPage({}, async (page) => {
    await page.goto(studio.base);
    await page.waitForSelector('[data-page="overview"]');
    assert.equal(await page.locator(".model-card").count(), models.length);
    assert.equal(await page.locator("nav a").count(), pages.length);
    await page.getByText("ok", { exact: true }).waitFor();
    assert.match(await text(page.locator("#server")), new RegExp(`^${models.length} model`));
    await page.getByText("All metrics").click();
    assert.ok((await page.locator("details tbody tr").count()) > 0, "metrics are listed");
    await studio.shoot(page, "overview");
    const link = page.locator("a.ability").first();
    const name = new URL(await link.evaluate((made) => made.href)).hash.slice(2).split("?")[0];
    await link.click();
    await page.waitForSelector(`[data-page="${name}"]`);
  });
}

async function translate(studio, models) {
  await studio.withPage({}, async (page) => {
    await studio.open(page, "translate");
    const lines = page.locator(".translation .line");
    await lines.first().waitFor();
    const before = await lines.allInnerTexts();
    assert.ok(
      before.every((line) => line.trim() !== ""),
      "the example is translated",
    );
    const source = page.locator("textarea");
    await source.fill("");
    await page.waitForFunction(() => document.querySelectorAll(".translation li").length === 0);
    await source.pressSequentially("Two men", { delay: 20 });
    await lines.first().waitFor();
    await source.fill("A dog runs.\n\nTwo children sit on a bench.\nA woman sings.");
    await page.waitForFunction(() => document.querySelectorAll(".translation .line").length === 3);
    assert.equal(await page.locator(".translation li").count(), 4, "empty lines stay");
    await lines.nth(1).click();
    assert.equal(await lines.nth(1).getAttribute("aria-pressed"), "true");
    if (can(models, "translate")[0].abilities.includes("attention")) {
      await checkAttention(page, page.locator("[data-page=translate]"));
      await studio.shoot(page, "translate-heat");
      await page.getByRole("radio", { name: "Lines" }).click();
    }
    await button(page, "Other translations of this line").click();
    await page.locator(".others li").first().waitFor();
    await studio.shoot(page, "translate");
    await readable(page);
  });
}

async function complete(studio, models) {
  await studio.withPage({}, async (page, watched) => {
    await studio.open(page, "complete");
    await page.getByLabel("Prompt").fill("The weather today is");
    await page.getByLabel("Tokens", { exact: true }).fill("24");
    await page.getByLabel("Seed").fill("7");
    await page.getByLabel("Prompt").focus();
    await page.keyboard.press("Control+Enter");
    await page.waitForFunction(() =>
      /second\. .+\./.test(document.querySelector("[data-page=complete] [role=status]").textContent),
    );
    const tokens = page.locator(".token");
    const count = await tokens.count();
    assert.ok(count > 0 && count <= 24, `${count} tokens`);
    const first = await text(page.locator(".strip"));
    await tokens.first().hover();
    assert.match(await text(page.locator("#tip")), /%/);
    await tokens.first().focus();
    await page.keyboard.press("End");
    assert.equal(await tokens.last().evaluate((token) => token === document.activeElement), true);
    assert.match(await text(page.locator(".alternatives")), /%/);
    await button(page, "Complete").click(); // the same seed writes the same text
    await page.waitForFunction((wanted) => document.querySelectorAll(".token").length === wanted, count);
    assert.equal(await text(page.locator(".strip")), first);
    if (can(models, "complete")[0].abilities.includes("attention")) {
      await button(page, "Show the attention of the text").click();
      await checkAttention(page, page.locator("[data-page=complete]"));
    }
    await studio.shoot(page, "complete");
    await readable(page);
    await branchAndStop(page);
    await errorInPlace(page, watched);
  });
}

async function branchAndStop(page) {
  const status = page.locator("[data-page=complete] [role=status]");
  await page.locator(".token").nth(2).click();
  const other = page.locator(".alternatives button.alternative").first();
  await other.focus();
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.querySelectorAll(".token").length > 0);
  await page.getByLabel("Tokens", { exact: true }).fill("400");
  await page.getByRole("button", { name: /^(Complete|Start again)$/ }).click();
  await page.waitForFunction(() => document.querySelectorAll(".token").length > 2);
  const stop = button(page, "Stop");
  if (await stop.isEnabled()) await stop.click().catch(() => {}); // a small model may be faster
  await page.waitForFunction(() =>
    /second\. .+\./.test(document.querySelector("[data-page=complete] [role=status]").textContent),
  );
  assert.match(await text(status), /Stopped|ended|Cut/);
}

async function errorInPlace(page, watched) {
  watched.expected = kHttpError;
  await page.getByLabel("Tokens", { exact: true }).fill("-3");
  await button(page, "Complete").click();
  const notice = page.locator("[data-page=complete] .notice").first();
  await notice.waitFor();
  assert.match(await text(notice), /400.*max_tokens/s);
  assert.equal(await page.getByLabel("Tokens", { exact: true }).getAttribute("aria-invalid"), "true");
  watched.expected = null;
}

async function understand(studio, models) {
  await studio.withPage({}, async (page) => {
    await studio.open(page, "understand");
    const tab = async (name) => page.getByRole("radio", { name, exact: true }).click();
    if (can(models, "fill").length > 0) {
      await tab("Fill gaps");
      await button(page, "Fill the gaps").click();
      await page.locator(".gap-words").nth(1).waitFor();
      await studio.shoot(page, "understand-fill");
      await page.locator(".gap-words button.alternative").first().click();
      await page.waitForFunction(() => document.querySelectorAll(".gap-words").length === 1);
    }
    if (can(models, "classify").length > 0) {
      await tab("Classify");
      if (can(models, "classify")[0].pairs)
        await page.getByLabel("Second text").fill("A film that one can watch.");
      await button(page, "Classify").click();
      await page.locator(".answer .badge").nth(1).waitFor();
      await studio.shoot(page, "understand-classify");
    }
    if (can(models, "embed").length > 0) {
      await tab("Compare");
      await button(page, "Compare").click();
      await page.locator(".answer .cells-canvas").waitFor();
      assert.ok((await coloursOf(page.locator(".answer .cells-canvas"))) > 2, "likeness is drawn");
      assert.equal(await page.locator(".pairs li").count(), 3);
      await studio.shoot(page, "understand-compare");
    }
    const ask = button(page, "Show the attention of the text");
    if (await ask.isVisible()) {
      await ask.click();
      await checkAttention(page, page.locator("[data-page=understand]"));
    }
    await readable(page);
  });
}

async function music(studio, models) {
  await studio.withPage({}, async (page) => {
    await studio.open(page, "music");
    const roll = page.locator(".roll canvas");
    const notes = async () => {
      await page.getByText("The notes as a table").click();
      await page.locator("details[open] table").waitFor();
      const count = await page.locator("details[open] tbody tr").count();
      await page.getByText("The notes as a table").click();
      return count;
    };
    const example = await notes();
    assert.ok(example > 0, "there is an example");
    await button(page, "Clear").click();
    assert.equal(await notes(), 0);

    const box = await roll.boundingBox(); // two notes by mouse, three by keys
    const drag = async (x, y, by) => {
      await page.mouse.move(box.x + x, box.y + y);
      await page.mouse.down();
      await page.mouse.move(box.x + x + by, box.y + y, { steps: 4 });
      await page.mouse.up();
    };
    await drag(60, 150, 30);
    await drag(140, 120, 50);
    assert.equal(await notes(), 2);
    await roll.focus();
    for (const key of ["End", "d", "f", "ArrowUp", "Enter"]) await page.keyboard.press(key);
    assert.equal(await notes(), 5);
    await page.keyboard.press("Shift+Tab");
    await roll.focus();
    await page.keyboard.press("Control+z");
    assert.equal(await notes(), 4);

    const file = answers.midiFile(
      [60, 64, 67, 72].map((pitch, i) => ({ start: i * 0.5, end: i * 0.5 + 0.4, pitch, velocity: 80 })),
    );
    await page
      .locator("input[type=file]")
      .setInputFiles({ name: "motif.mid", mimeType: "audio/midi", buffer: file });
    await page.getByText("motif.mid: 4 notes").waitFor();
    assert.equal(await notes(), 4);
    await page
      .locator("input[type=file]")
      .setInputFiles({ name: "broken.mid", mimeType: "audio/midi", buffer: file.subarray(0, 40) });
    await page.locator(".notice", { hasText: "cut short" }).waitFor();
    await continueMusic(studio, page, models, { roll, notes });
    await readable(page);
  });
}

async function continueMusic(studio, page, models, { roll, notes }) {
  await page.getByLabel("Begin with").selectOption({ index: 0 });
  if (can(models, "music")[0].form === "chorale") await page.getByLabel("Begin with").selectOption("chorale");
  const motif = await notes();
  await setSlider(page, "New music", 4);
  await page.getByLabel("Seed").fill("3");
  await button(page, "Continue the music").click();
  await page.getByText(/\d+ new notes, /).waitFor();
  assert.ok((await notes()) > motif, "there are new notes");
  assert.ok((await coloursOf(roll)) > 10, "the roll is drawn");
  if (can(models, "music")[0].abilities.includes("attention")) {
    const name = page.locator(".ranked.notes").locator("xpath=preceding-sibling::h3");
    const first = await text(name);
    assert.match(first, /^[A-G]♯?-?\d+ at [\d.]+ s, layer \d+, all heads$/);
    await button(page, "Next note →").click();
    assert.notEqual(await text(name), first);
    await page.getByLabel("Head", { exact: true }).selectOption("0");
    assert.match(await text(name), /head 0$/);
  }
  await studio.shoot(page, "music");
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    button(page, "Download MIDI").click(),
  ]);
  assert.equal(download.suggestedFilename(), "heed.mid");
  await button(page, "Play").click();
  await page.waitForTimeout(400);
  await page.locator(".bar-row").getByRole("button", { name: "Stop" }).click();
  await button(page, "Play").waitFor();
}

async function images(studio, models) {
  await studio.withPage({}, async (page) => {
    for (const model of can(models, "image")) {
      await page.goto(`${studio.base}#/images?model=${encodeURIComponent(model.id)}`);
      await page.waitForSelector("[data-page=images]");
      await setSlider(page, "Images", 2);
      await page.getByLabel("Seed").fill("5");
      const picture = {
        name: "picture.png",
        mimeType: "image/png",
        buffer: Buffer.from(answers.image({ rows: 40, columns: 50, channels: 3 }, 9, 2000), "base64"),
      };
      if (model.enlarges) {
        await page.locator("input[type=file]").setInputFiles(picture);
        await drawn(page, "Enlarge", model);
        await studio.shoot(page, "images-enlarge");
        continue;
      }
      if (model.classes?.length > 0) await page.getByLabel("Class").selectOption({ index: 1 });
      await drawn(page, "Draw", model);
      await studio.shoot(page, "images");
      await button(page, "Vary image 1").click();
      await drawn(page, "Complete", model);
      await page.locator("input[type=file]").setInputFiles(picture);
      await drawn(page, "Complete", model);
      await studio.shoot(page, "images-complete");
    }
    await readable(page);
  });
}

async function drawn(page, action, { columns, rows }) {
  const go = page.locator("button.primary", { hasText: action });
  await page.waitForFunction((made) => !made.disabled, await go.elementHandle());
  await go.click();
  await page
    .locator(".picture-actions")
    .nth(1)
    .waitFor({ timeout: 10 * Number(options.wait) * 1000 }); // pixel after pixel takes its time
  const sizes = await page
    .locator(".pictures img")
    .evaluateAll((made) => made.map((image) => [image.naturalWidth, image.naturalHeight]));
  assert.deepEqual(sizes, [
    [columns, rows],
    [columns, rows],
  ]);
}

async function training(studio) {
  await studio.withPage({}, async (page) => {
    await studio.open(page, "training");
    await page.locator(".chart .line").first().waitFor();
    assert.ok((await page.locator(".facts dd").count()) >= 3, "facts of the run");
    const chart = page.locator(".chart").first();
    await chart.hover();
    assert.match(await text(page.locator("#tip")), /step \d+/);
    await chart.focus();
    await page.keyboard.press("ArrowLeft");
    assert.match(await page.locator("#live").textContent(), /^step \d+: /);
    if ((await text(page.locator(".badge"))) === "training") {
      await page.waitForResponse((response) => /\/v1\/runs\/./.test(response.url())); // it goes on looking
    }
    await studio.shoot(page, "training");
    await readable(page);
  });
}

async function readable(page) {
  assert.deepEqual(await readabilityFaults(page), []);
}

// --- All pages together

async function keyboard(studio, models, pages) {
  await studio.withPage({}, async (page) => {
    await page.goto(studio.base);
    await page.waitForSelector("[data-page=overview]");
    await page.keyboard.press("Tab");
    assert.equal(await page.evaluate(() => document.activeElement.className), "skip");
    await page.keyboard.press("Enter");
    assert.equal(await page.evaluate(() => document.activeElement.id), "page");
    for (const id of pages) {
      await page.locator(`nav a[href="#/${id}"]`).focus();
      await page.keyboard.press("Enter");
      await page.waitForSelector(`[data-page="${id}"]`);
      assert.equal(await page.evaluate(() => document.activeElement.id), "page", "a new page has the focus");
      assert.equal(await page.locator("nav [aria-current=page]").getAttribute("href"), `#/${id}`);
      await readable(page);
    }
  });
}

async function phone(studio, models, pages) {
  await studio.withPage(
    { viewport: { width: 360, height: 740 }, isMobile: true, hasTouch: true, deviceScaleFactor: 2 },
    async (page) => {
      for (const id of pages) {
        await studio.open(page, id);
        await page.waitForTimeout(800); // translations, charts
        const width = await page.evaluate(() => document.documentElement.scrollWidth);
        assert.ok(width <= 360, `${id} is ${width} pixels wide`);
        await studio.shoot(page, `phone-${id}`);
        if (id === "music") await tapNote(page);
      }
      await button(page, "Menu").tap();
      await page.locator("nav a").last().tap();
      await page.waitForSelector(`[data-page="${pages.at(-1)}"]`);
      assert.equal(await page.locator("nav").isVisible(), false, "the menu closes");
    },
  );
}

async function tapNote(page) {
  const roll = page.locator(".roll canvas");
  await roll.scrollIntoViewIfNeeded();
  await roll.tap({ position: { x: 150, y: 60 } });
  assert.equal(await page.getByLabel("Begin with").inputValue(), "own", "a tap puts a note");
}

async function themes(studio, models, pages) {
  const background = (page) => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const seen = [];
  for (const colorScheme of ["light", "dark"]) {
    await studio.withPage({ colorScheme }, async (page) => {
      await studio.open(page, pages.at(-1));
      seen.push(await background(page));
      for (const [one, other] of [
        ["--ink", "--surface"],
        ["--quiet", "--surface"],
        ["--quiet", "--page"],
        ["--accent", "--surface"],
        ["--accent", "--accent-soft"],
        ["--accent-ink", "--accent"],
        ["--bad", "--bad-soft"],
      ]) {
        const ratio = await contrast(page, one, other);
        assert.ok(ratio >= 4.5, `${colorScheme}: ${one} on ${other} has contrast ${ratio.toFixed(2)}`);
      }
      for (const id of colorScheme === "dark" ? pages : []) {
        await studio.open(page, id);
        await page.waitForTimeout(800);
        await studio.shoot(page, `dark-${id}`);
      }
      await page.locator("#theme").click();
      assert.notEqual(await background(page), seen.at(-1));
      await page.reload();
      await page.waitForSelector("[data-page]");
      assert.notEqual(await background(page), seen.at(-1), "the choice is kept");
    });
  }
  assert.notEqual(seen[0], seen[1]);
}

// --- What only the mock can show

async function noModels(studio) {
  const mock = await startMock({ empty: true });
  const empty = new Studio({ ...studio, base: mock.url });
  await empty.withPage({}, async (page) => {
    await page.goto(mock.url);
    await page.waitForSelector("[data-page=overview]");
    assert.equal(await page.locator("nav a").count(), 1);
    assert.equal(await page.locator(".missing li").count(), 6);
    await empty.shoot(page, "no-models");
    for (const link of ["translate", "complete", "understand", "music", "images", "training"]) {
      await page.goto(`${mock.url}#/${link}`);
      await page.locator(".empty code", { hasText: "heed serve" }).waitFor();
    }
    await empty.shoot(page, "no-run");
  });
  mock.stop();
}

async function apiKey(studio) {
  const mock = await startMock({ key: "open sesame" });
  const closed = new Studio({ ...studio, base: mock.url });
  await closed.withPage({}, async (page, watched) => {
    watched.expected = kHttpError;
    await page.goto(mock.url);
    await page.locator("dialog[open]").waitFor();
    await closed.shoot(page, "key");
    await page.getByLabel("Key", { exact: true }).fill("open sesame");
    await page.keyboard.press("Enter");
    await page.waitForSelector("[data-page=overview]");
    watched.expected = null;
    await page.reload();
    await page.waitForSelector("[data-page=overview]");
  });
  mock.stop();
}

// --- All of it

async function main() {
  if (!existsSync(options.chromium)) throw new Error(`No Chromium at ${options.chromium}`);
  const { chromium } = loadPlaywright(options.deps);
  const mock = options.base ? null : await startMock();
  const browser = await chromium.launch({
    executablePath: options.chromium,
    headless: true,
    args: ["--no-sandbox", "--autoplay-policy=no-user-gesture-required"],
  });
  const base = new URL(options.base ?? mock.url).href;
  const studio = new Studio({
    browser,
    base,
    key: options.key,
    shots: options.shots,
    wait: 1000 * Number(options.wait),
  });
  const models = (await studio.get("v1/models")).data.map((model) => ({ id: model.id, ...model.heed }));
  const pages = pagesFor(models, (await studio.get("v1/runs")).runs);
  const perPage = { overview, translate, complete, understand, music, images, training };
  const checks = {
    ...Object.fromEntries(pages.map((id) => [id, perPage[id]])),
    keyboard,
    phone,
    themes,
    ...(mock && { noModels, apiKey }),
  };
  const wanted = options.only?.split(",");
  let failed = 0;
  for (const [name, check] of Object.entries(checks)) {
    if (wanted && !wanted.includes(name)) continue;
    const began = performance.now();
    try {
      await check(studio, models, pages);
      console.log(`passed  ${name} (${((performance.now() - began) / 1000).toFixed(1)} s)`);
    } catch (error) {
      ++failed;
      console.log(`FAILED  ${name}\n${error.stack}\n`);
    }
  }
  for (const id of Object.keys(perPage))
    if (!pages.includes(id)) console.log(`skipped ${id}: nothing here can do it`);
  await browser.close();
  mock?.stop();
  if (failed > 0) process.exitCode = 1;
}

await main();
