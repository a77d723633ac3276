// A server with Heed's HTTP interface and made-up answers, for looking at the studio and for its test.
//   node tests/web/mock_server.mjs [--port 8080] [--key KEY] [--empty] [--slow MILLISECONDS]
// Reads requests as strictly as the real one: unknown fields and wrong types are errors.
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { extname, join, normalize } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import * as answers from "./mock_answers.mjs";

const kWeb = fileURLToPath(new URL("../../src/web", import.meta.url));
const kTypes = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
};
const kPolicy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; base-uri 'none'; " +
  "form-action 'none'; frame-ancestors 'none'; media-src 'self' blob:";
const kSafe = {
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "x-frame-options": "DENY",
};

const kBeamOption = { name: "beam", help: "beam size", default: 4, least: 1, most: 16 };
const kModels = [
  {
    id: "en-de",
    kind: "translator",
    abilities: ["translate", "attention"],
    source: "en",
    target: "de",
    vocabulary: 8000,
    parameters: 7_340_000,
    examples: [
      "A man in a blue shirt is standing on a ladder.",
      "Two dogs are playing in the snow.",
      "A woman sings.",
    ],
    decoding: "beam",
    decodings: [
      { name: "greedy", help: "the likeliest token at each step", n_best: false, options: [] },
      { name: "beam", help: "beam search", n_best: true, options: [kBeamOption] },
    ],
  },
  {
    id: "en-de-refine",
    kind: "translator",
    abilities: ["translate"],
    source: "en",
    target: "de",
    decoding: "refine",
    decodings: [
      { name: "parallel", help: "all tokens in one pass", n_best: false, options: [] },
      {
        name: "refine",
        help: "all tokens at once, improved in a few passes",
        n_best: true,
        options: [{ name: "iterations", help: "most passes", default: 10, least: 1, most: 100 }],
      },
    ],
  },
  {
    id: "gpt2",
    kind: "gpt2",
    abilities: ["complete", "attention"],
    context: 1024,
    vocabulary: 50257,
    parameters: 124_439_808,
    examples: ["The old lighthouse keeper opened", "In the morning they"],
  },
  {
    id: "bert",
    kind: "bert",
    abilities: ["fill", "embed", "attention"],
    context: 512,
    vocabulary: 30522,
    parameters: 109_482_240,
    examples: ["The [MASK] of France is Paris.", "The [MASK] lay on the [MASK]."],
  },
  {
    id: "reviews",
    kind: "bert",
    abilities: ["classify", "embed", "attention"],
    context: 512,
    labels: ["negative", "neutral", "positive"],
    examples: ["A warm and funny film that I will watch again.", "Two hours that felt like ten."],
  },
  {
    id: "entailment", // reads pairs
    kind: "bert",
    abilities: ["classify", "attention"],
    labels: ["follows", "contradicts"],
    examples: ["A dog runs.\tAn animal moves."],
  },
  {
    id: "babi",
    kind: "story_transformer",
    abilities: ["answer"],
    facts: 80,
    sentence: 12,
    labels: ["garden", "kitchen", "hallway"],
    examples: ["Mary went to the garden.\nJohn went to the kitchen.\nWhere is Mary?"],
  },
  { id: "letters", kind: "gpt2", abilities: ["complete"], context: 64, vocabulary: 30 }, // without examples
  { id: "piano", kind: "music", abilities: ["music", "attention"], form: "performance", context: 2048 },
  { id: "chorales", kind: "music", abilities: ["music", "attention"], form: "chorale", context: 2048 },
  {
    id: "digits",
    kind: "image",
    abilities: ["image"],
    rows: 28,
    columns: 28,
    channels: 1,
    levels: 256,
    classes: [..."0123456789"],
    enlarges: false,
  },
  {
    id: "larger",
    kind: "image",
    abilities: ["image"],
    rows: 32,
    columns: 32,
    channels: 3,
    levels: 256,
    source_rows: 8,
    source_columns: 8,
    enlarges: true,
  },
];

class HttpError extends Error {
  constructor(status, message, { param = null, code = "invalid_value" } = {}) {
    super(message);
    Object.assign(this, { status, param, code });
  }
}

const sleep = (milliseconds) => new Promise((wake) => setTimeout(wake, milliseconds));

// --- Reading requests

const kNumber = "number",
  kText = "string",
  kFlag = "boolean";
