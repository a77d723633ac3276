// What each page of the studio for texts does, and the pages that show what is there. What is checked depends on what
// /v1/models says; no answer's words are known beforehand.
import assert from "node:assert/strict";
import { button, can, checkAttention, coloursOf, kHttpError, readable, text } from "./checks.mjs";

export async function welcome(studio, models) {
  await studio.withPage({ isFirstVisit: true }, async (page) => {
    await page.goto(studio.base);
    await page.waitForSelector('[data-page="welcome"]');
    const tiles = await page.locator(".tile").count();
    assert.ok(tiles >= 2, `${tiles} tiles`);
    const links = await page.locator(".tile a").evaluateAll((made) => made.map((link) => link.hash));
    for (const { id } of can(models, "translate", "complete", "fill", "classify", "embed", "answer", "music", "image"))
      assert.ok(
        links.some((hash) => new URLSearchParams(hash.split("?")[1]).get("model") === id),
        `${id} can be tried`,
      );
    await studio.shoot(page, "welcome");
    const link = page.locator(".tile a").first();
    const [name, query] = (await link.evaluate((made) => made.hash)).slice(2).split("?");
    await link.click();
    await page.waitForSelector(`[data-page="${name}"]`);
    const wanted = new URLSearchParams(query).get("text");
    if (wanted) assert.equal(await page.locator("textarea").first().inputValue(), wanted);
    await page.goto(`${studio.base}#/`);
    await page.reload();
    await page.waitForSelector('[data-page="overview"]'); // welcomed once is enough
  });
}

export async function overview(studio, models, pages) {
  await studio.withPage({}, async (page) => {
    await page.goto(studio.base);
    await page.waitForSelector('[data-page="overview"]');
    assert.equal(await page.locator(".model-card").count(), models.length);
    assert.equal(await page.locator("#pages a").count(), pages.length);
    await page.getByText("ok", { exact: true }).waitFor();
    assert.match(await text(page.locator("#server")), new RegExp(`^${models.length} model`));
    await page.getByText("All metrics").click();
    await page.locator("details tbody tr").first().waitFor();
    for (const model of models) {
      const name = page.getByRole("heading", { name: model.id, exact: true });
      const said = await text(page.locator(".model-card", { has: name }));
      if (model.parameters) assert.match(said, /[\d.]+[kM]? parameters/);
      if (model.examples?.length && can([model], "complete", "translate").length)
        assert.ok(said.includes(model.examples[0]), `${model.id} shows an example`);
    }
    await studio.shoot(page, "overview");
    const link = page.getByRole("link", { name: "Try it" }).first();
    const name = (await link.evaluate((made) => made.hash)).slice(2).split("?")[0];
    await link.click();
    await page.waitForSelector(`[data-page="${name}"]`);
  });
}

export async function translate(studio, models) {
  await studio.withPage({}, async (page) => {
    await studio.open(page, "translate");
    const lines = page.locator(".translation .line");
    await lines.first().waitFor();
    const source = page.locator("textarea");
    const [model] = can(models, "translate");
    if (model.examples?.length > 0)
      assert.equal(await source.inputValue(), model.examples[0], "a sentence that the model knows");
    assert.ok(
      (await lines.allInnerTexts()).every((line) => line.trim() !== ""),
      "the example is translated",
    );
    const tries = page.locator(".try-one");
    if ((await tries.count()) > 1) {
      await tries.nth(1).click();
      assert.equal(await source.inputValue(), model.examples[1]);
      await lines.first().waitFor();
    }
    await source.fill("");
    await page.waitForFunction(() => document.querySelectorAll(".translation li").length === 0);
    await source.pressSequentially("Two men", { delay: 20 });
    await lines.first().waitFor();
    await source.fill("A dog runs.\n\nTwo children sit on a bench.\nA woman sings.");
    await page.waitForFunction(() => document.querySelectorAll(".translation .line").length === 3);
    assert.equal(await page.locator(".translation li").count(), 4, "empty lines stay");
    await lines.nth(1).click();
    assert.equal(await lines.nth(1).getAttribute("aria-pressed"), "true");
    if (model.abilities.includes("attention")) {
      await checkAttention(page, page.locator("[data-page=translate]"));
      await rowsAreWhatIsWritten(page);
      await studio.shoot(page, "translate-heat");
      await page.getByRole("radio", { name: "Lines" }).click();
    }
    await button(page, "Other translations of this line").click();
    await page.locator(".others li").first().waitFor();
    await studio.shoot(page, "translate");
    await readable(page);
    await studio.checkAccess(page, "translate");
  });
}

