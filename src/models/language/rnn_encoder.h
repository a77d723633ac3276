// A recurrent text classifier, as the story begins before attention: LSTM or GRU layers that read a
// text one or both ways; what is left in the last state tells the class.
#pragma once

#include <optional>
#include <vector>

#include "base/config.h"
#include "models/model.h"
#include "nn/recurrent.h"

namespace heed {

struct RnnEncoderConfig {
  int64_t vocabulary = 8000;
  int64_t embedding = 256;
  int64_t hidden = 256;
  int64_t layers = 1;
  std::string cell = "lstm";
  bool bidirectional = true;
  float dropout = 0.3F;
  int64_t labels = 0;

  template <typename Visitor>
  void fields(Visitor& v) {
    v("vocabulary", vocabulary, "size of the vocabulary; 0: as in the tokenizer", {.least = 0});
    v("embedding", embedding, "size of a token's vector", {.least = 1, .most = 65536});
    v("hidden", hidden, "size of the state, in each direction", {.least = 1, .most = 65536});
    v("layers", layers, "number of layers", {.least = 1, .most = 100});
    v("cell", cell, "recurrent cell", {.choices = {"lstm", "gru"}});
    v("bidirectional", bidirectional, "read texts in both directions");
    v("dropout", dropout, "dropout of embeddings, between layers and before the head",
      {.least = 0, .most = 0.99});
    v("labels", labels, "number of classes; 0: no classification head",
      {.least = 0, .most = 1 << 20});
  }
};

class RnnEncoder : public TextEncoder {
 public:
  RnnEncoder(const Scope& s, const RnnEncoderConfig& config);

  Tensor hidden(const TextBatch& batch) const override;
  // The outputs at both ends of a text, where each direction has read all of it.
  Tensor summary(const Tensor& hidden, const TextBatch& batch) const override;
  Tensor classes(const TextBatch& batch) const override;

  int64_t width() const override { return config_.hidden * (config_.bidirectional ? 2 : 1); }
  int64_t vocabulary() const override { return config_.vocabulary; }
  int64_t labels() const override { return config_.labels; }
  int64_t longest() const override { return 0; }

 private:
  RnnEncoderConfig config_;
  Embedding tokens_;
  std::vector<RecurrentEncoderLayer> layers_;
  std::optional<Linear> classes_;
};

// For the registry: models/spec.h.
ModelSpec spec_of(const RnnEncoderConfig& config);
void adapt(RnnEncoderConfig& config, const VocabularySizes& sizes);
void adapt(RnnEncoderConfig& config, const EncoderHeads& heads);

}  // namespace heed
