// Music Transformer (Huang et al. 2018): a causal decoder whose attention knows how far apart two
// tokens are. As long as it is not also told where they stand (positions), it has no longest
// sequence: it goes on past the lengths it was trained on, and a limited memory lets it go on for
// ever.
#pragma once

#include <optional>

#include "base/config.h"
#include "models/language/causal_transformer.h"
#include "nn/positions.h"

namespace heed {

struct MusicTransformerConfig {
  int64_t vocabulary = 400;
  int64_t context = 0;
  int64_t width = 256;
  int64_t heads = 4;
  int64_t layers = 6;
  int64_t hidden = 1024;
  float dropout = 0.1F;
  float attention_dropout = 0.0F;
  float hidden_dropout = 0.0F;
  std::string activation = "relu";
  std::string positions = "none";
  std::vector<int64_t> cycles = {};
  int64_t relative_distance = 512;
  bool relative_per_head = true;
  int64_t pitch_distance = 0;
  int64_t window = 0;
  int64_t memory = 0;
  float epsilon = 1e-5F;
  bool tied_output = true;

  template <typename Visitor>
  void fields(Visitor& v) {
    v("vocabulary", vocabulary, "size of the vocabulary; 0: as in the tokenizer", {.least = 0});
    v("context", context,
      "context length in tokens, beyond which generation continues with the last half of it; 0: "
      "unlimited, and data.max_length is the training window",
      {.least = 0, .most = 1 << 20});
    v("width", width, "size of a token's vector", {.least = 1, .most = 65536});
    v("heads", heads, "attention heads; must divide the width", {.least = 1, .most = 1024});
    v("layers", layers, "number of layers", {.least = 1, .most = 1000});
    v("hidden", hidden, "size of the feed-forward layer", {.least = 1, .most = 1 << 20});
    v("dropout", dropout, "dropout of embeddings and of each branch before it is added",
      {.least = 0, .most = 0.99});
    v("attention_dropout", attention_dropout, "dropout of attention weights",
      {.least = 0, .most = 0.99});
    v("hidden_dropout", hidden_dropout, "dropout inside the feed-forward layer",
      {.least = 0, .most = 0.99});
    v("activation", activation, "activation function of the feed-forward layer",
      {.choices = {"relu", "gelu", "gelu_tanh"}});
    v("positions", positions, "position encodings added to the tokens",
      {.choices = {"none", "sinusoidal"}});
    v("cycles", cycles,
      "periods of learned position embeddings that are added to the tokens, such as the voices of "
      "a chorale (4), its beats (16) and bars (64), counted from START",
      {.least = 2, .most = 65536});
    v("relative_distance", relative_distance,
      "largest distance that relative attention tells apart; 0: plain attention",
      {.least = 0, .most = 1 << 20});
    v("relative_per_head", relative_per_head, "use separate embeddings of distances for each head");
    v("pitch_distance", pitch_distance,
      "let attention know how many semitones two tokens are apart, up to this many; tokens without "
      "a pitch count as farther away; 0: off",
      {.least = 0, .most = 127});
    v("window", window, "attend only to this many latest tokens, also in training; 0: to all",
      {.least = 0, .most = 1 << 20});
    v("memory", memory, "attend only to this many latest tokens when decoding; 0: to all",
      {.least = 0, .most = 1 << 20});
    v("epsilon", epsilon, "epsilon of the layer norms", {.least = 0, .most = 1});
    v("tied_output", tied_output, "use the embedding as the output projection");
  }
};

class MusicTransformer : public CausalTransformer {
 public:
  MusicTransformer(const Scope& s, const MusicTransformerConfig& config);

  int64_t vocabulary() const override { return config_.vocabulary; }
  int64_t context() const override { return config_.context; }

 private:
  Tensor embed(const Tensor& tokens, const Places& places) const override;
  Tensor project(const Tensor& x) const override;
  Tensor labels(const Tensor& tokens) const override;

  MusicTransformerConfig config_;
  Embedding tokens_;
  Positions positions_;
  std::vector<Embedding> cycles_;
  std::optional<Linear> output_;
  std::vector<int32_t> pitches_;  // of each token, if attention tells them
};

// For the registry: models/spec.h.
ModelSpec spec_of(const MusicTransformerConfig& config);
void adapt(MusicTransformerConfig& config, const VocabularySizes& sizes);

}  // namespace heed
