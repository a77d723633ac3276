// The studio's modules that need no browser: parsers of what comes from outside, and sums.
//   node --test tests/web/modules_test.mjs
import assert from "node:assert/strict";
import test from "node:test";
import { inflateSync } from "node:zlib";
import { eventData } from "../../src/web/api.js";
import { base64Of, bytesOf, floatsOf } from "../../src/web/bytes.js";
import { readMidi } from "../../src/web/music/midi.js";
import { byWords, readable, readAttention, sidesOf } from "../../src/web/parts/attention_data.js";
import { explain } from "../../src/web/parts/explain.js";
import { passesOf, summaryOf } from "../../src/web/parts/fill_data.js";
import { clearestHead, entropyOf, headFact } from "../../src/web/parts/head_facts.js";
import { metricName } from "../../src/web/parts/metric_names.js";
import { Poll } from "../../src/web/parts/poll.js";
import { edgesOf, levelNames, levelOf } from "../../src/web/parts/surprise.js";
import { encodePng } from "../../src/web/png.js";
import { readMetrics, summary, valueOf } from "../../src/web/prometheus.js";
import { randomOf } from "./mock_answers.mjs";

const ascii = (text) => [...text].map((letter) => letter.charCodeAt(0));
const word = (value) => [value >>> 24, (value >> 16) & 255, (value >> 8) & 255, value & 255];
const track = (bytes) => [...ascii("MTrk"), ...word(bytes.length), ...bytes];
const midi = (format, tracks, division) =>
  Uint8Array.from([
    ...ascii("MThd"),
    ...word(6),
    0,
    format,
    0,
    tracks.length,
    ...division,
    ...tracks.flatMap(track),
  ]);

test("MIDI: running status, note-on with velocity 0, and a tempo change in the middle of a note", () => {
  const tempos = [0, 0xff, 0x51, 3, 0x07, 0xa1, 0x20, 96, 0xff, 0x51, 3, 0x0f, 0x42, 0x40, 0, 0xff, 0x2f, 0];
  const keys = [0, 0x91, 60, 100, 0x81, 0x40, 60, 0, 0, 62, 90, 96, 0x81, 62, 64, 0, 0xff, 0x2f, 0];
  // 96 ticks a quarter; a quarter is 0.5 s, and 1 s from tick 96 on.
  assert.deepEqual(readMidi(midi(1, [tempos, keys], [0, 96])), [
    { start: 0, end: 1.5, pitch: 60, velocity: 100, channel: 1 },
    { start: 1.5, end: 2.5, pitch: 62, velocity: 90, channel: 1 },
  ]);
});

test("MIDI: a time code division, a key struck twice, one never lifted", () => {
  const keys = [
    0, 0x90, 60, 80, 100, 0x90, 60, 70, 100, 0x90, 64, 70, 100, 0xb0, 64, 0, 0, 0x80, 1, 0, 0, 0xff, 0x2f, 0,
  ];
  const notes = readMidi(midi(0, [keys], [256 - 25, 40])); // 25 frames of 40 ticks: 1000 ticks a second
  assert.deepEqual(
    notes.map(({ start, end, pitch }) => [start, end, pitch]),
    [
      [0, 0.1, 60],
      [0.1, 0.3, 60],
      [0.2, 0.3, 64],
    ],
  );
});

test("MIDI: bytes that are none are refused, whatever they are", () => {
  const whole = midi(1, [[0, 0x90, 60, 80, 100, 0x80, 60, 0, 0, 0xff, 0x2f, 0]], [0, 96]);
  assert.throws(() => readMidi(Uint8Array.of(1, 2, 3)), /not a MIDI file/);
  assert.throws(() => readMidi(midi(2, [], [0, 96])), /format 2/);
  assert.throws(() => readMidi(midi(0, [], [0, 0])), /how long a quarter is/);
  for (let size = 0; size < whole.length - 4; ++size)
    assert.throws(() => readMidi(whole.subarray(0, size)), Error);
  const random = randomOf(1);
  for (let i = 0; i < 20_000; ++i) {
    const spoilt = whole.slice();
    for (let at = 0; at < 3; ++at) spoilt[Math.floor(random() * spoilt.length)] = Math.floor(random() * 256);
    try {
      for (const note of readMidi(spoilt)) assert.ok(note.end > note.start && note.pitch < 128);
    } catch (error) {
      assert.equal(error.constructor, Error, error.stack); // a reason, not a slip of ours
    }
  }
});

test("event streams: the same events wherever the pieces are cut", async () => {
  const text =
    'data: {"a":1}\n\n: a comment\n\ndata: two\ndata: lines\r\n\r\nevent: x\ndata:[DONE]\n\ndata: cut off';
  const events = async (pieces) => {
    const seen = [];
    for await (const data of eventData(pieces)) seen.push(data);
    return seen;
  };
  for (let size = 1; size <= text.length; ++size) {
    const pieces = text.match(new RegExp(`[^]{1,${size}}`, "g"));
    assert.deepEqual(await events(pieces), ['{"a":1}', "two\nlines", "[DONE]"], `pieces of ${size}`);
  }
});

