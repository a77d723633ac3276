// A Transformer encoder that reads stories, as Dehghani et al. 2018 do for the bAbI tasks
// (Universal Transformers, section 3.1): every fact and the question is a vector, the sum of its
// words' vectors times learned weights of their places; the encoder lets the vectors look at each
// other; the answer is read off the question's vector.
//
// The encoder is a Universal Transformer's one layer, applied again and again, or layers one after
// the other. The question stands at position 0 and a fact at its age, so positions tell how recent
// a fact is, however long the story.
#pragma once

#include <memory>
#include <optional>

#include "base/config.h"
#include "models/answering/answering_model.h"
#include "models/answering/sentence_encoder.h"
#include "models/universal_options.h"
#include "nn/layer_stack.h"
#include "nn/positions.h"
#include "nn/universal/universal_stack.h"

namespace heed {

struct StoryTransformerConfig : UniversalOptions {
  int64_t vocabulary = 1000;
  int64_t answers = 2;
  int64_t width = 128;
  int64_t heads = 4;
  int64_t hidden = 512;
  int64_t layers = 6;
  bool universal = true;
  bool pre_norm = false;
  float dropout = 0.1F;
  float attention_dropout = 0.0F;
  int64_t memory = 80;
  int64_t sentence = 16;

  template <typename Visitor>
  void fields(Visitor& v) {
    v("vocabulary", vocabulary, "words, special tokens and answers included; as in the data",
      {.least = 1, .most = 1 << 24});
    v("answers", answers, "answers to choose from; as in the data", {.least = 1, .most = 1 << 20});
    v("width", width, "size of a sentence's vector", {.least = 2, .most = 65536});
    v("heads", heads, "attention heads", {.least = 1, .most = 1024});
    v("hidden", hidden, "size of the feed-forward network's hidden layer",
      {.least = 1, .most = 1 << 20});
    v("layers", layers, "number of layers, or how often the one layer is applied, at most",
      {.least = 1, .most = 1000});
    v("universal", universal, "one layer, applied again and again; false: layers of their own");
    v("pre_norm", pre_norm, "layer norm before each branch instead of after it");
    v("dropout", dropout, "dropout of sentences and branches", {.least = 0, .most = 0.99});
    v("attention_dropout", attention_dropout, "dropout of attention weights",
      {.least = 0, .most = 0.99});
    v("memory", memory, "facts of a story that are read, the newest ones",
      {.least = 1, .most = 65536});
    v("sentence", sentence, "most words of a sentence", {.least = 1, .most = 1024});
    UniversalOptions::fields(v);
  }
};

class StoryTransformer : public AnsweringModel {
 public:
  StoryTransformer(const Scope& s, const StoryTransformerConfig& config);

  Tensor answers(const StoryBatch& batch) const override;
  int64_t memory() const override { return config_.memory; }
  int64_t longest() const override { return config_.sentence; }

 private:
  Tensor encoded(const Tensor& x, const Tensor& lengths) const;  // [B,T,C] -> [B,T,C]

  StoryTransformerConfig config_;
  Embedding words_;
  SentenceEncoder sentences_;
  std::optional<UniversalStack> universal_;
  std::optional<Positions> positions_;  // of the other stack
  std::optional<LayerStack> layers_;
  Linear output_;
};

// For the registry: models/spec.h.
ModelSpec spec_of(const StoryTransformerConfig& config);
void adapt(StoryTransformerConfig& config, const VocabularySizes& sizes);
void adapt(StoryTransformerConfig& config, const AnswerSizes& sizes);

}  // namespace heed
