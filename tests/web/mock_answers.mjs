// Made-up answers that look like a server's: the same for the same request.
import { deflateSync } from "node:zlib";

export function randomOf(seed) {
  let state = (seed ^ 0x9e3779b9) >>> 0;
  return () => {
    state = (Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x6d2b79f5) >>> 0;
    return ((state ^ (state >>> 13)) >>> 0) / 2 ** 32;
  };
}

export const hashOf = (text) =>
  [...text].reduce((hash, letter) => (Math.imul(hash, 31) + letter.codePointAt(0)) >>> 0, 7);

const floats = (values) => {
  const buffer = Buffer.alloc(4 * values.length);
  values.forEach((value, i) => buffer.writeFloatLE(value, 4 * i));
  return buffer.toString("base64");
};

// --- Attention

// Rows that sum to one, sharper in some heads than in others.
function softRows({ heads, queries, keys, causal, random, centre }) {
  const all = [];
  for (let head = 0; head < heads; ++head) {
    const sharp = 0.4 + 2.5 * random(),
      shift = Math.round(3 * random() - 1.5),
      sink = random();
    for (let q = 0; q < queries; ++q) {
      const row = Array.from({ length: keys }, (_, k) =>
        causal && k > q
          ? 0
          : Math.exp(-sharp * Math.abs(k - centre(q) - shift)) + 0.03 * random() + (k === 0 ? sink * 0.6 : 0),
      );
      const sum = row.reduce((a, b) => a + b, 0) || 1;
      all.push(...row.map((weight) => weight / sum));
    }
  }
  return floats(all);
}

function maps(kind, { layers, heads, queries, keys, seed }) {
  return Array.from({ length: layers }, (_, layer) => ({
    kind,
    layer,
    heads,
    queries,
    keys,
    weights: softRows({
      heads,
      queries,
      keys,
      causal: kind === "decoder",
      random: randomOf(seed + layer * 101 + kind.length),
      centre: (q) => (queries === keys ? q : (q * (keys - 1)) / Math.max(1, queries - 1)),
    }),
  }));
}

const sentencePieces = (text) =>
  text
    .trim()
    .split(/\s+/)
    .flatMap((word) => {
      const [, stem, end] = /^(.*?)([.,!?]?)$/.exec(word);
      const half = stem.length > 7 ? [`▁${stem.slice(0, 5)}`, stem.slice(5)] : [`▁${stem}`];
      return [...half, ...(end ? [end] : [])];
    });
const bytePieces = (text) => text.match(/ ?[\p{L}]+| ?[^\s\p{L}]+|\s+/gu) ?? [];

export const kMostAttention = 256;

// As the server tells it: a translator's tokens begin with START, which is what the decoder reads first.
export function attention(model, { text, target, crop }) {
  const seed = hashOf(text);
  const shape = { layers: 3, heads: 4, seed };
  if (model.kind === "translator") {
    const source = [...sentencePieces(text), "</s>"],
      read = ["<s>", ...sentencePieces(target ?? translate(text))];
    const [s, t] = [source.length, read.length];
    return {
      source,
      tokens: read,
      left_out: 0,
      translation: target ?? translate(text),
      maps: [
        ...maps("encoder", { ...shape, queries: s, keys: s }),
        ...maps("decoder", { ...shape, queries: t, keys: t }),
        ...maps("cross", { ...shape, queries: t, keys: s }),
      ],
    };
  }
  const isEncoder = model.kind === "bert";
  const all = isEncoder
    ? [
        "[CLS]",
        ...text
          .toLowerCase()
          .match(/\[mask\]|\w+|[^\s\w]/g)
          .flatMap((word) =>
            word.length > 7 && word !== "[mask]" ? [word.slice(0, 5), `##${word.slice(5)}`] : [word],
          ),
        "[SEP]",
      ]
    : bytePieces(text);
  const tokens = crop && !isEncoder ? all.slice(-kMostAttention) : all;
  return {
    tokens,
    left_out: all.length - tokens.length,
    maps: maps(isEncoder ? "encoder" : "decoder", {
      ...shape,
      layers: 4,
      heads: 6,
      queries: tokens.length,
      keys: tokens.length,
    }),
  };
}

