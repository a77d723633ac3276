// Load on a running `heed serve`: connections that ask one thing after the other, for some seconds.
//
// usage: node bench/serve_load.mjs BASE_URL [--seconds 60] [--warmup 10] [--connections 64] [--only complete,embed,...]
//          [--max-tokens 64] [--prompt-words 60] [--growth 5] [--slack 0] [--key KEY] [--seed 1] [--json]
//
// Prompts and answers have mixed lengths, up to --prompt-words and --max-tokens; half of the completions are
// streams. Who is refused with 429 waits as long as the server says. Prints statuses, tokens a second, latencies and
// the server's memory before, after the warm-up and at the end. The status is 1 after any other error, or if memory
// grew by more than --growth percent and --slack megabytes since the warm-up.
import http from "node:http";
import { kMegabyte, kPng, Random, readArguments, Server, sleep } from "../tests/serve/client.mjs";

const kUsage =
  "bench/serve_load.mjs BASE_URL [--seconds 60] [--warmup 10] [--connections 64] [--only complete,embed,...] " +
  "[--max-tokens 64] [--prompt-words 60] [--growth 5] [--slack 0] [--key KEY] [--seed 1] [--json]";
const kDefaults = {
  seconds: 60,
  warmup: 10,
  connections: 64,
  "max-tokens": 64,
  "prompt-words": 60,
  growth: 5,
  slack: 0,
};
const texts = readArguments(kUsage, {
  ...Object.fromEntries(
    Object.entries(kDefaults).map(([name, value]) => [name, { type: "string", default: `${value}` }]),
  ),
  only: { type: "string" },
  json: { type: "boolean", default: false },
});
const options = {
  ...texts,
  ...Object.fromEntries(Object.keys(kDefaults).map((name) => [name, Number(texts[name])])),
};
const server = new Server(options);
const agent = new http.Agent({ keepAlive: true, maxSockets: options.connections });

const kWords = "the a house old red garden and river of light in morning with green ship".split(" ");
const words = (random, most) =>
  Array.from({ length: 1 + random.below(most) }, () => random.pick(kWords)).join(" ");

// {path, body} for each ability.
const kWork = {
  complete: (random, { id, heed }) => ({
    path: "/v1/completions",
    body: {
      model: id,
      // A token has a letter at least.
      prompt: words(random, options["prompt-words"]).slice(0, heed.context || undefined),
      max_tokens: 1 + random.below(options["max-tokens"]),
      ...(random.next() < 0.5 && { stream: true, stream_options: { include_usage: true } }),
    },
  }),
  embed: (random, { id }) => ({
    path: "/v1/embeddings",
    body: { model: id, input: Array.from({ length: 1 + random.below(8) }, () => words(random, 30)) },
  }),
  classify: (random, { id }) => ({ path: "/v1/classify", body: { model: id, text: words(random, 30) } }),
  translate: (random, { id }) => ({ path: "/translate", body: { model: id, q: words(random, 12) } }),
  music: (random, { id }) => ({
    path: "/v1/music/continue",
    body: { model: id, seconds: 5, max_tokens: 1 + random.below(options["max-tokens"]) },
  }),
  image: (random, { id, heed }) =>
    heed.enlarges
      ? { path: "/v1/image/upscale", body: { model: id, png: kPng } }
      : { path: "/v1/image/sample", body: { model: id, count: 1 + random.below(4) } },
};

// {status, text, first}: `first` is when the body began, in seconds from the request.
function ask({ path, body }) {
  const begin = performance.now();
  const text = JSON.stringify(body);
  return new Promise((resolve, reject) => {
    const request = http.request(
      new URL(path, options.base),
      {
        method: "POST",
        agent,
        headers: {
          ...server.headers,
          "content-type": "application/json",
          "content-length": Buffer.byteLength(text),
        },
      },
      (response) => {
        const pieces = [];
        let first = null;
        response.on("data", (piece) => {
          first ??= (performance.now() - begin) / 1000;
          pieces.push(piece);
        });
        response.on("error", reject);
        response.on("end", () =>
          resolve({
            status: response.statusCode,
            text: Buffer.concat(pieces).toString(),
            first,
            retryAfter: Number(response.headers["retry-after"]) || 1,
          }),
        );
      },
    );
    request.on("error", reject);
    request.end(text);
  });
}

// Tokens that were said; an error if the answer is none.
function tokensIn({ path, body }, text) {
  if (body.stream) {
    const events = text.split("\n\n").map((event) => event.replace(/^data: /, ""));
    if (!events.includes("[DONE]")) throw new Error(`the stream ends with ${text.slice(-100)}`);
    return JSON.parse(events[events.indexOf("[DONE]") - 1]).usage?.completion_tokens ?? 0;
  }
  const answer = JSON.parse(text);
  return path === "/v1/completions" ? (answer.usage?.completion_tokens ?? 0) : 0;
}

