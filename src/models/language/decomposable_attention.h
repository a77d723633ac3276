// Decomposable attention (Parikh, Täckström, Das and Uszkoreit 2016): whether one sentence follows
// from another, told from words that are aligned with each other, without recurrence and, but for
// the bias of distances below, without an order of words.
//
//   attend      e(i,j) = F(a_i) . F(b_j)    beta_i = sum_j softmax_j(e(i,j)) b_j, alpha_j likewise
//   compare     v1_i = G([a_i, beta_i])     v2_j = G([b_j, alpha_j])
//   aggregate   y = H([sum_i v1_i, sum_j v2_j])
//
// With intra-sentence attention each word is first joined by the words of its own sentence:
//   a'_i = sum_j softmax_j(F_intra(a_i) . F_intra(a_j) + d(i - j)) a_j, and [a_i, a'_i] goes on.
//
// A pair comes as one row of tokens whose types tell the sentences apart, so that both directions
// of the alignment are one attention in which a word sees the other sentence. The token at the end
// of each sentence, [SEP], is what words without a counterpart align with, as the paper's NULL. A
// text alone is read as a pair with itself. Word vectors are learned here, where the paper projects
// fixed ones: they begin far enough apart that a word aligns with itself.
#pragma once

#include <optional>

#include "base/config.h"
#include "models/model.h"
#include "nn/layers.h"
#include "nn/scopes/attention_scope.h"

namespace heed {

struct DecomposableAttentionConfig {
  int64_t vocabulary = 8000;
  int64_t embedding = 200;
  int64_t hidden = 200;
  bool intra_attention = false;
  int64_t distances = 10;
  float dropout = 0.2F;
  float initializer_range = 0.35F;
  int64_t labels = 0;

  template <typename Visitor>
  void fields(Visitor& v) {
    v("vocabulary", vocabulary, "size of the vocabulary; 0: as in the tokenizer", {.least = 0});
    v("embedding", embedding, "size of a token's vector", {.least = 1, .most = 4096});
    v("hidden", hidden, "size of the layers that compare and aggregate",
      {.least = 1, .most = 65536});
    v("intra_attention", intra_attention, "words first attend to the words of their own sentence");
    v("distances", distances, "with intra_attention, words further apart than this share one bias",
      {.least = 1, .most = 500});
    v("dropout", dropout, "dropout before each layer", {.least = 0, .most = 0.99});
    v("initializer_range", initializer_range,
      "standard deviation of the first word vectors; the larger, the more a word aligns with "
      "itself",
      {.least = 0, .most = 10});
    v("labels", labels, "number of classes; 0: no classification head",
      {.least = 0, .most = 1 << 20});
  }
};

class DecomposableAttention : public TextEncoder {
 public:
  DecomposableAttention(const Scope& s, const DecomposableAttentionConfig& config);

  // Each word, compared with what it is aligned with.
  Tensor hidden(const TextBatch& batch) const override;
  // The sums over either sentence, [B,2C].
  Tensor summary(const Tensor& hidden, const TextBatch& batch) const override;
  Tensor classes(const TextBatch& batch) const override;

  int64_t width() const override { return config_.hidden; }
  int64_t vocabulary() const override { return config_.vocabulary; }
  int64_t labels() const override { return config_.labels; }
  int64_t longest() const override { return 0; }

 private:
  // The paper's F, G and H: two layers with rectified units.
  class Network {
   public:
    Network(const Scope& s, int64_t inputs, int64_t outputs, float dropout);
    Tensor operator()(const Tensor& x) const;  // [..., inputs] -> [..., outputs]

   private:
    Linear first_;
    Linear second_;
    float dropout_;
  };
  struct Intra {
    Network f;
    Parameter distance;  // [2 * distances + 3]: d, beyond the distances at both ends
  };

  Tensor with_own_sentence(const Tensor& x, const TextBatch& batch) const;
  Tensor aligned(const Tensor& x, const TextBatch& batch) const;

  DecomposableAttentionConfig config_;
  int64_t word_;  // columns of a word, with its own sentence's if there are any
  Embedding tokens_;
  std::optional<Intra> intra_;
  Network attend_;
  Network compare_;
  std::optional<Network> aggregate_;
  std::optional<Linear> classes_;
};

// For the registry: models/spec.h.
ModelSpec spec_of(const DecomposableAttentionConfig& config);
void adapt(DecomposableAttentionConfig& config, const VocabularySizes& sizes);
void adapt(DecomposableAttentionConfig& config, const EncoderHeads& heads);

}  // namespace heed
