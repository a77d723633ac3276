// The same request alone and among many others: the answers must be identical.
//   node tests/serve/company.mjs BASE_URL [--others 32] [--rounds 3] [--key KEY] [--seed 1]
import { Checks, kPng, Random, readArguments, Server, sleep } from "./client.mjs";

const options = readArguments(
  "tests/serve/company.mjs BASE_URL [--others 32] [--rounds 3] [--key KEY] [--seed 1]",
  { others: { type: "string", default: "32" }, rounds: { type: "string", default: "3" } },
);
const server = new Server(options);
const random = new Random(options.seed);
const checks = new Checks("company");

const kWords = "the a cat dog bird saw ran and in on red old house of to".split(" ");
const words = (count) => Array.from({ length: count }, () => random.pick(kWords)).join(" ");
// A token has a letter at least.
const fitting = (text, { context }) => (context > 0 ? text.slice(0, context) : text);
const letters = (count) => Array.from({ length: count }, () => random.pick([..."abcdef"])).join("");
const notes = (count) =>
  Array.from({ length: count }, (_, i) => ({
    start: i / 4,
    end: (i + 1) / 4,
    pitch: 55 + random.below(24),
    velocity: 40 + random.below(60),
  }));

// For each ability a request of some size (0 to 1), and what of the answer must be the same.
const kKinds = {
  complete: {
    make: ({ id, heed }, size) => [
      "/v1/completions",
      {
        model: id,
        prompt: Array.from({ length: 1 + random.below(2) }, () =>
          fitting(words(1 + Math.floor(40 * size)), heed),
        ),
        max_tokens: 1 + Math.floor(100 * size),
        temperature: random.pick([0, 0.8, 1, 1.3]),
        top_p: random.pick([1, 0.9]),
        seed: random.below(1000),
        logprobs: 2,
      },
    ],
    kept: ({ choices, usage }) => ({ choices, usage }),
  },
  embed: {
    make: ({ id }, size) => [
      "/v1/embeddings",
      {
        model: id,
        input: Array.from({ length: 1 + Math.floor(8 * size) }, () => words(1 + random.below(30))),
      },
    ],
    kept: ({ data }) => data,
  },
  classify: {
    make: ({ id }, size) => [
      "/v1/classify",
      { model: id, texts: [words(1 + Math.floor(20 * size)), words(3)] },
    ],
    kept: ({ results }) => results,
  },
  answer: {
    make: ({ id }, size) => [
      "/v1/answer",
      { model: id, facts: Array.from({ length: Math.floor(12 * size) }, () => words(3)), question: [words(2), words(4)] },
    ],
    kept: ({ results }) => results,
  },
  translate: {
    make: ({ id }, size) => [
      "/translate",
      {
        model: id,
        q: Array.from({ length: 1 + Math.floor(4 * size) }, () => letters(1 + random.below(8))),
        alternatives: 1,
      },
    ],
    kept: (answer) => answer,
  },
  music: {
    make: ({ id, heed }, size) => [
      "/v1/music/continue",
      {
        model: id,
        notes: heed.form === "chorale" ? notes(4) : notes(1 + Math.floor(20 * size)),
        seconds: 1 + 4 * size,
        max_tokens: 20 + Math.floor(100 * size),
        seed: random.below(1000),
      },
    ],
    kept: (answer) => answer,
  },
  accompany: {
    make: ({ id }, size) => [
      "/v1/music/accompany",
      { model: id, notes: notes(2 + Math.floor(4 * size)), seed: 3 },
    ],
    kept: (answer) => answer,
  },
  image: {
    make: ({ id, heed }, size) => {
      const body = { model: id, count: 1 + Math.floor(3 * size), seed: random.below(1000) };
      if (heed.enlarges) return ["/v1/image/upscale", { ...body, png: kPng }];
      return random.next() < 0.5
        ? ["/v1/image/sample", body]
        : ["/v1/image/complete", { ...body, png: kPng, rows_given: 1 }];
    },
    kept: ({ images }) => images,
  },
};

async function judge(model, ability, models) {
  const { make, kept } = kKinds[ability];
  const [path, body] = make(model, 0.6);
  const alone = kept(await server.patient(path, body));
  for (let round = 0; round < Number(options.rounds); ++round) {
    const others = Array.from({ length: Number(options.others) }, (_, i) => {
      // Most ask the same model for the same kind of thing, some another one.
      const other = i % 4 === 3 ? random.pick(models) : { model, ability };
      return kKinds[other.ability].make(other.model, random.next());
    });
    const after = random.below(others.length);
    const asked = [];
    const wrong = [];
    const ask = (...request) =>
      server.patient(...request).catch((error) => wrong.push(`${request[0]}: ${error.message}`));
    for (const [i, other] of others.entries()) {
      if (i === after) asked.unshift(ask(path, body));
      asked.push(ask(...other));
      await sleep(0.002 * random.next());
    }
    const [found] = await Promise.all(asked);
    if (!checks.equal(wrong, [], "errors among them")) return;
    checks.equal(
      kept(found),
      alone,
      `${model.id} ${path}, round ${round + 1}, of ${JSON.stringify(body).slice(0, 200)}`,
    );
  }
}

const served = (await server.models()).flatMap((model) =>
  model.heed.abilities.filter((ability) => kKinds[ability]).map((ability) => ({ model, ability })),
);
for (const { model, ability } of served) {
  await checks.run(`${ability} of ${model.id}`, () => judge(model, ability, served));
}
console.log(
  `company: ${served.map(({ model, ability }) => `${model.id} (${ability})`).join(", ") || "no models"}`,
);
checks.end();