class Tally {
  statuses = {};
  errors = {};
  latencies = {};
  firsts = [];
  tokens = 0;
  note(list, name) {
    list[name] = (list[name] ?? 0) + 1;
  }
}

async function connection(number, work, until, tally) {
  const random = new Random(options.seed * 1000 + number);
  while (performance.now() < until()) {
    const { ability, model } = random.pick(work);
    const request = kWork[ability](random, model);
    const begin = performance.now();
    try {
      const { status, text, first, retryAfter } = await ask(request);
      const counted = tally();
      counted.note(counted.statuses, status);
      if (status === 429) {
        await sleep(Math.min(retryAfter, 5) * (0.5 + random.next()));
      } else if (status === 200) {
        counted.tokens += tokensIn(request, text);
        (counted.latencies[request.path] ??= []).push((performance.now() - begin) / 1000);
        if (request.body.stream) counted.firsts.push(first);
      } else {
        counted.note(counted.errors, `${request.path}: ${status} ${text.slice(0, 200)}`);
      }
    } catch (error) {
      tally().note(tally().errors, `${request.path}: ${error.message}`);
      await sleep(0.1);
    }
  }
}

const percentiles = (values) => {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (share) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? null;
  return { count: sorted.length, p50: at(0.5), p90: at(0.9), p99: at(0.99), max: sorted.at(-1) ?? null };
};
const memoryNow = async () => (await server.metrics()).process_resident_memory_bytes;

async function measure() {
  const wanted = options.only?.split(",") ?? Object.keys(kWork);
  const work = (await server.models()).flatMap((model) =>
    model.heed.abilities
      .filter((ability) => wanted.includes(ability) && kWork[ability])
      .map((ability) => ({ ability, model })),
  );
  if (work.length === 0) throw new Error(`no model here can do any of ${wanted.join(", ")}`);
  const memory = { before: await memoryNow() };
  const tallies = { warmup: new Tally(), measured: new Tally() };
  const warm = performance.now() + 1000 * options.warmup;
  const end = warm + 1000 * options.seconds;
  const tally = () => (performance.now() < warm ? tallies.warmup : tallies.measured);
  const running = Array.from({ length: options.connections }, (_, i) =>
    connection(i, work, () => end, tally),
  );
  await sleep(options.warmup);
  memory.warm = await memoryNow();
  await Promise.all(running);
  const seconds = (performance.now() - warm) / 1000;
  agent.destroy();
  await server.idle(60).catch((error) => tallies.measured.note(tallies.measured.errors, error.message));
  memory.end = await memoryNow();
  const { measured, warmup } = tallies;
  return {
    connections: options.connections,
    seconds,
    work: [...new Set(work.map(({ ability }) => ability))],
    statuses: measured.statuses,
    errors: { ...warmup.errors, ...measured.errors },
    requests_per_second: Object.values(measured.latencies).flat().length / seconds,
    tokens_per_second: measured.tokens / seconds,
    first_byte_of_streams: percentiles(measured.firsts),
    latency: Object.fromEntries(
      Object.entries(measured.latencies).map(([path, values]) => [path, percentiles(values)]),
    ),
    memory,
  };
}

function print(result) {
  const number = (value) => (value === null ? "-" : value.toFixed(3)).padStart(9);
  const row = (name, { count, p50, p90, p99, max }) =>
    console.log(`${name.padEnd(24)}${`${count}`.padStart(8)}${[p50, p90, p99, max].map(number).join("")}`);
  console.log(`${result.connections} connections, ${result.seconds.toFixed(1)} s: ${result.work.join(", ")}`);
  console.log(`statuses     ${JSON.stringify(result.statuses)}`);
  console.log(`requests/s   ${result.requests_per_second.toFixed(1)}`);
  console.log(`tokens/s     ${result.tokens_per_second.toFixed(1)}`);
  const [before, warm, end] = ["before", "warm", "end"].map((when) =>
    (result.memory[when] / kMegabyte).toFixed(1),
  );
  console.log(`memory MiB   ${before} before, ${warm} warm, ${end} at the end`);
  console.log(
    `${"seconds".padEnd(24)}${["count", "p50", "p90", "p99", "max"].map((name, i) => name.padStart(i ? 9 : 8)).join("")}`,
  );
  for (const [path, values] of Object.entries(result.latency)) row(path, values);
  if (result.first_byte_of_streams.count > 0) row("first byte of streams", result.first_byte_of_streams);
}

const result = await measure();
if (options.json) console.log(JSON.stringify(result, null, 2));
else print(result);
let failed = false;
for (const [error, times] of Object.entries(result.errors)) {
  console.error(`failed: ${times} x ${error}`);
  failed = true;
}
const most = result.memory.warm * (1 + options.growth / 100) + options.slack * kMegabyte;
if (!(result.memory.end <= most)) {
  console.error(`failed: memory grew from ${result.memory.warm} to ${result.memory.end} bytes`);
  failed = true;
}
process.exit(failed ? 1 : 0);
