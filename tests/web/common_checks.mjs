// What holds for all pages: the keyboard, narrow screens, light and dark, and what axe finds.
import assert from "node:assert/strict";
import { button, contrast, readable } from "./checks.mjs";

export async function keyboard(studio, models, pages) {
  await studio.withPage({}, async (page) => {
    await page.goto(studio.base);
    await page.waitForSelector("[data-page=overview]");
    await page.keyboard.press("Tab");
    assert.equal(await page.evaluate(() => document.activeElement.className), "skip");
    await page.keyboard.press("Enter");
    assert.equal(await page.evaluate(() => document.activeElement.id), "page");
    for (const id of pages) {
      await page.locator(`#pages a[href="#/${id}"]`).focus();
      await page.keyboard.press("Enter");
      await page.waitForSelector(`[data-page="${id}"]`);
      assert.equal(await page.evaluate(() => document.activeElement.id), "page", "a new page has the focus");
      assert.equal(await page.locator("#pages [aria-current=page]").getAttribute("href"), `#/${id}`);
      await readable(page);
    }
  });
}

export async function phone(studio, models, pages) {
  await studio.withPage(
    { viewport: { width: 360, height: 740 }, isMobile: true, hasTouch: true, deviceScaleFactor: 2 },
    async (page) => {
      for (const id of pages) {
        await studio.open(page, id);
        await page.waitForTimeout(800); // translations, charts
        const width = await page.evaluate(() => document.documentElement.scrollWidth);
        assert.ok(width <= 360, `${id} is ${width} pixels wide`);
        await studio.shoot(page, `phone-${id}`);
        await resultsComeFirst(page, id);
        if (id === "music") await tapNote(page);
      }
      await button(page, "Menu").tap();
      await page.locator("#pages a").last().tap();
      await page.waitForSelector(`[data-page="${pages.at(-1)}"]`);
      assert.equal(await page.locator("#pages").isVisible(), false, "the menu closes");
    },
  );
}

// On a narrow screen the settings stand below what they are for, and the main button beside it.
async function resultsComeFirst(page, id) {
  const settings = page.getByRole("heading", { name: "Settings", exact: true });
  if ((await settings.count()) === 0) return;
  const top = (found) => found.evaluate((element) => element.getBoundingClientRect().top);
  const result = page.locator(".strip, .roll, .pictures").first();
  assert.ok((await top(result)) < (await top(settings)), `${id}: the result is above the settings`);
  assert.ok(
    (await top(page.locator("main button.primary"))) < (await top(settings)),
    `${id}: so is its button`,
  );
}

async function tapNote(page) {
  const roll = page.locator(".roll canvas");
  await roll.scrollIntoViewIfNeeded();
  await roll.tap({ position: { x: 150, y: 60 } });
  assert.equal(await page.getByLabel("Motif", { exact: true }).inputValue(), "own", "a tap puts a note");
}

export async function themes(studio, models, pages) {
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
        ["--ink", "--surprise-1"],
        ["--ink", "--surprise-2"],
        ["--ink", "--surprise-3"],
        ["--ink", "--surprise-4"],
      ]) {
        const ratio = await contrast(page, one, other);
        assert.ok(ratio >= 4.5, `${colorScheme}: ${one} on ${other} has contrast ${ratio.toFixed(2)}`);
      }
      for (const id of pages) {
        await studio.open(page, id);
        await settled(page, id);
        await studio.checkAccess(page, `${colorScheme} ${id}`);
        if (colorScheme === "dark") await studio.shoot(page, `dark-${id}`);
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

// Pages that ask the server have their answer, so that axe sees it too.
async function settled(page, id) {
  const shown = {
    translate: ".translation .line",
    training: ".chart .line",
    attention: ".step",
    overview: ".facts dd",
  }[id];
  if (shown) await page.locator(shown).first().waitFor();
  if (id === "complete") {
    await button(page, "Complete").click();
    await page.locator(".token").nth(3).waitFor();
  }
}

export async function notFound(studio) {
  await studio.withPage({}, async (page) => {
    await page.goto(`${studio.base}#/nonsense`);
    await page.getByRole("heading", { name: "Page not found" }).waitFor();
    assert.equal(await page.locator("#pages [aria-current=page]").count(), 0);
    await studio.checkAccess(page, "not found");
    await readable(page);
    await studio.shoot(page, "not-found");
    await page.getByRole("link", { name: "Go to the overview" }).click();
    await page.waitForSelector("[data-page=overview]");
  });
}
