// Attention as the server tells it, made ready for pictures: a Float32Array [queries, keys] for every
// head, their mean, and the pieces of words put together again.
import { floatsOf } from "../bytes.js";

export const kMean = -1; // the "head" that stands for all of them
export const kKinds = {
  encoder: { name: "Encoder", queries: "source", keys: "source" },
  decoder: { name: "Decoder", queries: "target", keys: "target" },
  cross: { name: "Cross", queries: "target", keys: "source" },
};

export const headName = (head) => (head === kMean ? "all heads" : `head ${head}`);
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

// Of an answer of /v1/attention: {maps, source, target}; a model with one text has it on both sides.
export function readAttention(answer) {
  const target = answer.target ?? answer.tokens ?? [];
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
  return { maps, source: answer.source ?? target, target };
}

// --- Words

const isSpecial = (token) => /^(<[^<>]+>|\[[^[\]]+\])$/.test(token);
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

export function byWords({ maps, source, target }) {
  const numbers = { source: wordNumbers(source), target: wordNumbers(target) };
  const sides = { source, target };
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
  return {
    maps: joined,
    source: joinTokens(source, numbers.source),
    target: joinTokens(target, numbers.target),
  };
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