test("base64 and floats", () => {
  const bytes = Uint8Array.from({ length: 100_000 }, (_, i) => (i * 7) & 255);
  assert.deepEqual(bytesOf(base64Of(bytes)), bytes);
  assert.deepEqual([...floatsOf("AACAPwAAAMA=")], [1, -2]);
});

test("attention: the rows of hops are no tokens", () => {
  const weights = base64Of(new Uint8Array(Float32Array.of(1, 0, 0, 0, 0.25, 0.75).buffer));
  const answer = {
    tokens: ["[CLS]", "fi", "##lm"],
    maps: [{ kind: "hops", layer: 0, heads: 1, queries: 2, keys: 3, weights }],
  };
  const data = readAttention(answer);
  assert.deepEqual(sidesOf(data, data.maps[0]), { queries: ["hop 0", "hop 1"], keys: answer.tokens });
  assert.deepEqual(data.produced, answer.tokens);
  const words = byWords(data);
  assert.deepEqual(sidesOf(words, words.maps[0]), { queries: ["hop 0", "hop 1"], keys: ["[CLS]", "film"] });
  assert.deepEqual([...words.maps[0].weights[0]], [1, 0, 0, 1]);
});

test("attention: pieces become words, and rows still sum to one", () => {
  const weights = Float32Array.of(0.1, 0.2, 0.3, 0.4, 0.4, 0.3, 0.2, 0.1, 0.25, 0.25, 0.25, 0.25);
  const answer = {
    source: ["▁un", "seen", "▁dog", "</s>"],
    tokens: ["<s>", "▁Hun", "d"],
    maps: [
      {
        kind: "cross",
        layer: 0,
        heads: 1,
        queries: 3,
        keys: 4,
        weights: base64Of(new Uint8Array(weights.buffer)),
      },
    ],
  };
  const { maps, source, target, produced } = byWords(readAttention(answer));
  assert.deepEqual(source.map(readable), ["unseen", "dog", "</s>"]);
  assert.deepEqual(target.map(readable), ["<s>", "Hund"]);
  assert.deepEqual(produced.map(readable), ["Hund", "</s>"]); // what its rows stand for
  // The first word's row is the mean of its two pieces' rows; a word's column the sum of its pieces'.
  const expected = [0.5, 0.25, 0.25, 0.5, 0.25, 0.25];
  maps[0].mean.forEach((weight, i) => assert.ok(Math.abs(weight - expected[i]) < 1e-6));
  assert.deepEqual(byWords(readAttention({ tokens: ["[CLS]", "play", "##ing", "[SEP]"], maps: [] })).target, [
    "[CLS]",
    "playing",
    "[SEP]",
  ]);
  const tokens = readAttention({ tokens: ["a", "b", "c"], maps: [] });
  const map = { kind: "encoder", queries: 3, keys: 2 };
  assert.deepEqual(sidesOf(tokens, map), { queries: ["a", "b", "c"], keys: ["#1", "#2"] });
  assert.deepEqual([" the", "Ġcat", "\n", " "].map(readable), ["the", "cat", "↵", "␣"]);
});

test("PNG: grey and colours, without opacity", async () => {
  const data = Uint8Array.of(255, 0, 0, 255, 0, 255, 0, 255, 0, 0, 255, 9, 255, 255, 255, 255);
  for (const [channels, kind, pixels] of [
    [1, 0, [0, 76, 150, 0, 29, 255]],
    [3, 2, [0, 255, 0, 0, 0, 255, 0, 0, 0, 0, 255, 255, 255, 255]],
  ]) {
    const blob = await encodePng({ data, width: 2, height: 2 }, channels);
    const bytes = Buffer.from(await blob.arrayBuffer());
    assert.equal(bytes.readUInt32BE(16), 2);
    assert.equal(bytes[25], kind);
    const size = bytes.readUInt32BE(33);
    assert.deepEqual([...inflateSync(bytes.subarray(41, 41 + size))], pixels);
    assert.equal(bytes.readUInt32BE(bytes.length - 4), 0xae426082); // what every PNG ends with
  }
});

test("metrics: sums over labels, means of histograms", () => {
  const families = readMetrics(
    [
      "# HELP a_total Requests",
      "# TYPE a_total counter",
      'a_total{route="/x"} 3',
      'a_total{route="/y"} 4 1700000000',
      "# TYPE t_seconds histogram",
      't_seconds_bucket{le="1"} 2',
      't_seconds_bucket{le="+Inf"} 4',
      "t_seconds_sum 6",
      "t_seconds_count 4",
      "nonsense",
    ].join("\n"),
  );
  assert.equal(valueOf(families, "a_total", { route: "/y" }), 4);
  assert.equal(valueOf(families, "a_total", { route: "/z" }), undefined);
  assert.equal(valueOf(families, "b_total"), undefined);
  assert.deepEqual(
    families.map((family) => [family.name, family.help, summary(family)]),
    [
      ["a_total", "Requests", 7],
      ["t_seconds", "", 1.5],
    ],
  );
});

