// Metrics as people write them.
const kNames = {
  bleu: "BLEU",
  sacrebleu: "BLEU",
  chrf: "chrF",
  ter: "TER",
  rouge: "ROUGE",
  f1: "F1",
  accuracy: "Accuracy",
  matthews: "Matthews correlation",
  pearson: "Pearson correlation",
  spearman: "Spearman correlation",
  mean_error: "Mean error",
  failed_tasks: "Failed tasks",
  perplexity: "Perplexity",
  bits_per_character: "Bits per character",
  bits_per_dim: "Bits per dimension",
  bits_per_dimension: "Bits per dimension",
  bpd: "Bits per dimension",
};

export function metricName(name) {
  const known = kNames[name?.toLowerCase()];
  if (known || !name) return known ?? "";
  const words = name.replaceAll("_", " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}
