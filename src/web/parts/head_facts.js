// What a head does, by its numbers: where its weight goes on average, and how widely it spreads.
import { weightsOf } from "./attention_data.js";

// The mean, over the queries that can, of the weight at the key that `keyOf(query)` names.
function meanAt({ queries, keys }, weights, keyOf) {
  let sum = 0,
    count = 0;
  for (let query = 0; query < queries; ++query) {
    const key = keyOf(query);
    if (key < 0 || key >= keys) continue;
    sum += weights[query * keys + key];
    ++count;
  }
  return count > 0 ? sum / count : 0;
}

// In bits: 0 for a head that attends to one key, log2(keys) for one that attends to all alike.
export function entropyOf({ queries }, weights) {
  let bits = 0;
  for (const weight of weights) if (weight > 0) bits -= weight * Math.log2(weight);
  return bits / queries;
}

const kEnough = 0.35; // of the weight, to say that a head mostly attends there
const percent = (share) => `${Math.round(100 * share)}%`;

// In a few words. Rows of a decoder read the token in their column and produce the next.
export function headFact(map, head) {
  const weights = weightsOf(map, head);
  const isSquare = map.queries === map.keys && map.kind !== "cross";
  const read = map.kind === "decoder" ? "the token just read" : "the token itself";
  const places = [
    ...(isSquare
      ? [
          [read, (query) => query],
          ["the token before it", (query) => query - 1],
          ["the token after it", (query) => query + 1],
        ]
      : []),
    ["the first token", () => 0],
    ["the last token", () => map.keys - 1],
  ].map(([name, keyOf]) => ({ name, share: meanAt(map, weights, keyOf) }));
  const best = places.reduce((most, one) => (one.share > most.share ? one : most));
  if (best.share >= kEnough) return `${percent(best.share)} on ${best.name}`;
  return `spread over about ${Math.max(1, Math.round(2 ** entropyOf(map, weights)))} tokens`;
}

// The head whose weights say most at a glance: sharp, but not only about the first token or the token itself.
export function clearestHead(maps) {
  const worth = (map, weights) => {
    const first = meanAt(map, weights, () => 0);
    const itself = map.queries === map.keys ? meanAt(map, weights, (query) => query) : 0;
    return 1 - entropyOf(map, weights) / Math.log2(Math.max(2, map.keys)) - first - itself / 2;
  };
  let best = { layer: maps[0].layer, head: 0, worth: -Infinity };
  for (const map of maps)
    map.weights.forEach((weights, head) => {
      const found = worth(map, weights);
      if (found > best.worth) best = { layer: map.layer, head, worth: found };
    });
  return { layer: best.layer, head: best.head };
}
