// Attention as the server tells it, made ready for pictures: a Float32Array [queries, keys] for every
// head, their mean, and the pieces of words put together again.
//
// A decoder reads one token and produces the next. Its rows are named after the token that they
// produce, since that is what a row's weights were for; its columns after the tokens that were read.
import { floatsOf } from "../bytes.js";

export const kMean = -1; // the "head" that stands for all of them
export const kKinds = {
  encoder: { name: "Encoder", queries: "source", keys: "source" },
  decoder: { name: "Decoder", queries: "produced", keys: "target" },
  cross: { name: "Cross", queries: "produced", keys: "source" },
  hops: { name: "Hops", queries: "hops", keys: "source" }, // sums of a text, each by weights of its own
};
const kSides = ["source", "target", "produced", "hops"];

const kEnd = "</s>"; // what a translation ends with
const kNext = "(next)"; // what a language model would say after the text
const kMeanings = {
  "<s>": "is the start mark that the decoder reads before its first word",
  "</s>": "marks the end of a text",
  "<unk>": "stands for a piece that the model does not know",
  "[UNK]": "stands for a piece that the model does not know",
  "[CLS]": "stands before the text; classifiers read its vector as that of the whole text",
  "[SEP]": "marks the end of a text",
  "[MASK]": "is the gap",
  "<|endoftext|>": "stands between texts",
  [kNext]: "is the token that would follow the text",
};
// [token, what it means] for those among the tokens that are not text.
export const specialsIn = (...sides) =>
  Object.entries(kMeanings).filter(([token]) => sides.some((side) => side.includes(token)));
export const meaningOf = (token) => (kMeanings[token] ? `${token} ${kMeanings[token]}` : null);

export const headName = (head) => (head === kMean ? "mean of all heads" : `head ${head}`);
export const weightsOf = (map, head) => (head === kMean ? map.mean : map.weights[head]);
export const largest = (weights) => weights.reduce((most, weight) => Math.max(most, weight), 0);
export const formatWeight = (weight) =>
  weight > 0 && weight < 0.001 ? weight.toExponential(1) : weight.toFixed(3);

export function meanOf(heads) {
  const mean = new Float32Array(heads[0].length);
  for (const weights of heads)
    weights.forEach((weight, i) => {
      mean[i] += weight / heads.length;
    });
  return mean;
}

export function splitHeads(flat, heads) {
  const size = flat.length / heads;
  return Array.from({ length: heads }, (_, head) => flat.subarray(head * size, (head + 1) * size));
}

// Turns a response of /v1/attention into {maps, source, target, produced, hops}; a model with one text has it on all sides.
export function readAttention(answer) {
  const target = answer.tokens ?? [];
  const maps = answer.maps.map((map) => {
    const weights = splitHeads(floatsOf(map.weights), map.heads);
    return {
      kind: map.kind,
      layer: map.layer,
      queries: map.queries,
      keys: map.keys,
      weights,
      mean: meanOf(weights),
    };
  });
  maps.sort((a, b) => a.layer - b.layer);
  const isTranslator = answer.source !== undefined;
  const hasDecoder = maps.some((map) => map.kind === "decoder" || map.kind === "cross");
  const hops = maps.find((map) => map.kind === "hops")?.queries ?? 0;
  return {
    maps,
    source: answer.source ?? target,
    target,
    hops: Array.from({ length: hops }, (_, hop) => `hop ${hop}`),
    produced: hasDecoder ? [...target.slice(1), isTranslator ? kEnd : kNext] : target,
    isLanguageModel: hasDecoder && !isTranslator,
  };
}

// The tokens that a map's rows and columns stand for. A model that sums up its keys has fewer of them than
// tokens, and those have no names.
export function sidesOf(data, map) {
  const sides = kKinds[map.kind];
  const named = (tokens, count) =>
    tokens.length === count ? tokens : Array.from({ length: count }, (_, i) => `#${i + 1}`);
  return { queries: named(data[sides.queries], map.queries), keys: named(data[sides.keys], map.keys) };
}

// --- Words

const isSpecial = (token) => token === kNext || /^(<[^<>]+>|\[[^[\]]+\])$/.test(token);
const kSpaces = /^[\u2581\u0120 \n\u010a]/; // SentencePiece's mark, byte-level BPE's, and real ones

// For every token the number of its word.
function wordNumbers(tokens) {
  const marked = tokens.some((token) => kSpaces.test(token));
  const pieced = tokens.some((token) => token.startsWith("##"));
  let word = -1;
  return tokens.map((token, i) => {
    const isGlued =
      !isSpecial(token) &&
      i > 0 &&
      !isSpecial(tokens[i - 1]) &&
      (marked ? !kSpaces.test(token) : pieced && token.startsWith("##"));
    return isGlued ? word : ++word;
  });
}

const joinTokens = (tokens, numbers) =>
  tokens.reduce((words, token, i) => {
    words[numbers[i]] = (words[numbers[i]] ?? "") + token.replace(/^##/, "");
    return words;
  }, []);

// A word is looked at with what its pieces get together, and looks as its pieces do on average.
function joinWeights(weights, { queries, keys }, rows, columns) {
  const wide = columns[columns.length - 1] + 1;
  const joined = new Float32Array((rows[rows.length - 1] + 1) * wide);
  const pieces = rows.reduce((counts, row) => {
    counts[row] = (counts[row] ?? 0) + 1;
    return counts;
  }, []);
  for (let q = 0; q < queries; ++q) {
    for (let k = 0; k < keys; ++k)
      joined[rows[q] * wide + columns[k]] += weights[q * keys + k] / pieces[rows[q]];
  }
  return joined;
}

export function byWords({ maps, isLanguageModel, ...sides }) {
  const bySide = (read) => Object.fromEntries(kSides.map((side) => [side, read(sides[side], side)]));
  const numbers = bySide(wordNumbers);
  const joined = maps.map((map) => {
    const { queries, keys } = kKinds[map.kind];
    const [rows, columns] = [numbers[queries], numbers[keys]];
    if (sides[queries].length !== map.queries || sides[keys].length !== map.keys) return map;
    const weights = map.weights.map((head) => joinWeights(head, map, rows, columns));
    return {
      ...map,
      queries: rows[rows.length - 1] + 1,
      keys: columns[columns.length - 1] + 1,
      weights,
      mean: meanOf(weights),
    };
  });
  return { maps: joined, isLanguageModel, ...bySide((tokens, side) => joinTokens(tokens, numbers[side])) };
}

// --- Text

const kShown = [
  [/[\u2581\u0120]/g, " "],
  [/[\n\u010a]/g, "↵"],
  [/\t/g, "⇥"],
  [/^##/, ""],
];

// A token as people read it; one that is only space is named.
export function readable(token) {
  const text = kShown.reduce((shown, [mark, sign]) => shown.replace(mark, sign), token ?? "·");
  return text.trim() || "␣";
}

// The strongest keys of a query: [{key, weight}].
export function strongest(weights, keys, query, count = 3) {
  return Array.from(weights.subarray(query * keys, (query + 1) * keys), (weight, key) => ({ key, weight }))
    .sort((a, b) => b.weight - a.weight)
    .slice(0, count);
}