// --- Text

const kWords = {
  a: "ein",
  man: "Mann",
  in: "in",
  blue: "blauen",
  shirt: "Hemd",
  is: "ist",
  standing: "steht",
  on: "auf",
  ladder: "Leiter",
  two: "zwei",
  dogs: "Hunde",
  are: "sind",
  playing: "spielen",
  the: "dem",
  snow: "Schnee",
};

export const translate = (text, version = 0) => {
  const words = text
    .split(/\s+/)
    .filter(Boolean)
    .map((word) => word.replace(/[A-Za-z]+/, (letters) => kWords[letters.toLowerCase()] ?? letters));
  if (version > 0 && words.length > 2)
    [words[version - 1], words[version]] = [words[version], words[version - 1]];
  const joined = words.join(" ");
  return joined.charAt(0).toUpperCase() + joined.slice(1);
};

// What stands there after each pass: token by token, all at once, or the likeliest first and the others in turn, with a
// word that changes its mind.
export function trace(text, decoding, iterations) {
  const pieces = sentencePieces(translate(text));
  if (decoding === "parallel") return [pieces];
  if (decoding !== "refine") return pieces.map((_, i) => pieces.slice(0, i + 1));
  return Array.from({ length: iterations }, (_, pass) =>
    pieces.map((piece, i) => {
      const isLast = pass === iterations - 1;
      if (!isLast && (i * 7) % iterations > pass) return null;
      return i === 0 && pass === 0 && !isLast ? "▁Das" : piece;
    }),
  );
}

