// Requests that no server should answer with a result, from a seeded generator. A case is {name, steps, seconds?}; its
// steps are bytes to send, {wait: seconds}, {repeat: bytes} to send until the server ends it, and {end: true} to close
// the sending side.
import { deflateSync, gzipSync } from "node:zlib";
import { kPng } from "./client.mjs";

const kSampling = {
  temperature: ["number", 0, 100],
  top_k: ["integer", 0, 1e6],
  top_p: ["number", 1e-6, 1],
  min_p: ["number", 0, 1],
  repetition_penalty: ["number", 0.01, 100],
  seed: ["integer", -(2 ** 53) + 1, 2 ** 53 - 1],
};
const kMusic = {
  ...kSampling,
  notes: ["notes"],
  midi: ["base64"],
  quarters_per_minute: ["number", 5, 1000],
  stream: ["flag"],
};
const kImage = { ...kSampling, count: ["integer", 1, 16], class: ["class"], stream: ["flag"] };

// A good request of every route, and what its fields may be.
export const kRoutes = {
  "/v1/completions": {
    body: { prompt: "the", max_tokens: 4 },
    fields: {
      ...kSampling,
      model: ["model"],
      prompt: ["input"],
      max_tokens: ["integer", 0, 4096],
      n: ["integer", 1, 64],
      stop: ["stop"],
      logprobs: ["integer", 0, 20],
      echo: ["flag"],
      stream: ["flag"],
      stream_options: ["options"],
      best_of: ["only", 1],
      presence_penalty: ["only", 0],
      frequency_penalty: ["only", 0],
      suffix: ["only", ""],
      logit_bias: ["only", {}],
    },
  },
  "/v1/embeddings": {
    body: { input: "the" },
    fields: {
      model: ["model"],
      input: ["input"],
      encoding_format: ["one of"],
      pooling: ["one of"],
      normalize: ["flag"],
      dimensions: ["only", -1],
    },
  },
  "/v1/classify": {
    body: { text: "the" },
    fields: { model: ["model"], text: ["text"], pair: ["text"], texts: ["texts"] },
  },
  "/v1/fill": {
    body: { text: "a [MASK]" },
    fields: { model: ["model"], text: ["masked"], top: ["integer", 1, 1000] },
  },
  "/v1/answer": {
    body: { facts: ["the cat"], question: "the?" },
    fields: {
      model: ["model"],
      facts: ["list"],
      question: ["texts"],
      top: ["integer", 1, 1000],
      attention: ["flag"],
    },
  },
  "/v1/attention": { body: { text: "the" }, fields: { model: ["model"], text: ["some text"] } },
  "/translate": {
    body: { q: "a" },
    fields: {
      q: ["list"],
      source: ["language"],
      target: ["language"],
      model: ["model"],
      format: ["one of"],
      alternatives: ["integer", 0, 15],
      beam: ["integer", 1, 16],
      length_penalty: ["number", 0, 10],
      trace: ["flag"],
    },
  },
  "/v1/music/continue": {
    body: { seconds: 1, max_tokens: 8 },
    fields: {
      ...kMusic,
      model: ["model"],
      seconds: ["number", 0, 600],
      max_tokens: ["integer", 1, 4096],
      attention: ["flag"],
    },
  },
  "/v1/music/accompany": {
    body: { notes: [{ start: 0, end: 1, pitch: 60 }] },
    fields: { ...kMusic, model: ["model"] },
  },
  "/v1/image/sample": { body: {}, fields: { ...kImage, model: ["model"] } },
  "/v1/image/complete": {
    body: { png: kPng },
    fields: { ...kImage, model: ["model"], png: ["png"], rows_given: ["integer", 0, 4096] },
  },
  "/v1/image/upscale": { body: { png: kPng }, fields: { ...kImage, model: ["model"], png: ["png"] } },
};

// Text that JSON.stringify cannot make, by its place.
const raw = (text) => ({ toJSON: () => `\u0001${text}\u0001` });
const stringify = (body) =>
  JSON.stringify(body).replace(/"\\u0001(.*?)\\u0001"/g, (_, text) => JSON.parse(`"${text}"`));

const nested = (depth, open = "[", close = "]") => open.repeat(depth) + close.repeat(depth);
const base64 = (bytes) => Buffer.from(bytes).toString("base64");

function chunkOfPng(type, data) {
  const head = Buffer.alloc(8);
  head.writeUInt32BE(data.length);
  head.write(type, 4, "latin1");
  return Buffer.concat([head, data, Buffer.alloc(4)]); // its checksum is wrong
}