// A row of cross-attention stands for the word that it wrote, not for the one that was read to write it.
async function rowsAreWhatIsWritten(page) {
  const view = page.locator("[data-page=translate] .attention");
  await page.getByRole("radio", { name: "Cross" }).click();
  const rows = await view.locator(".heat-rows div").allInnerTexts();
  assert.equal(rows.at(-1), "</s>");
  assert.ok(!rows.includes("<s>"), `${rows} are written`);
  await page.getByRole("radio", { name: "Decoder" }).click();
  const columns = await view.locator(".heat-columns div").allInnerTexts();
  assert.equal(columns[0], "<s>");
}

export async function complete(studio, models) {
  await studio.withPage({}, async (page, watched) => {
    await studio.open(page, "complete");
    const [model] = can(models, "complete");
    if (model.examples?.length > 0)
      assert.equal(await page.getByLabel("Prompt").inputValue(), model.examples[0]);
    assert.equal(await page.locator(".surprise span").count(), 5, "the colours have a legend");
    await page.getByLabel("Prompt").fill("The weather today is");
    await page.getByLabel("Tokens", { exact: true }).fill("24");
    await page.getByLabel("Seed").fill("7");
    await page.getByLabel("Prompt").focus();
    await page.keyboard.press("Control+Enter");
    await page.waitForFunction(() =>
      /second\. .+\./.test(document.querySelector("[data-page=complete] .strip-status").textContent),
    );
    const tokens = page.locator(".token");
    const count = await tokens.count();
    assert.ok(count > 0 && count <= 24, `${count} tokens`);
    const first = await text(page.locator(".strip"));
    await tokens.first().hover();
    assert.match(await text(page.locator("#tip")), /bits of surprise[^]*%/);
    assert.match(await tokens.first().getAttribute("class"), /\bs[0-4]\b/);
    await tokens.first().focus();
    await page.keyboard.press("End");
    assert.equal(await tokens.last().evaluate((token) => token === document.activeElement), true);
    assert.match(await text(page.locator(".alternatives")), /%/);
    await button(page, "Complete").click(); // the same seed writes the same text
    await page.waitForFunction((wanted) => document.querySelectorAll(".token").length === wanted, count);
    assert.equal(await text(page.locator(".strip")), first);
    if (model.abilities.includes("attention")) {
      await button(page, "Show the attention of the text").click();
      await checkAttention(page, page.locator("[data-page=complete]"));
    }
    await studio.shoot(page, "complete");
    await readable(page);
    await studio.checkAccess(page, "complete");
    await branchAndStop(page);
    await errorInPlace(page, watched);
  });
}

async function branchAndStop(page) {
  const status = page.locator("[data-page=complete] .strip-status");
  await page.locator(".token").nth(2).click();
  const other = page.locator(".alternatives button.alternative").first();
  await other.focus();
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.querySelectorAll(".token").length > 0);
  await page.getByLabel("Tokens", { exact: true }).fill("400");
  await page.getByRole("button", { name: /^(Complete|Start again)$/ }).click();
  await page.waitForFunction(() => document.querySelectorAll(".token").length > 2);
  const stop = button(page, "Stop");
  if (await stop.isEnabled()) await stop.click({ timeout: 1000 }).catch(() => {}); // a small model may be faster
  await page.waitForFunction(() =>
    /second\. .+\./.test(document.querySelector("[data-page=complete] .strip-status").textContent),
  );
  assert.match(await text(status), /Stopped|ended|limit/);
}

async function errorInPlace(page, watched) {
  watched.expected = kHttpError;
  await page.getByLabel("Tokens", { exact: true }).fill("-3");
  await button(page, "Complete").click();
  const notice = page.locator("[data-page=complete] .notice").first();
  await notice.waitFor();
  assert.match(await text(notice), /^Tokens must be .*, not -3\.$/);
  assert.equal(await page.getByLabel("Tokens", { exact: true }).getAttribute("aria-invalid"), "true");
  watched.expected = null;
}