const kFields = {
  "/v1/completions": {
    prompt: kText,
    max_tokens: kNumber,
    temperature: kNumber,
    top_p: kNumber,
    seed: kNumber,
    logprobs: kNumber,
    stream: kFlag,
  },
  "/v1/embeddings": { input: "any" },
  "/translate": {
    q: "any",
    source: kText,
    target: kText,
    format: kText,
    alternatives: kNumber,
    decoding: kText,
    beam: kNumber,
    iterations: kNumber,
    trace: kFlag,
  },
  "/v1/attention": { text: kText, pair: kText, target: kText, crop: kFlag },
  "/v1/classify": { text: kText, texts: "any", pair: kText },
  "/v1/fill": { text: kText, top: kNumber },
  "/v1/answer": { facts: "any", question: kText, top: kNumber, attention: kFlag },
  "/v1/music/continue": {
    notes: "any",
    midi: kText,
    seconds: kNumber,
    max_tokens: kNumber,
    temperature: kNumber,
    top_p: kNumber,
    seed: kNumber,
    attention: kFlag,
    stream: kFlag,
  },
  "/v1/image/sample": { count: kNumber, class: kText, temperature: kNumber, seed: kNumber, stream: kFlag },
  "/v1/image/complete": {
    png: kText,
    rows_given: kNumber,
    count: kNumber,
    class: kText,
    temperature: kNumber,
    seed: kNumber,
    stream: kFlag,
  },
  "/v1/image/upscale": { png: kText, count: kNumber, temperature: kNumber, seed: kNumber, stream: kFlag },
};
const kRanges = {
  max_tokens: [0, 4096],
  temperature: [0, 10],
  top_p: [0, 1],
  count: [1, 16],
  seconds: [0.1, 600],
  seed: [0, 2 ** 53],
  top: [1, 100],
  beam: [1, 16],
  iterations: [1, 100],
};

async function readBody(request) {
  const pieces = [];
  for await (const piece of request) pieces.push(piece);
  try {
    return JSON.parse(Buffer.concat(pieces).toString("utf8"));
  } catch {
    throw new HttpError(400, "The body is not JSON", { code: "invalid_json" });
  }
}

function check(path, body) {
  for (const [name, value] of Object.entries(body)) {
    const wanted = name === "model" ? kText : kFields[path][name];
    if (!wanted)
      throw new HttpError(400, `${name} is no field of ${path}`, { param: name, code: "unknown_field" });
    if (wanted !== "any" && typeof value !== wanted)
      throw new HttpError(400, `${name} is a ${typeof value}, expected a ${wanted}`, { param: name });
    const range = kRanges[name];
    if (range && !(value >= range[0] && value <= range[1])) {
      throw new HttpError(400, `${name} is ${value}, expected ${range[0]} to ${range[1]}`, { param: name });
    }
  }
}

function modelOf(body, ability) {
  const model = kModels.find((one) => one.id === body.model);
  if (!model)
    throw new HttpError(404, `There is no model ${body.model}`, { param: "model", code: "model_not_found" });
  if (!model.abilities.includes(ability))
    throw new HttpError(400, `${model.id} cannot ${ability}`, { param: "model" });
  return model;
}

// --- Answers; a generator is a stream of events, its last one the answer itself

async function* complete(body, { slow }) {
  modelOf(body, "complete");
  const count = body.max_tokens ?? 16,
    seed = body.seed ?? answers.hashOf(body.prompt);
  for (let i = 0; i < count; ++i) {
    const { token, logprob, top } = answers.completionToken(i, seed);
    const logprobs =
      body.logprobs === undefined
        ? null
        : { tokens: [token], token_logprobs: [logprob], top_logprobs: [top], text_offset: [0] };
    yield {
      id: "cmpl-1",
      object: "text_completion",
      created: 1,
      model: body.model,
      choices: [{ index: 0, text: token, logprobs, finish_reason: i === count - 1 ? "length" : null }],
    };
    await sleep(slow);
  }
}

async function* compose(body, { slow }) {
  modelOf(body, "music");
  for (let share = 0.1; share < 1; share += 0.15) {
    yield { progress: share, notes_so_far: Math.round(share * 40) };
    await sleep(2 * slow);
  }
  yield answers.music({ ...body, seed: body.seed ?? 11 });
}

async function* draw(body, { slow }) {
  const model = modelOf(body, "image");
  const steps = model.rows * model.columns;
  const first = body.rows_given ? body.rows_given * model.columns : 0;
  const images = (step) =>
    Array.from({ length: body.count ?? 1 }, (_, i) => answers.image(model, (body.seed ?? 5) + i * 77, step));
  for (let step = first; step < steps; step += Math.ceil(steps / 12)) {
    yield { step, steps, images: images(step) };
    await sleep(3 * slow);
  }
  yield { images: images(steps) };
}