function png(width, height) {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 0, 0, 0, 0], 8);
  return Buffer.concat([
    Buffer.from("89504e470d0a1a0a", "hex"),
    chunkOfPng("IHDR", header),
    chunkOfPng("IDAT", deflateSync(Buffer.alloc(1000))),
  ]);
}

const kNumbers = [
  "3",
  true,
  [],
  {},
  [1],
  { a: 1 },
  raw("NaN"),
  raw("-Infinity"),
  raw("1e400"),
  raw("0x10"),
  raw("01"),
  raw("1."),
  -1e308,
  1e308,
];
const kNoTexts = [5, 1.5, true, [], {}, ["a"], raw("'a'"), raw('"\\ud800"'), raw('"\\x41"'), raw('"\u0002"')];
const kNote = { start: 0, end: 1, pitch: 60 };

// Wrong values of a kind of field.
function wrong(random, [kind, a, b]) {
  const choices = {
    text: () => kNoTexts,
    model: () => [...kNoTexts, "no such model", "../..", "m".repeat(1 + random.below(50000))],
    "some text": () => [...kNoTexts, ""],
    masked: () => [...kNoTexts, "no mask here", ""],
    language: () => [...kNoTexts, "xx", "no language"],
    "one of": () => [...kNoTexts, "", "other", "FLOAT", "text\u0000"],
    integer: () => [
      ...kNumbers,
      a - 1,
      b + 1,
      0.5,
      -(2 ** 63),
      2 ** 64,
      raw("9".repeat(1 + random.below(300) + 25)),
    ],
    number: () => [...kNumbers, a - 1, b * 1.01 + 1, 2 ** 64],
    flag: () => [0, 1, "true", "", "yes", [], {}, raw("TRUE"), raw("nul")],
    texts: () => [5, true, {}, [], [5], ["a", null], ["a", ["b"]], Array(5000).fill("a")],
    list: () => [5, true, {}, [5], ["a", null], ["a", ["b"]], Array(5000).fill("a")],
    input: () => [
      5,
      true,
      {},
      [],
      [[]],
      [true],
      ["a", 5],
      [-1],
      [1.5],
      [2 ** 31],
      [[1], "x", 2],
      [[[1]]],
      [null],
      Array(5000).fill("a"),
      [[-1]],
      ["a", {}],
    ],
    stop: () => [5, true, {}, [5], [""], "", Array(17).fill("a"), [["a"]]],
    options: () => [5, "usage", [], { include_usage: 3 }, { include_usage: "true" }, { include_usage: [] }],
    only: () => [a === 0 ? 0.5 : "something", [1], { 5: 1 }, true, -7],
    class: () => [true, 1.5, [], {}, "no such class", -1, 1e6, raw("1e999")],
    base64: () => [
      5,
      [],
      {},
      "*",
      "a b",
      "====x",
      base64(random.bytes(1 + random.below(300))),
      base64("MThd"),
      "",
    ],
    png: () => [
      5,
      [],
      {},
      "*",
      base64(random.bytes(1 + random.below(300))),
      base64(png(0, 5)),
      base64(png(30000, 30000)),
      base64(png(2 ** 31, 1)),
      base64(png(28, 28)),
    ],
    notes: () => [
      5,
      {},
      "notes",
      [5],
      [{}],
      [null],
      [[]],
      [{ ...kNote, pitch: 128 }],
      [{ ...kNote, pitch: "c" }],
      [{ ...kNote, end: -1 }],
      [{ ...kNote, start: 2 }],
      [{ ...kNote, velocity: 0 }],
      [{ ...kNote, channel: 99 }],
      [{ ...kNote, start: null }],
      [{ ...kNote, end: 1e9 }],
      [{ start: 0, end: 1 }],
      Array(20001).fill(kNote),
    ],
  };
  return random.pick(choices[kind]());
}

const kBomb = gzipSync(Buffer.alloc(64 * 2 ** 20, 32));
const kWaysOut = [
  "/../../etc/passwd",
  "/studio/../../../etc/passwd",
  "/studio/..%2f..%2f..%2fetc%2fpasswd",
  "/studio//etc/passwd",
  "//etc/passwd",
  "/v1/runs/..%2f..",
  "/v1/runs/%00",
];

// --- Whole requests

export class CaseMaker {
  constructor(random, { host, key, isLocal }) {
    Object.assign(this, { random, host, key, isLocal });
  }

  head(line, headers = {}, host = this.host) {
    const all = { Host: host, ...(this.key && { Authorization: `Bearer ${this.key}` }), ...headers };
    const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
    return `${line}\r\n${lines.join("")}\r\n`;
  }

