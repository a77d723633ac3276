// How surprised a model is by a token: -log2 of its probability, in bits. Levels follow the model's
// vocabulary, since a guess among 50,000 tokens has more bits to lose than one among 30 letters.

const kShares = [0.064, 0.19, 0.38, 0.64]; // of the bits of a blind guess, where the next level begins
const kUsualVocabulary = 50_000;

export const kLevels = kShares.length + 1;
export const bitsOf = (logprob) => -logprob / Math.LN2;

const rounded = (bits) => (bits < 1 ? Number(bits.toFixed(1)) : Math.round(2 * bits) / 2);

// In bits: a token with less than the first is likely, one with more than the last a surprise.
export const edgesOf = (vocabulary) =>
  kShares.map((share) => rounded(share * Math.log2(Math.max(4, vocabulary || kUsualVocabulary))));

export const levelOf = (logprob, edges) => edges.filter((edge) => bitsOf(logprob) >= edge).length;

// What a legend says of each level.
export const levelNames = (edges) => [
  `under ${edges[0]} ${edges[0] === 1 ? "bit" : "bits"}`,
  ...edges.slice(1).map((edge, i) => `${edges[i]}–${edge}`),
  `${edges.at(-1)} and more`,
];
