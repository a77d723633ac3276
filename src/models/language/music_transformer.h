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
    v("vocabulary", vocabulary, "tokens it knows; 0: as the tokenizer has", {.least = 0});
    v("context", context,
      "tokens of a training window, behind which generating begins anew with half of them; 0: "
      "data.max_length says the window, and generating goes on without end",
      {.least = 0, .most = 1 << 20});
    v("width", width, "size of a token's vector", {.least = 1, .most = 65536});
    v("heads", heads, "attention heads; divides the width", {.least = 1, .most = 1024});
    v("layers", layers, "layers", {.least = 1, .most = 1000});
    v("hidden", hidden, "size of the feed-forward layer", {.least = 1, .most = 1 << 20});
    v("dropout", dropout, "of embeddings and of each branch before it is added",
      {.least = 0, .most = 0.99});
    v("attention_dropout", attention_dropout, "of attention weights", {.least = 0, .most = 0.99});
    v("hidden_dropout", hidden_dropout, "inside the feed-forward layer",
      {.least = 0, .most = 0.99});
    v("activation", activation, "of the feed-forward layer",
      {.choices = {"relu", "gelu", "gelu_tanh"}});
    v("positions", positions, "signals of where a token stands, added to it",
      {.choices = {"none", "sinusoidal"}});
    v("cycles", cycles,
      "learned signals of where a token stands in groups of so many, such as the voices of a "
      "chorale (4), its beats (16) and bars (64), counted from START; added to it",
      {.least = 2, .most = 65536});
    v("relative_distance", relative_distance,
      "attention tells distances up to this far apart; 0: plain attention",
      {.least = 0, .most = 1 << 20});
    v("relative_per_head", relative_per_head, "each head has its own embeddings of distances");
    v("pitch_distance", pitch_distance,
      "attention also tells how many semitones two tokens are apart, up to this many; a "
      "token without pitch is further from all that have one; 0: not",
      {.least = 0, .most = 127});
    v("window", window, "tokens that attention sees, also in training; 0: all",
      {.least = 0, .most = 1 << 20});
    v("memory", memory, "tokens that attention sees when decoding; 0: all",
      {.least = 0, .most = 1 << 20});
    v("epsilon", epsilon, "of the norms", {.least = 0, .most = 1});
    v("tied_output", tied_output, "the output projection is the embedding");
  }
};

class MusicTransformer : public CausalTransformer {
 public:
  MusicTransformer(const Scope& s, const MusicTransformerConfig& config);

  int64_t vocabulary() const override { return config_.vocabulary; }
  int64_t context() const override { return config_.context; }

 private:
  Tensor embed(const Tensor& tokens, std::span<const int64_t> past) const override;
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
