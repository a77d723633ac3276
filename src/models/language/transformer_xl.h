// The Transformer-XL (Dai et al. 2019): causal layers that also look at what the layers below saw
// in the segments before. Positions are distances, so that they mean the same in every segment.
// Norms stand in front of the branches, as in GPT-2.
#pragma once

#include <optional>

#include "base/config.h"
#include "models/language/causal_transformer.h"
#include "models/segment_model.h"
#include "nn/adaptive/token_table.h"

namespace heed {

struct TransformerXlConfig {
  int64_t vocabulary = 10000;
  int64_t memory = 128;
  int64_t decoding_memory = 0;
  int64_t most_distance = 0;
  int64_t width = 512;
  int64_t heads = 8;
  int64_t layers = 12;
  int64_t hidden = 0;
  float dropout = 0.1F;
  float word_dropout = 0.0F;
  float embedding_dropout = 0.0F;
  float attention_dropout = 0.0F;
  float hidden_dropout = 0.0F;
  float output_dropout = 0.0F;
  std::string activation = "relu";
  float epsilon = 1e-5F;
  float initializer_range = 0.02F;
  bool tied_output = true;
  std::vector<int64_t> cutoffs = {};
  int64_t shrink = 4;

  template <typename Visitor>
  void fields(Visitor& v) {
    v("vocabulary", vocabulary, "size of the vocabulary; 0: as in the tokenizer", {.least = 0});
    v("memory", memory, "positions of earlier segments that training remembers",
      {.least = 0, .most = 1 << 20});
    v("decoding_memory", decoding_memory,
      "positions before it that each position sees in decoding and evaluation; 0: as in training",
      {.least = 0, .most = 1 << 20});
    v("most_distance", most_distance,
      "larger distances count as this one, for memories longer than in training; 0: all are told "
      "apart",
      {.least = 0, .most = 1 << 20});
    v("width", width, "size of a token's vector", {.least = 1, .most = 65536});
    v("heads", heads, "attention heads; must divide the width", {.least = 1, .most = 1024});
    v("layers", layers, "number of layers", {.least = 1, .most = 1000});
    v("hidden", hidden, "size of the feed-forward layer; 0: four times the width",
      {.least = 0, .most = 1 << 20});
    v("dropout", dropout, "dropout of each branch before it is added", {.least = 0, .most = 0.99});
    v("word_dropout", word_dropout,
      "share of the vocabulary whose vectors are zero throughout a step",
      {.least = 0, .most = 0.99});
    v("embedding_dropout", embedding_dropout,
      "dropout of the embeddings, the same at all positions of a row", {.least = 0, .most = 0.99});
    v("attention_dropout", attention_dropout, "dropout of attention weights",
      {.least = 0, .most = 0.99});
    v("hidden_dropout", hidden_dropout, "dropout inside the feed-forward layer",
      {.least = 0, .most = 0.99});
    v("output_dropout", output_dropout,
      "dropout before the output projection, the same at all positions of a row",
      {.least = 0, .most = 0.99});
    v("activation", activation, "activation function of the feed-forward layer",
      {.choices = {"gelu_tanh", "gelu", "relu"}});
    v("epsilon", epsilon, "epsilon of the layer norms", {.least = 0, .most = 1});
    v("initializer_range", initializer_range, "standard deviation of the initial values",
      {.least = 0, .most = 1});
    v("tied_output", tied_output, "use the embedding as the output projection");
    v("cutoffs", cutoffs,
      "for large vocabularies: ids at which bands of rarer words begin, with narrower vectors and "
      "a "
      "softmax of their own; empty: none",
      {.least = 1});
    v("shrink", shrink, "how many times narrower the vectors of each band are than the one before",
      {.least = 1, .most = 64});
  }
};

class TransformerXl : public CausalTransformer, public SegmentModel {
 public:
  TransformerXl(const Scope& s, const TransformerXlConfig& config);

  int64_t vocabulary() const override { return config_.vocabulary; }
  int64_t context() const override { return 0; }

  int64_t memory() const override { return config_.memory; }
  Tensor segment(const Tensor& tokens, Memory& memory) const override;
  Tensor segment_loss(const Tensor& tokens, const Tensor& targets, Memory& memory) const override;
  int64_t decoding_memory() const override {
    return config_.decoding_memory > 0 ? config_.decoding_memory : config_.memory;
  }
  std::unique_ptr<DecodeState> start_with(int64_t memory) const override;
  Tensor extend(const Tensor& tokens, DecodeState& state) const override;

 private:
  Tensor embed(const Tensor& tokens, const Places& places) const override;
  Tensor project(const Tensor& x) const override;
  Tensor output_loss(const Tensor& x, const Tensor& targets) const override;
  // What the output projection sees of a segment: [B,T,C]
  Tensor segment_hidden(const Tensor& tokens, Memory& memory) const;

  TransformerXlConfig config_;
  TokenTable tokens_;
  std::optional<Linear> output_;
};

// For the registry: models/spec.h.
ModelSpec spec_of(const TransformerXlConfig& config);
void adapt(TransformerXlConfig& config, const VocabularySizes& sizes);

}  // namespace heed
