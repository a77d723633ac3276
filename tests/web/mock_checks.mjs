// What only the mock server can show: no models, a key, errors at will, long texts, and runs that have just begun.
import assert from "node:assert/strict";
import { button, kHttpError, Studio, text } from "./checks.mjs";
import { startMock } from "./mock_server.mjs";

export async function noModels(studio) {
  const mock = await startMock({ empty: true });
  const empty = new Studio({ ...studio, base: mock.url });
  await empty.withPage({}, async (page) => {
    await page.goto(mock.url);
    await page.waitForSelector("[data-page=overview]");
    assert.equal(await page.locator("#pages a").count(), 2);
    assert.equal(await page.locator(".missing li").count(), 8);
    await empty.shoot(page, "no-models");
    for (const link of ["translate", "complete", "understand", "ask", "music", "images", "training", "attention"]) {
      await page.goto(`${mock.url}#/${link}`);
      await page.locator(".empty code", { hasText: "heed serve" }).waitFor();
    }
    await empty.shoot(page, "no-run");
  });
  mock.stop();
}

export async function apiKey(studio) {
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

// Errors come in the page's own words, and what was shown of another text goes away.
export async function failures(studio) {
  await studio.withPage({}, async (page, watched) => {
    watched.expected = /Failed to load resource/;
    await studio.open(page, "translate");
    const map = page.locator("[data-page=translate] .attention");
    await map.waitFor();
    const refuse = (path, status, body, headers = {}) =>
      page.route(path, (route) =>
        route.fulfill({ status, headers: { "content-type": "application/json", ...headers }, body }),
      );
    const said = (message, more = {}) => JSON.stringify({ error: { message, ...more } });
    await refuse("**/v1/attention", 400, said("[attention] a text has 300 tokens, expected at most 256"));
    await page.locator("textarea").fill("Another text.");
    const notice = page.locator("[data-page=translate] .notice:not([hidden])");
    await notice.waitFor();
    assert.equal(await text(notice), "This text has 300 tokens; the model takes 256 at most. Shorten it.");
    assert.equal(await map.isVisible(), false, "the map of another text is gone");
    await refuse("**/translate", 429, said("all slots are taken"), { "retry-after": "7" });
    await page.locator("textarea").fill("A third text.");
    await page.getByText("The server is busy. Try again in 7 seconds.").waitFor();
    assert.equal(await page.locator(".translation .line").count(), 0, "so is its translation");
    await page.unroute("**/translate");
    await refuse("**/translate", 500, said("[translate] bad_alloc"));
    await page.locator("textarea").fill("A fourth text.");
    await page.getByText("Something went wrong on the server.").waitFor();
    for (const shown of await page.locator(".notice").allInnerTexts())
      assert.doesNotMatch(shown, /\[|\]|\b[45]\d\d\b/);
  });
}

// Of a text that is longer than attention takes, the end is shown.
export async function longText(studio) {
  await studio.withPage({}, async (page) => {
    await studio.open(page, "complete");
    await page.getByLabel("Prompt").fill("word ".repeat(300));
    await button(page, "Show the attention of the text").click();
    await page.getByText("these are its last 256 tokens").waitFor();
    await page.locator("[data-page=complete] .cells").waitFor();
    await page.getByLabel("Prompt").fill("a short text");
    assert.equal(await page.locator("[data-page=complete] .cells").isVisible(), false, "a stale map is gone");
    await page.getByLabel("Model", { exact: true }).selectOption("letters"); // has no examples
    assert.equal(await page.getByLabel("Prompt").inputValue(), "a short text", "what was typed stays");
    assert.match(await text(page.locator(".surprise")), /under 0\.3 bits/); // a small vocabulary
    await page.getByLabel("Prompt").fill("");
    await page.getByLabel("Model", { exact: true }).selectOption("gpt2");
    assert.equal(await page.getByLabel("Prompt").inputValue(), "The old lighthouse keeper opened");
  });
}

// The ways in which a model decodes are its own, and a translation that fills in can be walked through.
export async function decodings(studio) {
  await studio.withPage({}, async (page, watched) => {
    await studio.open(page, "translate");
    const how = page.getByLabel("Decoding", { exact: true }).and(page.locator("select"));
    assert.deepEqual(await how.locator("option").allInnerTexts(), ["Greedy", "Beam"]);
    assert.equal(await how.inputValue(), "beam");
    const asked = page.waitForRequest((request) => request.postDataJSON()?.beam === 7);
    await page.getByLabel("Beam", { exact: true }).fill("7");
    assert.equal((await asked).postDataJSON().decoding, "beam");
    await how.selectOption("greedy");
    await page.getByText("The likeliest token at each step.").waitFor();
    await button(page, "Other translations of this line").waitFor({ state: "detached" });

    await page.getByLabel("Model", { exact: true }).selectOption("en-de-refine");
    assert.equal(await how.inputValue(), "refine");
    await page.locator("textarea").fill("Two dogs are playing in the snow.");
    const caption = page.locator(".fill-caption");
    await page.locator(".fill-tokens", { hasText: "Schnee" }).waitFor();
    assert.match(await text(caption), /^Pass 4 of 4/);
    assert.equal(await page.locator(".fill-tokens .open").count(), 0, "the last pass has all tokens");
    const tokens = page.locator(".fill-tokens li");
    const last = await tokens.allInnerTexts();
    assert.ok(await button(page, "Next").isDisabled());
    for (let pass = 3; pass >= 1; --pass) await button(page, "Previous").click();
    assert.match(await text(caption), /^Pass 1 of 4: \d+ new, \d+ still open\.$/);
    assert.ok(await button(page, "Previous").isDisabled());
    await studio.checkAccess(page, "fill");
    await studio.shoot(page, "translate-fill");
    await button(page, "Next").click();
    assert.equal(await page.locator(".fill-tokens .changed").count(), 1);
    await button(page, "Play").click();
    await caption.filter({ hasText: "Pass 4 of 4" }).waitFor();
    await button(page, "Play").waitFor(); // it has stopped by itself
    assert.deepEqual(
      (await tokens.allInnerTexts()).map((shown) => shown.split(" (")[0]),
      last.map((shown) => shown.split(" (")[0]),
    );
    await page.getByText("All passes as a table").click();
    await page.locator(".fill tbody tr").nth(3).waitFor();

    watched.expected = kHttpError;
    await page.getByLabel("Iterations", { exact: true }).fill("1000");
    const notice = page.locator("[data-page=translate] .notice:not([hidden])").first();
    await notice.waitFor();
    assert.match(await text(notice), /Iterations/);
    assert.equal(await page.getByLabel("Iterations", { exact: true }).getAttribute("aria-invalid"), "true");
    assert.equal(await page.locator(".fill").isVisible(), false, "what is shown belongs to the answer");
  });
  for (const [name, settings] of Object.entries({
    phone: { viewport: { width: 360, height: 740 } },
    dark: { colorScheme: "dark" },
  }))
    await studio.withPage(settings, async (page) => {
      await page.goto(`${studio.base}#/translate?model=en-de-refine`);
      await page.locator(".fill-tokens li").first().waitFor();
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      assert.ok(wide <= 0, `${name}: the page is ${wide} pixels wider than the screen`);
      await studio.checkAccess(page, name);
      await studio.shoot(page, `translate-fill-${name}`);
    });
}

// Runs with one point, and with none.
export async function shortRuns(studio) {
  await studio.withPage({}, async (page) => {
    await studio.open(page, "training");
    const run = page.getByRole("combobox", { name: "Run" });
    await page.getByText("training, moving average").waitFor();
    await page.getByText("label smoothing (0.1)").waitFor();
    assert.equal(await page.locator("figcaption strong", { hasText: "BLEU" }).count(), 1);
    await run.selectOption("short");
    // A run that goes on is drawn again and again, so whatever is measured is measured at once.
    const inside = await page.waitForFunction(() => {
      const chart = document.querySelector(".chart");
      const point = chart?.querySelector("circle")?.getBoundingClientRect();
      if (!point) return null;
      const { left, right } = chart.getBoundingClientRect();
      return { left: point.left - left, right: right - point.right };
    });
    const { left, right } = await inside.jsonValue();
    assert.ok(left > 20 && right > 10, `the only point is in sight: ${left} and ${right} pixels inside`);
    await studio.shoot(page, "training-short");
    await run.selectOption("begun");
    await page.locator(".chart", { hasText: "nothing yet" }).first().waitFor();
  });
}

// A model of pairs gets both texts.
export async function pairs(studio) {
  await studio.withPage({}, async (page) => {
    await page.goto(`${studio.base}#/understand?model=entailment&task=classify`);
    await page.waitForSelector("[data-page=understand]");
    assert.equal(await page.getByLabel("Second text").inputValue(), "An animal moves.");
    await button(page, "Classify").click();
    await page.locator(".answer .badge").first().waitFor();
    await page.getByLabel("Model", { exact: true }).selectOption("reviews");
    assert.equal(await page.getByLabel("Second text").isVisible(), false);
  });
}