test("errors: the page's words instead of the program's", () => {
  const label = (param) => ({ max_tokens: "Tokens" })[param];
  const said = (error) => explain(error, label);
  assert.equal(
    said({
      status: 400,
      code: "invalid_value",
      param: "max_tokens",
      message: "max_tokens is -3, expected a whole number from 0 to 4096",
    }),
    "Tokens must be a whole number from 0 to 4096, not -3.",
  );
  assert.equal(
    said({ status: 400, message: "[attention] a text has 300 tokens, expected at most 256" }),
    "This text has 300 tokens; the model takes 256 at most. Shorten it.",
  );
  assert.equal(
    said({ status: 400, message: "[fill] [x] the text has no [MASK]" }),
    "The text has no [MASK].",
  );
  assert.equal(
    said({ status: 429, retryAfter: 1, message: "x" }),
    "The server is busy. Try again in 1 second.",
  );
  assert.equal(said({ status: 429, message: "x" }), "The server is busy. Try again in a moment.");
  assert.match(said({ status: 500, message: "[engine] bad_alloc" }), /^Something went wrong on the server/);
  assert.equal(said(new Error("This MIDI file is cut short.")), "This MIDI file is cut short.");
});

test("surprise: levels by the size of the vocabulary", () => {
  const large = edgesOf(50257),
    small = edgesOf(30);
  assert.deepEqual(large, [1, 3, 6, 10]);
  assert.ok(small.every((edge, i) => edge < large[i]));
  assert.deepEqual(
    [0.9, 0.3, 0.05, 0.005, 0.0001].map((p) => levelOf(Math.log(p), large)),
    [0, 1, 2, 3, 4],
  );
  assert.equal(levelNames(large).length, 5);
  assert.equal(levelNames(large)[0], "under 1 bit");
});

test("metrics have the names that people know", () => {
  assert.deepEqual(
    ["bleu", "accuracy", "perplexity", "bits_per_dimension", "f1", "something_new", ""].map(metricName),
    ["BLEU", "Accuracy", "Perplexity", "Bits per dimension", "F1", "Something new", ""],
  );
});

test("heads: where their weight goes", () => {
  const one = (rows) => Float32Array.from(rows.flat());
  const eye = one([[1, 0, 0], [0, 1, 0], [0, 0, 1]]); // prettier-ignore
  const before = one([[1, 0, 0], [1, 0, 0], [0, 1, 0]]); // prettier-ignore
  const even = new Float32Array(9).fill(1 / 3);
  const map = { kind: "encoder", layer: 2, queries: 3, keys: 3, weights: [eye, before, even] };
  assert.equal(headFact(map, 0), "100% on the token itself");
  assert.equal(headFact(map, 1), "100% on the token before it");
  assert.equal(
    headFact({ ...map, queries: 2, kind: "cross", weights: [even.subarray(0, 6)] }, 0),
    "spread over about 3 tokens",
  );
  assert.equal(entropyOf(map, eye), 0);
  assert.ok(Math.abs(entropyOf(map, even) - Math.log2(3)) < 1e-6);
  const after = one([[0, 1, 0], [0, 0, 1], [0, 0, 1]]); // prettier-ignore
  assert.deepEqual(clearestHead([{ ...map, weights: [even, eye, after] }]), { layer: 2, head: 2 });
});

test("polling: once at a time, and not after its end", async () => {
  let looks = 0;
  const poll = new Poll({ every: 1, look: async () => ++looks < 3 });
  await poll.start();
  await new Promise((wake) => setTimeout(wake, 60));
  assert.equal(looks, 3, "until there is nothing more to ask for");
  poll.look = async () => void ++looks;
  await poll.now();
  poll.stop();
  const before = looks;
  await new Promise((wake) => setTimeout(wake, 20));
  assert.equal(looks, before, "not while the page is hidden");
});

test("passes of a decoder: what is new, changed, kept and open", () => {
  const passes = passesOf([["a", null, "x"], ["a", "b", "y", null], ["a", "b"]]);
  assert.deepEqual(
    passes.map(({ tokens }) => tokens.map(({ state }) => state)),
    [
      ["new", "open", "new"],
      ["kept", "new", "changed", "open"],
      ["kept", "kept"],
    ],
  );
  assert.deepEqual(passes.map(summaryOf), [
    "2 new, 1 still open",
    "1 new, 1 changed, 1 still open",
    "nothing changed",
  ]);
  assert.deepEqual(passesOf([]), []);
});