const kStory = (
  " looked out over the sea, where the last light of the day was fading behind the hills. " +
  "He had waited a long time for the ship, and now that it came — ☺ — he did not know what to say.\n" +
  '"You are late," he said at last. The wind took his words away.'
).match(/ ?[\p{L}']+|[^\p{L}]/gu);
const kOthers = [" the", " a", " and", " his", " nothing", " slowly", " sea", ".", ","];

// One token of a completion with what else there could have been.
export function completionToken(i, seed) {
  const random = randomOf(seed + i * 13);
  const token = kStory[i % kStory.length];
  let rest = 1;
  const chances = Array.from({ length: 5 }, () => {
    const chance = rest * (0.35 + 0.5 * random());
    rest -= chance;
    return chance;
  });
  const mine = Math.floor(random() ** 3 * 5);
  const others = kOthers.filter((other) => other !== token);
  const start = Math.floor(random() * others.length);
  const top = Object.fromEntries(
    chances.map((chance, at) => [
      at === mine ? token : others[(start + at) % others.length],
      Math.log(chance),
    ]),
  );
  return { token, logprob: top[token], top };
}

export const fill = (text, top) =>
  (text.match(/\[MASK\]/g) ?? []).map((_, gap) => {
    const words = ["capital", "weather", "city", "heart", "north", "river", "sky", "food"];
    return Array.from({ length: top }, (_, i) => ({
      word: words[(gap + i) % words.length],
      probability: 0.55 * 0.5 ** i,
    }));
  });

export function classify(text, labels) {
  const random = randomOf(hashOf(text));
  const raw = labels.map(() => Math.exp(3 * random()));
  const sum = raw.reduce((a, b) => a + b, 0);
  const scores = labels.map((label, i) => ({ label, score: raw[i] / sum }));
  return { label: scores.reduce((best, one) => (one.score > best.score ? one : best)).label, scores };
}

// A layer looks at each sentence by chance; the question takes a step more than the facts.
export function answer(facts, question, labels) {
  const { label, scores } = classify([...facts, question].join(" "), labels);
  const random = randomOf(hashOf(question));
  const look = (layer) => {
    const raw = [...facts, question].map(() => Math.exp(2 * random()));
    const sum = raw.reduce((a, b) => a + b, 0);
    const shares = raw.map((value) => value / sum);
    return { layer, facts: shares.slice(0, -1), question: shares.at(-1) };
  };
  return {
    question,
    answer: label,
    answers: scores
      .map((one) => ({ answer: one.label, probability: one.score }))
      .sort((a, b) => b.probability - a.probability),
    attention: [0, 1, 2].map(look),
    pondering: { facts: facts.map((_, i) => 2 + (i % 3)), question: 6 },
  };
}

// Texts with the same words are near each other.
export function embedding(text) {
  const vector = new Array(64).fill(0.15);
  for (const word of text.toLowerCase().match(/\w+/g) ?? []) vector[hashOf(word) % 64] += 1;
  const length = Math.hypot(...vector);
  return vector.map((value) => value / length);
}

// --- Music

export function music({ notes, seconds, seed, attention: wanted }) {
  const random = randomOf(seed);
  const kScale = [60, 62, 64, 65, 67, 69, 71, 72, 74, 76];
  const motifEnd = Math.max(0, ...notes.map((note) => note.end));
  const all = [...notes];
  let at = motifEnd,
    degree = 3;
  while (at < motifEnd + seconds - 0.2) {
    degree = Math.max(0, Math.min(kScale.length - 1, degree + Math.round(random() * 4 - 2)));
    const length = [0.18, 0.18, 0.36, 0.54][Math.floor(random() * 4)];
    all.push({
      start: at,
      end: at + length,
      pitch: kScale[degree],
      velocity: 60 + Math.floor(40 * random()),
      channel: 0,
    });
    if (random() < 0.3)
      all.push({
        start: at,
        end: at + 0.7,
        pitch: kScale[degree] - 12 - 3 * Math.floor(2 * random()),
        velocity: 55,
        channel: 0,
      });
    at += length;
  }
  const answer = { notes: all, motif_end: motifEnd, duration: at, midi: midiFile(all).toString("base64") };
  if (wanted) answer.attention = musicAttention(all, motifEnd, seed);
  return answer;
}

function musicAttention(notes, motifEnd, seed) {
  const queries = [...notes.keys()].filter((i) => notes[i].start >= motifEnd);
  const keys = [...notes.keys()];
  const layers = Array.from({ length: 2 }, (_, layer) => {
    const random = randomOf(seed + 1000 * layer + 5),
      weights = [];
    for (let head = 0; head < 3; ++head) {
      const distance = 1.44 * (1 + head);
      for (const q of queries) {
        const row = keys.map((k) =>
          k >= q ? 0 : Math.exp(-Math.abs(notes[q].start - notes[k].start - distance) * 4) + 0.02 * random(),
        );
        row.push(0.2);
        const sum = row.reduce((a, b) => a + b, 0);
        weights.push(...row.map((weight) => weight / sum));
      }
    }
    return { layer, heads: 3, weights: floats(weights) };
  });
  return { queries, keys, layers };
}

// Format 0, one tempo: 480 ticks a quarter, half a second each.
export function midiFile(notes) {
  const events = notes
    .flatMap((note) => [
      { tick: Math.round(note.start * 960), bytes: [0x90, note.pitch, note.velocity] },
      { tick: Math.round(note.end * 960), bytes: [0x80, note.pitch, 0] },
    ])
    .sort((a, b) => a.tick - b.tick || a.bytes[0] - b.bytes[0]);
  const variable = (value) =>
    value < 128 ? [value] : [...variable(value >> 7).map((byte) => byte | 128), value & 127];
  let last = 0;
  const body = events.flatMap(({ tick, bytes }) => {
    const gap = tick - last;
    last = tick;
    return [...variable(gap), ...bytes];
  });
  const track = Buffer.from([0, 0xff, 0x51, 3, 0x07, 0xa1, 0x20, ...body, 0, 0xff, 0x2f, 0]);
  const head = Buffer.from([
    ...Buffer.from("MThd"),
    0,
    0,
    0,
    6,
    0,
    0,
    0,
    1,
    0x01,
    0xe0,
    ...Buffer.from("MTrk"),
    0,
    0,
    0,
    0,
  ]);
  head.writeUInt32BE(track.length, 18);
  return Buffer.concat([head, track]);
}

// --- Images

function crc(bytes) {
  let c = 0xffffffff;
  for (const byte of bytes) {
    c ^= byte;
    for (let bit = 0; bit < 8; ++bit) c = c & 1 ? 0xedb88320 ^ (c >>> 1) : c >>> 1;
  }
  return (c ^ 0xffffffff) >>> 0;
}

function png(width, height, channels, pixels) {
  const chunk = (name, data) => {
    const body = Buffer.concat([Buffer.from(name), data]);
    const made = Buffer.alloc(8);
    made.writeUInt32BE(data.length, 0);
    made.writeUInt32BE(crc(body), 4);
    return Buffer.concat([made.subarray(0, 4), body, made.subarray(4)]);
  };
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.set([8, channels === 1 ? 0 : 2, 0, 0, 0], 8);
  const lines = Buffer.alloc(height * (1 + width * channels));
  for (let y = 0; y < height; ++y)
    lines.set(
      pixels.subarray(y * width * channels, (y + 1) * width * channels),
      y * (1 + width * channels) + 1,
    );
  return Buffer.concat([
    Buffer.from([0x89, 0x50, 0x4e, 0x47, 13, 10, 26, 10]),
    chunk("IHDR", head),
    chunk("IDAT", deflateSync(lines)),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

// A ring or a stroke, drawn down to the pixel `done`; the rest is the model's empty grey.
export function image({ rows, columns, channels }, seed, done) {
  const random = randomOf(seed);
  const [cx, cy, radius, thick] = [
    columns * (0.4 + 0.2 * random()),
    rows * (0.4 + 0.2 * random()),
    rows * (0.2 + 0.15 * random()),
    1.5 + rows * 0.05,
  ];
  const tint = [random(), random(), random()],
    slope = 2 * random() - 1,
    isRing = random() < 0.6;
  const pixels = new Uint8Array(rows * columns * channels).fill(70);
  for (let i = 0; i < done; ++i) {
    const x = i % columns,
      y = Math.floor(i / columns);
    const away = isRing
      ? Math.abs(Math.hypot(x - cx, y - cy) - radius)
      : Math.abs((x - cx) * 0.9 - slope * (y - cy));
    const inside =
      Math.max(0, Math.min(1, thick - away)) * (isRing || Math.abs(y - cy) < radius * 1.3 ? 1 : 0);
    for (let c = 0; c < channels; ++c)
      pixels[i * channels + c] =
        channels === 1
          ? 255 * inside
          : 255 * (inside * tint[c] + (1 - inside) * (0.25 + 0.5 * (y / rows) * (1 - tint[c])));
  }
  return png(columns, rows, channels, pixels).toString("base64");
}

// --- A run that goes on while one looks

export function run(name, step) {
  const random = randomOf(3);
  const metrics = [],
    validation = [];
  for (let at = 10; at <= step; at += 10) {
    metrics.push({
      step: at,
      epoch: at / 400,
      loss: 1.4 + 6.5 * Math.exp(-at / 350) + 0.15 * (random() - 0.5),
      rate: 1e-3 * Math.min(at / 400, Math.sqrt(400 / at)),
      tokens_per_second: 17_000 + 900 * random(),
      seconds: at / 6,
    });
    if (at % 200 === 0) {
      validation.push({
        step: at,
        loss: 1.5 + 6.2 * Math.exp(-at / 360),
        metric: "bleu",
        value: 36 * (1 - Math.exp(-at / 700)),
        example: "Ein Mann steht auf einer Leiter. → A man is standing on a ladder.",
      });
    }
  }
  return { name, task: "translate", step, metrics, validation, label_smoothing: 0.1, state: "training" };
}
