// The pages for music and images.
import assert from "node:assert/strict";
import { button, can, coloursOf, readable, setSlider, text } from "./checks.mjs";
import * as answers from "./mock_answers.mjs";

export async function music(studio, models) {
  await studio.withPage({}, async (page) => {
    await studio.open(page, "music");
    const roll = page.locator(".roll canvas");
    const notes = async () => {
      await page.getByText("Notes as a table").click();
      await page.locator("details[open] table").waitFor();
      const count = await page.locator("details[open] tbody tr").count();
      await page.getByText("Notes as a table").click();
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
    await studio.checkAccess(page, "music");
  });
}

async function continueMusic(studio, page, models, { roll, notes }) {
  await page.getByLabel("Motif", { exact: true }).selectOption({ index: 0 });
  if (can(models, "music")[0].form === "chorale")
    await page.getByLabel("Motif", { exact: true }).selectOption("chorale");
  const motif = await notes();
  assert.equal(await page.locator("[data-page=music] .primary").count(), 1, "one primary button");
  await setSlider(page, "New music", 20);
  await page.getByLabel("Seed").fill("3");
  await button(page, "Continue the music").click();
  await page.getByText(/\d+ new notes, /).waitFor();
  assert.ok((await notes()) > motif, "there are new notes");
  assert.ok((await coloursOf(roll)) > 10, "the roll is drawn");
  if (can(models, "music")[0].abilities.includes("attention")) {
    const name = page.locator(".ranked.notes").locator("xpath=preceding-sibling::h3");
    const first = await text(name);
    assert.match(first, /^[A-G]♯?-?\d+ at [\d.]+ s, layer \d+, mean of all heads$/);
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
  await rollScrolls(page);
}

// There is more than fits; it can be reached, and playing brings it into view.
async function rollScrolls(page) {
  const roll = page.locator(".roll");
  const place = () => roll.evaluate((made) => made.scrollLeft);
  await roll.evaluate((made) => made.scrollTo(0, 0));
  await page.waitForFunction(() => document.querySelector(".roll-edge.earlier").hidden);
  await button(page, "Later ›").click();
  await page.waitForFunction(() => document.querySelector(".roll").scrollLeft > 100);
  await button(page, "‹ Earlier").waitFor();
  await button(page, "Play").click();
  await page.waitForFunction(() => document.querySelector(".roll").scrollLeft < 20); // back to the beginning
  await page.waitForFunction(() => document.querySelector(".roll").scrollLeft > 20, null, {
    timeout: 30_000,
  });
  assert.ok((await place()) > 20, "the roll follows the music");
  await page.getByRole("button", { name: "Stop", exact: true }).last().click();
  await button(page, "Play").waitFor();
}

export async function images(studio, models) {
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
        await drawn(studio, page, "Enlarge", model);
        await studio.shoot(page, "images-enlarge");
        continue;
      }
      if (model.classes?.length > 0) await page.getByLabel("Class").selectOption({ index: 1 });
      await drawn(studio, page, "Draw", model);
      await studio.shoot(page, "images");
      await button(page, "Vary image 1").click();
      await drawn(studio, page, "Complete", model);
      await page.locator("input[type=file]").setInputFiles(picture);
      await drawn(studio, page, "Complete", model);
      await studio.shoot(page, "images-complete");
    }
    await readable(page);
    await studio.checkAccess(page, "images");
  });
}

async function drawn(studio, page, action, { columns, rows }) {
  const go = page.locator("button.primary", { hasText: action });
  await page.waitForFunction((made) => !made.disabled, await go.elementHandle());
  await go.click();
  await page
    .locator(".picture-actions")
    .nth(1)
    .waitFor({ timeout: 10 * studio.wait }); // pixel after pixel takes its time
  const sizes = await page
    .locator(".pictures img")
    .evaluateAll((made) =>
      Promise.all(made.map((image) => image.decode().then(() => [image.naturalWidth, image.naturalHeight]))),
    );
  assert.deepEqual(sizes, [
    [columns, rows],
    [columns, rows],
  ]);
}