const kPosts = {
  "/v1/completions": complete,
  "/v1/music/continue": compose,
  "/v1/image/sample": draw,
  "/v1/image/complete": draw,
  "/v1/image/upscale": draw,
  "/v1/attention": (body) => {
    const answer = answers.attention(modelOf(body, "attention"), body);
    const count = Math.max(answer.tokens.length, answer.source?.length ?? 0) + (answer.left_out ?? 0);
    if (count > answers.kMostAttention && !answer.left_out)
      throw new HttpError(
        400,
        `[attention] a text has ${count} tokens, expected at most ${answers.kMostAttention}`,
      );
    return answer;
  },
  "/v1/fill": (body) => {
    modelOf(body, "fill");
    if (!body.text.includes("[MASK]")) throw new HttpError(400, "text has no [MASK]", { param: "text" });
    return { masks: answers.fill(body.text, body.top ?? 5) };
  },
  "/v1/classify": (body) => {
    const { labels } = modelOf(body, "classify");
    if (body.texts && body.pair)
      throw new HttpError(400, "pair is given with texts, expected text", { param: "pair" });
    return { results: (body.texts ?? [body.text]).map((text) => answers.classify(text, labels)) };
  },
  "/v1/answer": (body) => {
    const { labels } = modelOf(body, "answer");
    if (!body.question.trim()) throw new HttpError(400, "question is empty, expected a text", { param: "question" });
    return { results: [answers.answer(body.facts, body.question, labels)] };
  },
  "/v1/embeddings": (body) => {
    modelOf(body, "embed");
    return {
      object: "list",
      model: body.model,
      data: [body.input]
        .flat()
        .map((text, index) => ({ object: "embedding", index, embedding: answers.embedding(text) })),
    };
  },
  "/translate": (body) => {
    const { q, alternatives = 0, trace = false } = body;
    const { decodings, decoding: usual } = modelOf(body, "translate");
    const decoding = body.decoding ?? usual;
    const kind = decodings.find(({ name }) => name === decoding);
    if (!kind) {
      const possible = decodings.map(({ name }) => name).join(", ");
      throw new HttpError(400, `decoding is "${decoding}", expected one of ${possible}`, { param: "decoding" });
    }
    if (alternatives > 0 && !kind.n_best)
      throw new HttpError(400, `alternatives is ${alternatives}, expected 0`, { param: "alternatives" });
    const others = (text) => Array.from({ length: alternatives }, (_, i) => answers.translate(text, i + 1));
    const isOne = typeof q === "string";
    const each = (make) => (isOne ? make(q) : q.map((text) => make(text)));
    return {
      translatedText: each((text) => answers.translate(text)),
      ...(alternatives > 0 && { alternatives: each(others) }),
      ...(trace && { trace: each((text) => answers.trace(text, decoding, body.iterations ?? 4)) }),
    };
  },
};

const kStarted = Date.now();
let requests = 0;
const metricsText = () =>
  [
    "# HELP heed_jobs_total Jobs by how they ended.",
    "# TYPE heed_jobs_total counter",
    `heed_jobs_total{model="gpt2",outcome="completed"} ${requests}`,
    "# HELP heed_tokens_total Tokens made",
    "# TYPE heed_tokens_total counter",
    'heed_tokens_total{model="gpt2"} 5120',
    "# HELP heed_prompt_tokens_total Tokens that models have read.",
    "# TYPE heed_prompt_tokens_total counter",
    'heed_prompt_tokens_total{model="gpt2"} 1024',
    'heed_prompt_tokens_total{model="en-de"} 0',
    "# HELP heed_generated_tokens_total Tokens that models have said.",
    "# TYPE heed_generated_tokens_total counter",
    'heed_generated_tokens_total{model="gpt2"} 5120',
    'heed_generated_tokens_total{model="en-de"} 0',
    "# HELP heed_turn_seconds_total Time spent in turns.",
    "# TYPE heed_turn_seconds_total counter",
    'heed_turn_seconds_total{model="gpt2"} 48',
    'heed_turn_seconds_total{model="en-de"} 0',
    "# HELP heed_queued Jobs that wait for a slot.",
    "# TYPE heed_queued gauge",
    'heed_queued{model="gpt2"} 0',
    "# HELP heed_slots_busy Slots at work",
    "# TYPE heed_slots_busy gauge",
    'heed_slots_busy{model="gpt2"} 1',
    "# HELP heed_request_seconds Time of a request",
    "# TYPE heed_request_seconds histogram",
    'heed_request_seconds_bucket{le="0.1"} 3',
    'heed_request_seconds_bucket{le="+Inf"} 4',
    "heed_request_seconds_sum 1.2",
    "heed_request_seconds_count 4",
    "# HELP process_resident_memory_bytes Memory in use",
    "# TYPE process_resident_memory_bytes gauge",
    `process_resident_memory_bytes ${process.memoryUsage().rss}`,
    "",
  ].join("\n");

