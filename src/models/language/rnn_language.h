// A recurrent language model: embedding, LSTM or GRU layers, output. As Performance RNN (Oore et
// al. 2018) it is what the Music Transformer is compared with.
#pragma once

#include <optional>
#include <vector>

#include "base/config.h"
#include "models/model.h"
#include "nn/recurrent.h"

namespace heed {

struct RnnLanguageConfig {
  int64_t vocabulary = 400;
  int64_t embedding = 512;
  int64_t hidden = 512;
  int64_t layers = 3;
  std::string cell = "lstm";
  float dropout = 0.1F;
  bool tied_output = false;

  template <typename Visitor>
  void fields(Visitor& v) {
    v("vocabulary", vocabulary, "size of the vocabulary; 0: as in the tokenizer", {.least = 0});
    v("embedding", embedding, "size of a token's vector", {.least = 1, .most = 65536});
    v("hidden", hidden, "size of the state", {.least = 1, .most = 65536});
    v("layers", layers, "number of layers", {.least = 1, .most = 1000});
    v("cell", cell, "recurrent cell", {.choices = {"lstm", "gru"}});
    v("dropout", dropout, "dropout of embeddings and between layers", {.least = 0, .most = 0.99});
    v("tied_output", tied_output,
      "use the embedding as the output projection; the two sizes must then be equal");
  }
};

class RnnLanguage : public LanguageModel {
 public:
  RnnLanguage(const Scope& s, const RnnLanguageConfig& config);

  Tensor logits(const Tensor& tokens, int64_t first = 0) const override;
  std::unique_ptr<DecodeState> start() const override;
  Tensor step(const Tensor& tokens, DecodeState& state,
              std::span<const int64_t> lengths = {}) const override;
  void select(DecodeState& state, std::span<const int64_t> rows) const override;
  void join(DecodeState& state, const DecodeState& more) const override;
  int64_t vocabulary() const override { return config_.vocabulary; }
  int64_t context() const override { return 0; }

 private:
  struct State;
  // tokens i32 [R,T] -> [R,T,H]; the state moves on.
  Tensor hidden(const Tensor& tokens, State& state, std::span<const int64_t> lengths) const;
  Tensor project(const Tensor& x) const;  // [..., H] -> [..., V]

  RnnLanguageConfig config_;
  Embedding tokens_;
  std::vector<RecurrentLayer> layers_;
  std::optional<Linear> output_;
};

// For the registry: models/spec.h.
ModelSpec spec_of(const RnnLanguageConfig& config);
void adapt(RnnLanguageConfig& config, const VocabularySizes& sizes);

}  // namespace heed