export async function understand(studio, models) {
  await studio.withPage({}, async (page) => {
    await studio.open(page, "understand");
    const tab = async (name) => page.getByRole("radio", { name, exact: true }).click();
    if (can(models, "fill").length > 0) {
      await tab("Fill gaps");
      await button(page, "Fill the gaps").click();
      await page.locator(".gap-words").first().waitFor();
      const gaps = await page.locator(".gap-words").count();
      await studio.shoot(page, "understand-fill");
      await page.locator(".gap-words button.alternative").first().click();
      await page.waitForFunction((left) => document.querySelectorAll(".gap-words").length === left, gaps - 1);
    }
    if (can(models, "classify").length > 0) {
      await tab("Classify");
      await page.getByLabel("Texts, one per line").fill("the cat\na dog");
      await button(page, "Classify").click();
      await page.locator(".answer .badge").nth(1).waitFor();
      await studio.shoot(page, "understand-classify");
      await page.getByLabel("Texts, one per line").fill("another text");
      assert.equal(await page.locator(".answer .badge").count(), 0, "an answer to another text is gone");
    }
    if (can(models, "embed").length > 0) {
      await tab("Compare");
      await page.getByLabel("Texts, one per line").fill("the cat\na dog\na bird");
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
    await studio.checkAccess(page, "understand");
  });
}

export async function ask(studio) {
  await studio.withPage({}, async (page) => {
    await studio.open(page, "ask");
    await page.getByLabel("A story and a question").fill("the cat ran\na dog\nwho ran?");
    await button(page, "Answer", { exact: true }).click();
    await page.locator(".answer .badge").waitFor();
    await page.locator(".answer .cells-canvas").waitFor();
    await studio.shoot(page, "ask");
    await page.getByLabel("A story and a question").fill("another story");
    assert.equal(await page.locator(".answer .badge").count(), 0, "an answer to another story is gone");
    await readable(page);
    await studio.checkAccess(page, "ask");
  });
}

export async function training(studio) {
  await studio.withPage({}, async (page) => {
    await studio.open(page, "training");
    await page.locator(".chart .line").first().waitFor();
    assert.ok((await page.locator(".facts dd").count()) >= 3, "facts of the run");
    await axesFit(page);
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
    await studio.checkAccess(page, "training");
  });
}

// No label of an axis reaches out of its picture.
async function axesFit(page) {
  const outside = await page.locator(".chart text").evaluateAll((made) =>
    made
      .filter((label) => label.checkVisibility())
      .filter((label) => {
        const inner = label.getBoundingClientRect(),
          outer = label.ownerSVGElement.getBoundingClientRect();
        return (
          inner.left < outer.left - 0.5 ||
          inner.right > outer.right + 0.5 ||
          inner.bottom > outer.bottom + 0.5
        );
      })
      .map((label) => label.textContent),
  );
  assert.deepEqual(outside, []);
}

// From one query to all layers, with numbers that are softmaxes of each other.
export async function attention(studio) {
  await studio.withPage({}, async (page) => {
    await studio.open(page, "attention");
    const title = page.locator("[data-page=attention] .card h2[tabindex]");
    await title.waitFor();
    const next = button(page, "Next →");
    const steps = await page.locator(".step-name").allInnerTexts();
    assert.equal(steps.length, 7);
    for (let step = 1; step <= steps.length; ++step) {
      assert.match(await text(title), new RegExp(`^${step} of 7: `));
      assert.equal(await page.locator(".step-name[aria-current=step]").count(), 1);
      assert.ok((await page.locator(".truth").count()) > 0, "what is real is said");
      if (step === 3) await weightsAreASoftmax(page);
      if (step === 5) assert.ok((await coloursOf(page.locator(".step .cells-canvas"))) > 2);
      if (step === 6) await page.locator(".heads .thumb").last().click();
      await studio.shoot(page, `attention-${step}`);
      await readable(page);
      await studio.checkAccess(page, "attention");
      if (step === steps.length) break;
      await next.focus();
      await page.keyboard.press("Enter");
      assert.equal(await title.evaluate((made) => made === document.activeElement), true);
    }
    assert.equal(await next.isDisabled(), true);
    await button(page, "← Back").click();
    assert.match(await text(title), /^6 of 7/);
    await page.getByLabel("Text", { exact: true }).fill("another text");
    assert.equal(await title.isVisible(), false, "the numbers of another text are gone");
    await page.keyboard.press("Enter");
    await title.waitFor();
  });
}

async function weightsAreASoftmax(page) {
  const rows = await page
    .locator(".keys-table tbody tr:not(.masked)")
    .evaluateAll((made) =>
      made.map((row) => [...row.querySelectorAll("td")].slice(0, 3).map((cell) => cell.textContent)),
    );
  const number = (said) => Number(said.replace("−", "-"));
  const total = rows.reduce((sum, [, power]) => sum + number(power), 0);
  const weights = rows.map(([, , weight]) => number(weight));
  assert.ok(Math.abs(weights.reduce((sum, weight) => sum + weight, 0) - 1) < 0.02, `${weights} add up to 1`);
  rows.forEach(([score, power, weight]) => {
    if (score !== "below −87")
      assert.ok(Math.abs(Math.exp(number(score)) - number(power)) < 0.01, `e^${score}`);
    assert.ok(Math.abs(number(power) / total - number(weight)) < 0.01, `${power} of ${total}`);
  });
}