const kGets = {
  "/v1/models": ({ empty }) => ({
    object: "list",
    data: (empty ? [] : kModels).map(({ id, ...heed }) => ({
      id,
      object: "model",
      created: 1,
      owned_by: "heed",
      heed,
    })),
  }),
  "/v1/runs": ({ empty }) => ({
    runs: empty ? [] : [{ name: "multi30k" }, { name: "begun" }, { name: "short" }],
  }),
  "/v1/runs/multi30k": () => answers.run("multi30k", 2400 + 10 * Math.floor((Date.now() - kStarted) / 500)),
  "/v1/runs/begun": () => answers.run("begun", 0),
  "/v1/runs/short": () => answers.run("short", 10),
  "/health": ({ empty }) => ({ status: "ok", models: empty ? 0 : kModels.length }),
};

// --- HTTP

async function sendStream(response, events) {
  response.writeHead(200, { ...kSafe, "content-type": "text/event-stream", "cache-control": "no-store" });
  for await (const event of events) {
    if (response.destroyed) return;
    response.write(`data: ${JSON.stringify(event)}\n\n`);
  }
  response.end("data: [DONE]\n\n");
}

async function sendFile(response, path) {
  const file = normalize(join(kWeb, path));
  if (!file.startsWith(kWeb)) throw new HttpError(404, "There is no such page", { code: "not_found" });
  const body = await readFile(file).catch(() => {
    throw new HttpError(404, `There is no ${path}`, { code: "not_found" });
  });
  response.writeHead(200, {
    ...kSafe,
    "content-type": kTypes[extname(file)] ?? "application/octet-stream",
    "content-security-policy": kPolicy,
    "cache-control": "no-cache",
  });
  response.end(body);
}

const sendJson = (response, status, value) => {
  response.writeHead(status, { ...kSafe, "content-type": "application/json", "cache-control": "no-store" });
  response.end(JSON.stringify(value));
};

async function answer(request, response, options) {
  const path = new URL(request.url, "http://mock").pathname;
  ++requests;
  if (path === "/") return sendFile(response, "index.html");
  if (path.startsWith("/studio/")) return sendFile(response, path.slice("/studio/".length));
  if (path === "/health") return sendJson(response, 200, kGets[path](options));
  if (options.key && request.headers.authorization !== `Bearer ${options.key}`) {
    throw new HttpError(401, "This server wants an API key", { code: "invalid_api_key" });
  }
  if (path === "/metrics") {
    response.writeHead(200, { ...kSafe, "content-type": "text/plain; version=0.0.4" });
    return response.end(metricsText());
  }
  if (request.method === "GET" && kGets[path]) return sendJson(response, 200, kGets[path](options));
  if (request.method !== "POST" || !kPosts[path])
    throw new HttpError(404, `There is no ${path}`, { code: "not_found" });
  const body = await readBody(request);
  check(path, body);
  const result = kPosts[path](body, options);
  if (!result[Symbol.asyncIterator]) return sendJson(response, 200, result);
  const first = await result.next(); // an error in the request comes before the stream
  const events = (async function* () {
    if (!first.done) yield first.value;
    yield* result;
  })();
  if (body.stream) return sendStream(response, events);
  let last;
  for await (const event of events) last = event;
  return sendJson(response, 200, last);
}

export function startMock(options = {}) {
  const settings = { port: 0, slow: 15, empty: false, ...options };
  const server = createServer((request, response) =>
    answer(request, response, settings).catch((error) => {
      const { status = 500, message, param = null, code = "internal" } = error;
      if (response.headersSent) response.destroy();
      else
        sendJson(response, status, {
          error: { message, type: "invalid_request_error", param, code, status },
        });
    }),
  );
  return new Promise((ready) =>
    server.listen(settings.port, "127.0.0.1", () =>
      ready({
        url: `http://127.0.0.1:${server.address().port}/`,
        stop: () => {
          server.closeAllConnections();
          server.close();
        },
      }),
    ),
  );
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const value = (name) =>
    process.argv.includes(name) ? process.argv[process.argv.indexOf(name) + 1] : undefined;
  const { url } = await startMock({
    port: Number(value("--port") ?? 8080),
    key: value("--key"),
    empty: process.argv.includes("--empty"),
    slow: Number(value("--slow") ?? 40),
  });
  console.log(`mock: ${url}`);
}