  post(path, body, headers = {}) {
    const bytes = Buffer.from(body);
    return Buffer.concat([
      Buffer.from(
        this.head(`POST ${path} HTTP/1.1`, {
          "Content-Type": "application/json",
          "Content-Length": bytes.length,
          ...headers,
        }),
      ),
      bytes,
    ]);
  }

  route() {
    const path = this.random.pick(Object.keys(kRoutes));
    return { path, ...kRoutes[path] };
  }

  // One field of a good body is wrong.
  field() {
    const { path, body, fields } = this.route();
    const name = this.random.pick(Object.keys(fields));
    const text = stringify({ ...body, [name]: wrong(this.random, fields[name]) });
    return { name: `${path} ${text.slice(0, 120)}`, steps: [this.post(path, text)] };
  }

  unknownField() {
    const { path, body } = this.route();
    const name = this.random.pick([
      "x",
      "Model",
      "max_token",
      "prompt ",
      "__proto__",
      "",
      "\u0000",
      "ü".repeat(300),
      "a".repeat(1e5),
    ]);
    const value = this.random.pick([null, 1, "x", [], {}, raw(nested(2000))]);
    const text = stringify({ ...body }).replace(
      /^\{/,
      `{${JSON.stringify(name)}:${stringify(value)}${Object.keys(body).length ? "," : ""}`,
    );
    return {
      name: `${path} with the field ${JSON.stringify(name).slice(0, 40)}`,
      steps: [this.post(path, text)],
    };
  }

  badJson() {
    const { path, body } = this.route();
    const good = JSON.stringify({ ...body, seed: 1, user: "somebody" });
    const texts = [
      good.slice(0, this.random.below(good.length)),
      `${good}}`,
      `${good}${good}`,
      `${good},`,
      good.replaceAll('"', "'"),
      good.replace(/\}$/, ",}"),
      good.replace(/^\{/, "{/* a */,"),
      "",
      "   ",
      "null",
      "[]",
      "5",
      '"text"',
      `[${good}]`,
      "{",
      "\u0000",
      "undefined",
      "a=b&c=d",
      `{"a":${"9".repeat(1e5)}`,
      `{"model":"${"a".repeat(1e6)}`,
      `<?xml version="1.0"?><methodCall/>`,
    ];
    const text = this.random.pick(texts);
    return { name: `${path} with the body ${text.slice(0, 60)}`, steps: [this.post(path, text)] };
  }

  nesting() {
    const { path, fields } = this.route();
    const depth = this.random.pick([100, 10000, 1e6]);
    const [open, close] = this.random.pick([
      ["[", "]"],
      ['{"a":', "}"],
    ]);
    const value =
      open.repeat(depth) +
      this.random.pick(["", "1"]) +
      close.repeat(this.random.pick([0, depth - 1, depth, depth]));
    const known = Object.keys(fields).filter((name) => name !== "stream_options"); // which may have more in it
    const name = this.random.pick([...known, "prompt", "unknown"]);
    const whole = this.random.pick([value, `{${JSON.stringify(name)}:${value}}`]);
    return { name: `${path}: ${depth} x ${open} in ${name}`, steps: [this.post(path, whole)] };
  }

  notUtf8() {
    const { path } = this.route();
    const bad = this.random.pick(["ff", "c080", "eda080", "f4908080", "80", "e282", "f8888080", "fe", "c3"]);
    const place = this.random.pick(["value", "key"]);
    const bytes = Buffer.concat([
      Buffer.from(place === "key" ? '{"prom' : '{"prompt":"the '),
      Buffer.from(bad, "hex"),
      Buffer.from(place === "key" ? 'pt":"a"}' : ' cat"}'),
    ]);
    return { name: `${path}: ${bad} in a ${place}`, steps: [this.post(path, bytes)] };
  }

  framing() {
    const { path } = this.route();
    const body = '{"prompt":"the","max_tokens":1}';
    const with_headers = (headers, text = body) =>
      Buffer.from(this.head(`POST ${path} HTTP/1.1`, headers) + text);
    const chunked = { "Transfer-Encoding": "chunked" };
    const cases = {
      "length of -1": () => [with_headers({ "Content-Length": "-1" })],
      "length of 1e3": () => [with_headers({ "Content-Length": "1e3" })],
      "length of +5": () => [with_headers({ "Content-Length": "+5" })],
      "a huge length": () => [with_headers({ "Content-Length": "9".repeat(30) })],
      "a body beyond the limit": () => [with_headers({ "Content-Length": `${2 ** 30}` })],
      "two lengths": () => [
        Buffer.from(
          this.head(`POST ${path} HTTP/1.1\r\nContent-Length: 3`, { "Content-Length": "31" }) + body,
        ),
      ],
      "length and chunks": () => [
        with_headers({ "Content-Length": "5", ...chunked }, '5\r\n{"a":\r\n0\r\n\r\n'),
      ],
      "gzip as framing": () => [with_headers({ "Transfer-Encoding": "gzip" })],
      "a length that is too small": () => [
        with_headers({ "Content-Length": `${1 + this.random.below(body.length - 1)}` }),
      ],
      "a cut body": () => [with_headers({ "Content-Length": "5000" }), { end: true }],
      "a body cut in mid-chunk": () => [with_headers(chunked, "ff\r\nabc"), { end: true }],
      "no chunk size": () => [with_headers(chunked, "zz\r\nabc\r\n0\r\n\r\n")],
      "a negative chunk": () => [with_headers(chunked, "-5\r\nabc\r\n0\r\n\r\n")],
      "a huge chunk": () => [with_headers(chunked, `${"f".repeat(20)}\r\nabc\r\n`), { end: true }],
      "a chunk of another size": () => [with_headers(chunked, "3\r\nabcdef\r\n0\r\n\r\n")],
      "a long chunk extension": () => [with_headers(chunked, `3;${"x".repeat(1e5)}\r\nabc\r\n0\r\n\r\n`)],
      "garbage as gzip": () => [this.post(path, this.random.bytes(200), { "Content-Encoding": "gzip" })],
      "a gzip bomb": () => [this.post(path, kBomb, { "Content-Encoding": "gzip" })],
      "an unknown coding": () => [
        this.post(path, this.random.bytes(200), { "Content-Encoding": "no-such-coding" }),
      ],
      "an endless body": () => [
        with_headers(chunked, ""),
        { repeat: Buffer.from(`10000\r\n${" ".repeat(65536)}\r\n`) },
      ],
      "no body and no length": () => [Buffer.from(this.head(`POST ${path} HTTP/1.1`))],
    };
    const name = this.random.pick(Object.keys(cases));
    return { name: `${path}: ${name}`, steps: cases[name]() };
  }

  requestLine() {
    const lines = {
      "random bytes": () =>
        Buffer.concat([this.random.bytes(1 + this.random.below(500)), Buffer.from("\r\n\r\n")]),
      "a TLS hello": () => Buffer.from("16030100c8010000c40303", "hex"),
      "one word": () => "GET\r\n\r\n",
      "no version": () => this.head("GET /health"),
      "another version": () =>
        this.head(`GET /health ${this.random.pick(["HTTP/9.9", "HTTP/1", "HTTP/2.0", "http/1.1", "ICY"])}`),
      "lower case": () => this.head("get /health HTTP/1.1"),
      "an unknown method": () =>
        this.head(`${this.random.pick(["BREW", "PROPFIND", "G\u0000T", "POST/"])} /health HTTP/1.1`),
      "a wrong method": () =>
        this.head(`${this.random.pick(["DELETE", "PUT", "PATCH"])} /v1/completions HTTP/1.1`, {
          "Content-Length": 0,
        }),
      "GET of a POST": () => this.head(`GET ${this.random.pick(Object.keys(kRoutes))} HTTP/1.1`),
      "POST of a GET": () => this.post("/v1/models", "{}"),
      "an unknown path": () => this.head(`GET /${this.random.bytes(8).toString("hex")} HTTP/1.1`),
      "a way out": () => this.head(`GET ${this.random.pick(kWaysOut)} HTTP/1.1`),
      "bad escapes": () => this.head("GET /%zz%1%/%ff HTTP/1.1"),
      "a long path": () =>
        this.head(`GET /${"a".repeat(this.random.pick([2000, 9000, 40000, 200000]))} HTTP/1.1`),
      "a long query": () => this.head(`GET /none?${"a=b&".repeat(this.random.pick([500, 20000]))} HTTP/1.1`),
      "only line feeds": () => this.head("GET /none HTTP/1.1").replaceAll("\r", ""),
      "two spaces": () => this.head("GET  /none  HTTP/1.1"),
      "half a line": () => "GET /hea",
    };
    const name = this.random.pick(Object.keys(lines));
    return {
      name: `request line: ${name}`,
      steps: [Buffer.from(lines[name]()), ...(name === "half a line" ? [{ end: true }] : [])],
    };
  }

  headers() {
    const line = "GET /health HTTP/1.1";
    const cases = {
      "no host": () => `${line}\r\n\r\n`,
      "no colon": () => this.head(`${line}\r\nthis is no header`),
      "a space in a name": () => this.head(`${line}\r\nX Y: 1`),
      "a folded line": () => this.head(`${line}\r\nX: 1\r\n  2`),
      "an empty name": () => this.head(`${line}\r\n: 1`),
      "a control character": () => this.head(`${line}\r\nX: a\u0001b`),
      "a NUL": () => this.head(`${line}\r\nX: a\u0000b`),
      "a long header": () => this.head(`${line}\r\nX: ${"a".repeat(100000)}`),
      "many headers": () => this.head(line + "\r\nX: 1".repeat(20000)),
      "bytes beyond ASCII": () => this.head(`${line}\r\n\u00ff\u00fe: 1`),
      "another origin": () =>
        this.post("/v1/completions", '{"prompt":"a"}', { Origin: "https://elsewhere.example" }).toString(
          "latin1",
        ),
      "the origin null": () =>
        this.post("/v1/completions", '{"prompt":"a"}', { Origin: "null" }).toString("latin1"),
      ...(this.isLocal && {
        "another host": () => this.head("GET /health HTTP/1.1", {}, "elsewhere.example"),
      }),
      ...(this.key && {
        "another key": () => this.head("GET /v1/models HTTP/1.1", { Authorization: "Bearer wrong" }),
      }),
      "cut headers": () => `${line}\r\nHost: ${this.host}\r\nX: `,
    };
    const name = this.random.pick(Object.keys(cases));
    return {
      name: `headers: ${name}`,
      steps: [Buffer.from(cases[name](), "latin1"), ...(name === "cut headers" ? [{ end: true }] : [])],
    };
  }

  // Those that once were trouble, or easily are; not left to chance.
  always() {
    const deep = nested(3e6);
    const bodies = {
      "a deep prompt": ["/v1/completions", `{"prompt":${deep}}`],
      "a deep stop": ["/v1/completions", `{"prompt":"a","stop":${deep}}`],
      "a deep input": ["/v1/embeddings", `{"input":${deep}}`],
      "deep texts": ["/v1/classify", `{"texts":${deep}}`],
      "a deep q": ["/translate", `{"q":${deep}}`],
      "deep notes": ["/v1/music/continue", `{"notes":${deep}}`],
      "a deep class": ["/v1/image/sample", `{"class":${deep}}`],
      "a long prompt": ["/v1/completions", `{"prompt":"${"a".repeat(7e6)}","model":5}`],
      "a long open text": ["/v1/completions", `{"prompt":"${"a".repeat(7e6)}`],
      "a flag in a flag": ["/v1/completions", '{"prompt":"a","stream_options":{"include_usage":3}}'],
      "no probability": ["/v1/completions", '{"prompt":"a","top_p":0,"stream":true}'],
      "too many texts": ["/v1/completions", JSON.stringify({ prompt: Array(64).fill("a"), n: 64 })],
    };
    return Object.entries(bodies).map(([name, [path, body]]) => ({ name, steps: [this.post(path, body)] }));
  }

  // Takes as long as the server lets it; few, and beside the others.
  slow() {
    const line = this.head("POST /v1/completions HTTP/1.1", { "Content-Length": "50" });
    const drip = (text) => [...text].flatMap((letter) => [Buffer.from(letter), { wait: 0.25 }]);
    const cases = {
      nothing: [{ wait: 60 }],
      "half a head": [Buffer.from(line.slice(0, 40)), { wait: 60 }],
      "a head by letters": [...drip(line.slice(0, -4) + "a".repeat(200)), { wait: 60 }],
      "no body": [Buffer.from(line), { wait: 60 }],
      "a body by letters": [Buffer.from(line), ...drip(" ".repeat(49)), { wait: 60 }],
      "half a chunk": [
        Buffer.from(this.head("POST /v1/fill HTTP/1.1", { "Transfer-Encoding": "chunked" }) + "5\r\n{"),
        { wait: 60 },
      ],
    };
    return Object.entries(cases).map(([name, steps]) => ({ name: `slow: ${name}`, steps, seconds: 60 }));
  }

  next() {
    const share = this.random.next();
    if (share < 0.5) return this.field();
    if (share < 0.58) return this.unknownField();
    if (share < 0.68) return this.badJson();
    if (share < 0.72) return this.nesting();
    if (share < 0.76) return this.notUtf8();
    if (share < 0.86) return this.framing();
    if (share < 0.94) return this.requestLine();
    return this.headers();
  }
}
