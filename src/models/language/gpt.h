// GPT-2 (Radford et al. 2019): a stack of causal pre-norm layers over learned positions, with the
// output projection tied to the token embedding. Layers may look at the last tokens only, or at a
// compressed memory (Liu et al. 2018), which makes long texts affordable.
#pragma once

#include <optional>

#include "base/config.h"
#include "models/language/causal_transformer.h"
#include "nn/adaptive/token_table.h"

namespace heed {

struct GptConfig {
  int64_t vocabulary = 50257;
  int64_t context = 1024;
  int64_t width = 768;
  int64_t heads = 12;
  int64_t layers = 12;
  int64_t hidden = 0;
  float dropout = 0.0F;
  float embedding_dropout = 0.0F;
  float attention_dropout = 0.0F;
  std::string activation = "gelu_tanh";
  float epsilon = 1e-5F;
  float initializer_range = 0.02F;
  bool tied_output = true;
  std::string attention = "";
  int64_t window = 256;
  int64_t compression = 3;
  std::vector<int64_t> cutoffs = {};
  int64_t shrink = 4;

  template <typename Visitor>
  void fields(Visitor& v) {
    v("vocabulary", vocabulary, "size of the vocabulary; 0: as in the tokenizer", {.least = 0});
    v("context", context, "context length in tokens", {.least = 1, .most = 1 << 20});
    v("width", width, "size of a token's vector", {.least = 1, .most = 65536});
    v("heads", heads, "attention heads; must divide the width", {.least = 1, .most = 1024});
    v("layers", layers, "number of layers", {.least = 1, .most = 1000});
    v("hidden", hidden, "size of the feed-forward layer; 0: four times the width",
      {.least = 0, .most = 1 << 20});
    v("dropout", dropout, "dropout of each branch before it is added", {.least = 0, .most = 0.99});
    v("embedding_dropout", embedding_dropout, "dropout of the embeddings",
      {.least = 0, .most = 0.99});
    v("attention_dropout", attention_dropout, "dropout of attention weights",
      {.least = 0, .most = 0.99});
    v("activation", activation, "activation function of the feed-forward layer",
      {.choices = {"gelu_tanh", "gelu", "relu"}});
    v("epsilon", epsilon, "epsilon of the layer norms", {.least = 0, .most = 1});
    v("initializer_range", initializer_range, "standard deviation of the initial values",
      {.least = 0, .most = 1, .renamed_from = "deviation"});
    v("tied_output", tied_output, "use the embedding as the output projection");
    v("attention", attention,
      "attention of the layers, one letter per layer, repeated as needed: F full, L local, M "
      "memory-compressed; empty: F");
    v("window", window, "window of local attention in tokens", {.least = 1, .most = 1 << 20});
    v("compression", compression, "tokens that memory-compressed attention merges into one key",
      {.least = 2, .most = 1024});
    v("cutoffs", cutoffs,
      "for large vocabularies: ids at which bands of rarer words begin, with narrower vectors and "
      "a "
      "softmax of their own; empty: none",
      {.least = 1});
    v("shrink", shrink, "how many times narrower the vectors of each band are than the one before",
      {.least = 1, .most = 64});
  }
};

using GptState = CausalState;

class Gpt : public CausalTransformer {
 public:
  Gpt(const Scope& s, const GptConfig& config);

  int64_t vocabulary() const override { return config_.vocabulary; }
  int64_t context() const override { return config_.context; }

 protected:
  Tensor project(const Tensor& x) const override;

 private:
  Tensor embed(const Tensor& tokens, const Places& places) const override;
  Tensor output_loss(const Tensor& x, const Tensor& targets) const override;

  GptConfig config_;
  TokenTable tokens_;
  Embedding positions_;
  std::optional<Linear> output_;
};

// For the registry: models/spec.h.
ModelSpec spec_of(const GptConfig& config);
void adapt(GptConfig& config, const VocabularySizes& sizes);

}  // namespace heed
