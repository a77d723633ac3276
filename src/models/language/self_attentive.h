// The structured self-attentive sentence embedding (Lin et al. 2017): an LSTM reads a text both
// ways, and a few hops of attention each sum its states up by weights of their own.
//
//   H = bilstm(words)                    the states of the T words, 2u columns
//   A = softmax(W2 tanh(W1 H^T))         r hops, each a distribution over the words
//   M = A H                              the text: r rows of 2u columns, side by side
//
// Nothing else would keep the hops from all looking at the same words, so that
// penalty * |A A^T - I|^2, the squared Frobenius norm, is added to the loss
// (nn/scopes/loss_scope.h). Its mean over the texts of a batch is taken, so that it weighs as much
// as the loss does.
#pragma once

#include <optional>
#include <vector>

#include "base/config.h"
#include "models/model.h"
#include "nn/recurrent.h"

namespace heed {

struct SelfAttentiveConfig {
  int64_t vocabulary = 8000;
  int64_t embedding = 256;
  int64_t hidden = 256;
  int64_t layers = 1;
  int64_t attention_width = 128;
  int64_t hops = 8;
  float penalty = 0.1F;
  int64_t classes_hidden = 256;
  float dropout = 0.3F;
  int64_t labels = 0;

  template <typename Visitor>
  void fields(Visitor& v) {
    v("vocabulary", vocabulary, "size of the vocabulary; 0: as in the tokenizer", {.least = 0});
    v("embedding", embedding, "size of a token's vector", {.least = 1, .most = 65536});
    v("hidden", hidden, "size of the LSTM's state, in each direction", {.least = 1, .most = 65536});
    v("layers", layers, "layers of the LSTM", {.least = 1, .most = 100});
    v("attention_width", attention_width, "size of the layer that attention weights are told from",
      {.least = 1, .most = 65536});
    v("hops", hops, "how often a text is summed up, each time by other weights",
      {.least = 1, .most = 1024});
    v("penalty", penalty, "cost of hops that look at the same words", {.least = 0, .most = 1000});
    v("classes_hidden", classes_hidden,
      "size of the layer between the hops and the classes; 0: none", {.least = 0, .most = 65536});
    v("dropout", dropout, "dropout of embeddings, between layers and before the head",
      {.least = 0, .most = 0.99});
    v("labels", labels, "number of classes; 0: no classification head",
      {.least = 0, .most = 1 << 20});
  }
};

class SelfAttentive : public TextEncoder {
 public:
  SelfAttentive(const Scope& s, const SelfAttentiveConfig& config);

  Tensor hidden(const TextBatch& batch) const override;
  // M, its rows side by side: [B, hops * 2u].
  Tensor summary(const Tensor& hidden, const TextBatch& batch) const override;
  Tensor classes(const TextBatch& batch) const override;

  int64_t width() const override { return 2 * config_.hidden; }
  int64_t vocabulary() const override { return config_.vocabulary; }
  int64_t labels() const override { return config_.labels; }
  int64_t longest() const override { return 0; }

 private:
  Tensor hops(const Tensor& hidden, const TextBatch& batch) const;
  Tensor repetition(const Tensor& hops) const;

  SelfAttentiveConfig config_;
  Embedding tokens_;
  std::vector<RecurrentEncoderLayer> layers_;
  Linear first_;   // W1
  Linear second_;  // W2
  std::optional<Linear> classes_hidden_;
  std::optional<Linear> classes_;
};

// For the registry: models/spec.h.
ModelSpec spec_of(const SelfAttentiveConfig& config);
void adapt(SelfAttentiveConfig& config, const VocabularySizes& sizes);
void adapt(SelfAttentiveConfig& config, const EncoderHeads& heads);

}  // namespace heed
