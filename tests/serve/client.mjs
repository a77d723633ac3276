// What the checks of a running `heed serve` share: requests, streams, metrics, random numbers, and what failed.
import { parseArgs } from "node:util";

const kOptions = { key: { type: "string" }, seed: { type: "string", default: "1" } };

// [BASE_URL] and options; every check has --key and --seed.
export function readArguments(usage, options = {}) {
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: { ...kOptions, ...options },
    });
    if (positionals.length !== 1) throw new Error("one BASE_URL is wanted");
    return { ...values, seed: Number(values.seed), base: new URL(positionals[0]) };
  } catch (error) {
    console.error(`${error.message}\nusage: node ${usage}`);
    process.exit(2);
  }
}

export const sleep = (seconds) => new Promise((wake) => setTimeout(wake, 1000 * seconds));

// Numbers in [0, 1), and what is chosen by them (mulberry32).
export class Random {
  constructor(seed) {
    this.state = seed >>> 0;
  }
  next() {
    this.state = (this.state + 0x6d2b79f5) >>> 0;
    let x = this.state;
    x = Math.imul(x ^ (x >>> 15), x | 1);
    x ^= x + Math.imul(x ^ (x >>> 7), x | 61);
    return ((x ^ (x >>> 14)) >>> 0) / 2 ** 32;
  }
  below(most) {
    return Math.floor(this.next() * most);
  }
  pick(list) {
    return list[this.below(list.length)];
  }
  bytes(count) {
    return Buffer.from(Array.from({ length: count }, () => this.below(256)));
  }
}

export class HttpError extends Error {
  constructor(status, body, retryAfter) {
    super(`${status} ${body?.error?.message ?? JSON.stringify(body)}`);
    Object.assign(this, { status, body, retryAfter });
  }
}

export class Server {
  constructor({ base, key }) {
    this.base = base;
    this.headers = key ? { authorization: `Bearer ${key}` } : {};
  }

  async fetch(path, body, { signal } = {}) {
    const response = await fetch(new URL(path, this.base), {
      method: body === undefined ? "GET" : "POST",
      headers: body === undefined ? this.headers : { ...this.headers, "content-type": "application/json" },
      body: body === undefined ? undefined : JSON.stringify(body),
      signal,
    });
    if (response.ok) return response;
    const text = await response.text();
    let said = text;
    try {
      said = JSON.parse(text);
    } catch {
      // shown as it is
    }
    throw new HttpError(response.status, said, Number(response.headers.get("retry-after")) || null);
  }

  async json(path, body, options) {
    return (await this.fetch(path, body, options)).json();
  }

  // As json(), but waits and asks again while there is no room.
  async patient(path, body, options) {
    for (;;) {
      try {
        return await this.json(path, body, options);
      } catch (error) {
        if (error.status !== 429) throw error;
        await sleep(0.2);
      }
    }
  }

  // The objects of a stream of events.
  async *events(path, body, options) {
    const response = await this.fetch(path, { ...body, stream: true }, options);
    let rest = "";
    for await (const piece of response.body.pipeThrough(new TextDecoderStream())) {
      const events = (rest + piece).split("\n\n");
      rest = events.pop();
      for (const event of events) {
        const data = event.replace(/^data: /, "");
        if (data === "[DONE]") return;
        const object = JSON.parse(data);
        if (object.error) throw new HttpError(object.error.status, object);
        yield object;
      }
    }
    throw new Error(`${path}: the stream ends without [DONE]`);
  }

  async models() {
    return (await this.json("/v1/models")).data;
  }

  // {name: sum over the labels}, and the same with labels as they are written.
  async metrics() {
    const values = {};
    for (const line of (await (await this.fetch("/metrics")).text()).split("\n")) {
      const found = /^([a-z_]+)(\{.*\})? (\S+)$/.exec(line);
      if (!found) continue;
      values[found[1]] = (values[found[1]] ?? 0) + Number(found[3]);
      if (found[2]) values[found[1] + found[2]] = Number(found[3]);
    }
    return values;
  }

  // The metrics when nothing is worked on and nothing waits any more; an error if that takes too long.
  async idle(seconds = 20) {
    for (let left = seconds; ; left -= 0.1) {
      const metrics = await this.metrics();
      if (metrics.heed_slots_busy + metrics.heed_queued === 0) return metrics;
      if (left <= 0) {
        throw new Error(
          `after ${seconds} s still ${metrics.heed_slots_busy} busy slots and ${metrics.heed_queued} queued jobs`,
        );
      }
      await sleep(0.1);
    }
  }
}

// A small picture: PNG of 1 x 1, grey.
export const kPng =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNoAAAAggCBd81ytgAAAABJRU5ErkJggg==";
const kNotes = [60, 64, 67].map((pitch, i) => ({ start: i / 4, end: (i + 1) / 4, pitch, velocity: 80 }));

// A quick request for each thing that the models can do: {name, ability, path, body}; the same each time.
export function goodRequests(models) {
  const requests = [];
  for (const { id: model, heed } of models) {
    const add = (ability, path, body) => requests.push({ name: `${model} ${path}`, ability, path, body });
    const kinds = {
      complete: () => add("complete", "/v1/completions", { model, prompt: "the", max_tokens: 8, seed: 1 }),
      embed: () => add("embed", "/v1/embeddings", { model, input: ["the cat", "a dog"] }),
      classify: () => add("classify", "/v1/classify", { model, text: "the cat" }),
      answer: () => add("answer", "/v1/answer", { model, facts: ["the cat ran"], question: "who ran?" }),
      fill: () => add("fill", "/v1/fill", { model, text: "the [MASK] is here", top: 3 }),
      translate: () => add("translate", "/translate", { q: "a", source: heed.source, target: heed.target }),
      music: () =>
        add("music", "/v1/music/continue", { model, notes: kNotes, seconds: 1, max_tokens: 40, seed: 1 }),
      accompany: () => add("accompany", "/v1/music/accompany", { model, notes: kNotes, seed: 1 }),
      image: () =>
        heed.enlarges
          ? add("image", "/v1/image/upscale", { model, png: kPng, seed: 1 })
          : (add("image", "/v1/image/sample", { model, seed: 1 }),
            add("image", "/v1/image/complete", { model, png: kPng, seed: 1 })),
      attention: () => !heed.form && add("attention", "/v1/attention", { model, text: "abc" }),
    };
    for (const ability of heed.abilities) kinds[ability]();
  }
  return requests;
}

// What was found wrong; end() says so and ends the program.
export class Checks {
  constructor(name) {
    Object.assign(this, { name, done: 0, failures: [] });
  }
  ok(condition, what) {
    ++this.done;
    if (!condition) this.fail(what);
    return Boolean(condition);
  }
  equal(found, expected, what) {
    const [a, b] = [found, expected].map((value) => JSON.stringify(value));
    return this.ok(a === b, `${what}: expected ${b?.slice(0, 300)}, found ${a?.slice(0, 300)}`);
  }
  fail(what) {
    this.failures.push(what);
    console.error(`failed: ${what}`);
  }
  // Runs it; an exception is a failure.
  async run(what, action) {
    try {
      await action();
      ++this.done;
    } catch (error) {
      this.fail(`${what}: ${error.stack ?? error}${error.cause ? ` (${error.cause.message})` : ""}`);
    }
  }
  end() {
    console.log(`${this.name}: ${this.done} checks, ${this.failures.length} failed`);
    process.exit(this.failures.length === 0 && this.done > 0 ? 0 : 1);
  }
}

export const kMegabyte = 2 ** 20;
