// Drives the studio in Chromium: every page does its job, by mouse and by keyboard, wide and narrow, light and dark.
//   node tests/web/studio_test.mjs [--base URL] [--key KEY] [--shots FOLDER] [--deps FOLDER] [--only NAME,...] [--wait SECONDS]
// Without --base it starts the mock server, and also checks what only that one can show; with --mock-only, nothing else.
import { existsSync } from "node:fs";
import { parseArgs } from "node:util";
import { can, loadDependencies, Studio } from "./checks.mjs";
import * as common from "./common_checks.mjs";
import * as media from "./media_checks.mjs";
import * as onMock from "./mock_checks.mjs";
import { startMock } from "./mock_server.mjs";
import * as perPage from "./page_checks.mjs";

const { values: options } = parseArgs({
  options: {
    base: { type: "string" },
    key: { type: "string" },
    shots: { type: "string" },
    deps: { type: "string" },
    only: { type: "string" },
    "mock-only": { type: "boolean", default: false },
    wait: { type: "string", default: "60" },
    chromium: { type: "string", default: "/usr/bin/chromium" },
  },
});

const kTextAbilities = ["translate", "complete", "fill", "classify", "embed"];

// In the order of the navigation.
function pagesFor(models, runs) {
  return [
    "welcome",
    "overview",
    can(models, "translate").length && "translate",
    can(models, "complete").length && "complete",
    can(models, "fill", "classify", "embed").length && "understand",
    can(models, "answer").length && "ask",
    can(models, "music").length && "music",
    can(models, "image").length && "images",
    runs.length && "training",
    can(can(models, "attention"), ...kTextAbilities).length && "attention",
  ].filter(Boolean);
}

// A browser on a busy machine now and then does not get to draw in time, so a check has a second attempt, which is said.
async function passes(name, check) {
  for (const attempt of ["first", "second"]) {
    const began = performance.now();
    try {
      await check();
      console.log(`passed  ${name} (${((performance.now() - began) / 1000).toFixed(1)} s, ${attempt} attempt)`);
      return true;
    } catch (error) {
      console.log(`FAILED  ${name}, ${attempt} attempt\n${error.stack}\n`);
    }
  }
  return false;
}

async function main() {
  if (!existsSync(options.chromium)) throw new Error(`No Chromium at ${options.chromium}`);
  const { chromium, axe } = loadDependencies(options.deps);
  const mock = options.base ? null : await startMock();
  const browser = await chromium.launch({
    executablePath: options.chromium,
    headless: true,
    args: ["--no-sandbox", "--autoplay-policy=no-user-gesture-required"],
  });
  const base = new URL(options.base ?? mock.url).href;
  const studio = new Studio({
    browser,
    axe,
    base,
    key: options.key,
    shots: options.shots,
    wait: 1000 * Number(options.wait),
  });
  const models = (await studio.get("v1/models")).data.map((model) => ({ id: model.id, ...model.heed }));
  const pages = pagesFor(models, (await studio.get("v1/runs")).runs);
  const ofPages = { ...perPage, ...media };
  const ofAll = { ...Object.fromEntries(pages.map((id) => [id, ofPages[id]])), ...common };
  const checks = { ...(!options["mock-only"] && ofAll), ...(mock && onMock) };
  const wanted = options.only?.split(",");
  let failed = 0;
  for (const [name, check] of Object.entries(checks)) {
    if (wanted && !wanted.includes(name)) continue;
    if (!(await passes(name, () => check(studio, models, pages)))) ++failed;
  }
  for (const id of Object.keys(ofPages))
    if (!pages.includes(id)) console.log(`skipped ${id}: nothing here can do it`);
  await browser.close();
  mock?.stop();
  if (failed > 0) process.exitCode = 1;
}

await main();
