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

const kModels = [
  {
    id: "en-de",
    kind: "translator",
    abilities: ["translate", "attention"],
    source: "en",
    target: "de",
    vocabulary: 8000,
  },
  { id: "gpt2", kind: "gpt", abilities: ["complete", "attention"], context: 1024, vocabulary: 50257 },
  { id: "bert", kind: "bert", abilities: ["fill", "embed", "attention"], context: 512, vocabulary: 30522 },
  {
    id: "reviews",
    kind: "bert",
    abilities: ["classify", "embed", "attention"],
    context: 512,
    labels: ["negative", "neutral", "positive"],
    pairs: false,
  },
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
  "/translate": { q: "any", source: kText, target: kText, format: kText, alternatives: kNumber },
  "/v1/attention": { text: kText, pair: kText, target: kText },
  "/v1/classify": { text: kText, texts: "any", pair: kText },
  "/v1/fill": { text: kText, top: kNumber },
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
    const wanted = name === "model" && path !== "/translate" ? kText : kFields[path][name];
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
  "/v1/attention": (body) => answers.attention(modelOf(body, "attention"), body),
  "/v1/fill": (body) => {
    modelOf(body, "fill");
    if (!body.text.includes("[MASK]")) throw new HttpError(400, "text has no [MASK]", { param: "text" });
    return { masks: answers.fill(body.text, body.top ?? 5) };
  },
  "/v1/classify": (body) => {
    const { labels } = modelOf(body, "classify");
    return { results: (body.texts ?? [body.text]).map((text) => answers.classify(text, labels)) };
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
  "/translate": ({ q, source, target, alternatives = 0 }) => {
    if (source !== "en" || target !== "de")
      throw new HttpError(400, `There is no model for ${source} to ${target}`, { param: "target" });
    const others = (text) => Array.from({ length: alternatives }, (_, i) => answers.translate(text, i + 1));
    const isOne = typeof q === "string";
    return {
      translatedText: isOne ? answers.translate(q) : q.map((text) => answers.translate(text)),
      ...(alternatives > 0 && { alternatives: isOne ? others(q) : q.map(others) }),
    };
  },
};

const kStarted = Date.now();
let requests = 0;
const metricsText = () =>
  [
    "# HELP heed_requests_total Requests answered",
    "# TYPE heed_requests_total counter",
    `heed_requests_total{route="/v1/models",status="200"} ${requests}`,
    "# HELP heed_tokens_total Tokens made",
    "# TYPE heed_tokens_total counter",
    'heed_tokens_total{model="gpt2"} 5120',
    "# HELP heed_queue_length Requests that wait",
    "# TYPE heed_queue_length gauge",
    'heed_queue_length{model="gpt2"} 0',
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
  "/v1/runs": ({ empty }) => ({ runs: empty ? [] : [{ name: "multi30k" }] }),
  "/v1/runs/multi30k": () => answers.run("multi30k", 2400 + 10 * Math.floor((Date.now() - kStarted) / 500)),
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
