// BERT (Devlin et al. 2018): a stack of post-norm layers over learned positions and text types, and
// its heads: masked words, whether one text follows another, classes.
#pragma once

#include <optional>
#include <vector>

#include "base/config.h"
#include "models/language/text_heads.h"
#include "models/model.h"
#include "nn/transformer.h"

namespace heed {

struct BertConfig {
  int64_t vocabulary = 30522;
  int64_t longest = 512;
  int64_t types = 2;
  int64_t width = 768;
  int64_t heads = 12;
  int64_t layers = 12;
  int64_t hidden = 3072;
  float dropout = 0.1F;
  float attention_dropout = 0.1F;
  float head_dropout = 0.1F;
  std::string activation = "gelu";
  float epsilon = 1e-12F;
  float initializer_range = 0.02F;
  bool pooler = true;
  bool masked_head = false;
  bool next_head = false;
  int64_t labels = 0;

  template <typename Visitor>
  void fields(Visitor& v) {
    v("vocabulary", vocabulary, "size of the vocabulary; 0: as in the tokenizer", {.least = 0});
    v("longest", longest, "longest text in tokens", {.least = 1, .most = 1 << 20});
    v("types", types, "number of text types: 2 for first and second", {.least = 1, .most = 1024});
    v("width", width, "size of a token's vector", {.least = 1, .most = 65536});
    v("heads", heads, "attention heads; must divide the width", {.least = 1, .most = 1024});
    v("layers", layers, "number of layers", {.least = 1, .most = 1000});
    v("hidden", hidden, "size of the feed-forward layer", {.least = 1, .most = 1 << 20});
    v("dropout", dropout, "dropout of embeddings and of each branch before it is added",
      {.least = 0, .most = 0.99});
    v("attention_dropout", attention_dropout, "dropout of attention weights",
      {.least = 0, .most = 0.99});
    v("head_dropout", head_dropout, "dropout before the classification head",
      {.least = 0, .most = 0.99});
    v("activation", activation, "activation function of the feed-forward layer",
      {.choices = {"gelu", "gelu_tanh", "relu"}});
    v("epsilon", epsilon, "epsilon of the layer norms", {.least = 0, .most = 1});
    v("initializer_range", initializer_range, "standard deviation of the initial values",
      {.least = 0, .most = 1, .renamed_from = "deviation"});
    v("pooler", pooler, "add a dense layer over the first token's vector");
    v("masked_head", masked_head, "add a head that predicts masked words");
    v("next_head", next_head, "add a head that predicts whether the second text follows the first");
    v("labels", labels, "number of classes; 0: no classification head",
      {.least = 0, .most = 1 << 20});
  }
};

class Bert : public TextEncoder, public MaskedModel {
 public:
  Bert(const Scope& s, const BertConfig& config);

  Tensor hidden(const TextBatch& batch) const override;
  Tensor summary(const Tensor& hidden, const TextBatch& batch) const override;
  Tensor classes(const TextBatch& batch) const override;
  Tensor words(const Tensor& hidden, const Tensor& places) const override;
  Tensor follows(const Tensor& hidden, const TextBatch& batch) const override;

  int64_t width() const override { return config_.width; }
  int64_t vocabulary() const override { return config_.vocabulary; }
  int64_t labels() const override { return config_.labels; }
  int64_t longest() const override { return config_.longest; }

 private:
  Tensor embed(const TextBatch& batch) const;  // [B,T,C]

  BertConfig config_;
  Embedding tokens_;
  Embedding positions_;
  Embedding types_;
  LayerNorm embedding_norm_;
  std::vector<TransformerLayer> layers_;
  std::optional<TextHeads> heads_;
};

// For the registry: models/spec.h.
ModelSpec spec_of(const BertConfig& config);
void adapt(BertConfig& config, const VocabularySizes& sizes);
void adapt(BertConfig& config, const EncoderHeads& heads);

}  // namespace heed
