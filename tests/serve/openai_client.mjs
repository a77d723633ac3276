// OpenAI's own client against a running server: what users of it do must work unchanged.
//   node tests/serve/openai_client.mjs BASE_URL [--key KEY] [--deps FOLDER]
// tools/web-test-deps.sh installs the client into FOLDER, build/web-test by default.
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { Checks, readArguments } from "./client.mjs";

const options = readArguments("tests/serve/openai_client.mjs BASE_URL [--key KEY] [--deps FOLDER]", {
  deps: { type: "string", default: fileURLToPath(new URL("../../build/web-test", import.meta.url)) },
});
if (!existsSync(join(options.deps, "node_modules/openai"))) {
  console.error(`there is no openai in ${options.deps}; run tools/web-test-deps.sh`);
  process.exit(2);
}
const { OpenAI } = createRequire(resolve(options.deps, "package.json"))("openai");
const client = new OpenAI({
  baseURL: new URL("/v1", options.base).href,
  apiKey: options.key ?? "none",
  maxRetries: 0,
  timeout: 60_000,
});
const checks = new Checks("openai_client");

async function errorOf(action) {
  try {
    await action();
  } catch (error) {
    return error;
  }
  return null;
}

async function collect(stream) {
  const chunks = [];
  for await (const chunk of stream) chunks.push(chunk);
  return chunks;
}

const textOf = (chunks, index = 0) =>
  chunks
    .flatMap((chunk) => chunk.choices.filter((choice) => choice.index === index).map(({ text }) => text))
    .join("");

async function completions(model) {
  const ask = (more) =>
    client.completions.create({ model, prompt: "the cat", max_tokens: 12, seed: 7, ...more });
  const one = await ask({});
  checks.equal(one.object, "text_completion", "object");
  checks.equal(one.model, model, "model");
  checks.ok(/^cmpl-/.test(one.id), `id is ${one.id}`);
  checks.ok(Math.abs(one.created - Date.now() / 1000) < 3600, `created is ${one.created}`);
  checks.equal(one.choices.length, 1, "choices");
  checks.ok(["stop", "length"].includes(one.choices[0].finish_reason), "finish_reason");
  checks.ok(one.usage.completion_tokens <= 12, "completion_tokens");
  checks.equal(one.usage.total_tokens, one.usage.prompt_tokens + one.usage.completion_tokens, "total_tokens");
  checks.equal((await ask({})).choices[0].text, one.choices[0].text, "the same seed");
  const greedy = await Promise.all([1, 2].map((seed) => ask({ seed, temperature: 0 })));
  checks.equal(greedy[0].choices[0].text, greedy[1].choices[0].text, "temperature 0 with other seeds");

  const several = await ask({ prompt: ["the cat", "a dog"], n: 2 });
  checks.equal(
    several.choices.map(({ index }) => index),
    [0, 1, 2, 3],
    "indices of two prompts with n = 2",
  );
  checks.equal(several.choices[0].text, one.choices[0].text, "the first of several");
  const echoed = await ask({ echo: true });
  checks.equal(echoed.choices[0].text, `the cat${one.choices[0].text}`, "echo");
  const scored = (await ask({ echo: true, logprobs: 1, max_tokens: 1 })).choices[0];
  checks.equal(scored.logprobs.tokens.join(""), scored.text, "tokens of an echoed prompt");
  checks.equal(scored.logprobs.token_logprobs[0], null, "nothing is known of the first token");
  checks.ok(
    scored.logprobs.token_logprobs.slice(1).every((chance) => chance <= 0),
    "the others of the prompt have probabilities",
  );
  const tokens = await ask({ prompt: [1, 2, 3] });
  checks.equal(tokens.usage.prompt_tokens, 3, "tokens as a prompt");
  checks.equal((await ask({ max_tokens: 0, echo: true })).choices[0].text, "the cat", "no tokens at all");
  await stops(ask, one);
  await chances(ask);
  return one;
}

async function stops(ask, one) {
  const text = one.choices[0].text;
  if (text.length < 2) return;
  const stop = text[1];
  const stopped = (await ask({ stop: [stop, "never said"] })).choices[0];
  checks.equal(
    stopped.text,
    text.slice(0, text.indexOf(stop)),
    `text before the stop ${JSON.stringify(stop)}`,
  );
  checks.equal(stopped.finish_reason, "stop", "finish_reason of a stop");
}

async function chances(ask) {
  const { logprobs, text } = (await ask({ logprobs: 3 })).choices[0];
  const count = logprobs.tokens.length;
  checks.ok(count > 0, "logprobs has tokens");
  for (const part of ["token_logprobs", "top_logprobs", "text_offset"]) {
    checks.equal(logprobs[part].length, count, `logprobs.${part}`);
  }
  checks.ok(
    logprobs.token_logprobs.every((value) => value <= 0 && value > -100),
    "log-probabilities are below 0",
  );
  checks.ok(
    logprobs.top_logprobs.every(
      (top) => Object.keys(top).length <= 3 && Math.max(...Object.values(top)) <= 0,
    ),
    "three likeliest",
  );
  checks.ok(logprobs.tokens.join("").startsWith(text) || text.includes("\ufffd"), "tokens make the text");
}

async function streams(model, one) {
  const ask = (more, settings) =>
    client.completions.create(
      { model, prompt: "the cat", max_tokens: 12, seed: 7, stream: true, ...more },
      settings,
    );
  const plain = await collect(await ask({}));
  checks.equal(textOf(plain), one.choices[0].text, "text of a stream");
  checks.ok(
    plain.every((chunk) => chunk.usage == null),
    "no usage without include_usage",
  );
  checks.equal(
    plain.at(-1).choices[0].finish_reason,
    one.choices[0].finish_reason,
    "finish_reason of a stream",
  );
  const counted = await collect(await ask({ stream_options: { include_usage: true } }));
  checks.equal(counted.at(-1).choices, [], "the last chunk has no choices");
  checks.equal(counted.at(-1).usage, one.usage, "usage of a stream");
  const two = await collect(await ask({ n: 2 }));
  checks.equal(textOf(two, 0), one.choices[0].text, "first of two streams");

  const long = await ask({ max_tokens: 4096, temperature: 2 });
  let seen = 0;
  const error = await errorOf(async () => {
    for await (const chunk of long) {
      seen += chunk.choices.length;
      if (seen === 3) long.controller.abort();
    }
  });
  checks.ok(
    seen >= 3 && (error === null || error.name === "APIUserAbortError"),
    `abort: ${seen} chunks, ${error}`,
  );
  checks.equal((await collect(await ask({}))).length, plain.length, "chunks after an abort");
}

async function embeddings(model) {
  const input = ["the cat", "a dog"];
  const floats = await client.embeddings.create({ model, input, encoding_format: "float" });
  const packed = await client.embeddings.create({ model, input }); // the client asks for base64 and unpacks it
  checks.equal(
    floats.data.map(({ index }) => index),
    [0, 1],
    "indices of embeddings",
  );
  checks.equal(floats.model, model, "model of embeddings");
  checks.ok(
    floats.usage.prompt_tokens > 0 && floats.usage.total_tokens === floats.usage.prompt_tokens,
    "usage",
  );
  for (const i of [0, 1]) {
    const [a, b] = [floats, packed].map(({ data }) => Array.from(data[i].embedding));
    checks.ok(a.length > 1 && a.length === b.length, `vector ${i} has ${a.length} and ${b.length} numbers`);
    checks.ok(
      a.every((value, j) => Math.fround(value) === Math.fround(b[j])),
      `float and base64 of vector ${i}`,
    );
    checks.ok(Math.abs(Math.hypot(...a) - 1) < 1e-4, `length of vector ${i}`);
  }
  const alone = await client.embeddings.create({ model, input: "the cat", encoding_format: "float" });
  checks.equal(alone.data[0].embedding, floats.data[0].embedding, "a text alone and in a list");
}

async function errors(model) {
  const ask = (more) => errorOf(() => client.completions.create({ model, prompt: "the", ...more }));
  const cases = [
    [{ max_tokens: -3 }, OpenAI.BadRequestError, "max_tokens"],
    [{ temperature: "hot" }, OpenAI.BadRequestError, "temperature"],
    [{ no_such_field: 1 }, OpenAI.BadRequestError, "no_such_field"],
    [{ presence_penalty: 1 }, OpenAI.BadRequestError, "presence_penalty"],
    [{ stream_options: { include_usage: 3 } }, OpenAI.BadRequestError, "stream_options"],
    [{ model: "no-such-model" }, OpenAI.NotFoundError, "model"],
    [{ max_tokens: -3, stream: true }, OpenAI.BadRequestError, "max_tokens"],
  ];
  for (const [more, kind, param] of cases) {
    const error = await ask(more);
    checks.ok(
      error instanceof kind && error.param === param,
      `${JSON.stringify(more)}: ${error}, param ${error?.param}`,
    );
    checks.ok(
      error?.error?.message?.length > 0 && typeof error.code === "string",
      `message and code of ${param}`,
    );
  }
  const missing = await errorOf(() => client.models.retrieve("no-such-model"));
  checks.ok(missing instanceof OpenAI.NotFoundError, `models.retrieve: ${missing}`);
  if (options.key) {
    const stranger = new OpenAI({ baseURL: client.baseURL, apiKey: "wrong", maxRetries: 0 });
    const refused = await errorOf(() => stranger.models.list());
    checks.ok(refused instanceof OpenAI.AuthenticationError, `a wrong key: ${refused}`);
  }
}

const models = (await client.models.list()).data;
checks.ok(models.length > 0, "models.list has models");
for (const { id, object, owned_by: owner, heed } of models) {
  checks.equal([object, owner], ["model", "heed"], `model ${id}`);
  await checks.run(`models.retrieve of ${id}`, async () => {
    checks.equal((await client.models.retrieve(id)).heed, heed, `models.retrieve of ${id}`);
  });
}
const able = (ability) => models.filter(({ heed }) => heed.abilities.includes(ability)).map(({ id }) => id);
for (const model of able("complete")) {
  await checks.run(`completions of ${model}`, async () => {
    const one = await completions(model);
    await streams(model, one);
    await errors(model);
  });
}
for (const model of able("embed")) await checks.run(`embeddings of ${model}`, () => embeddings(model));
console.log(
  `complete: ${able("complete").join(", ") || "none"}; embed: ${able("embed").join(", ") || "none"}`,
);
checks.end();
