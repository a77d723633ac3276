// The deep character model (Al-Rfou, Choe, Constant, Guo and Jones 2018): a stack of 12 to 64
// causal layers over characters, each of which is told the positions anew. What makes such a depth
// learnable are predictions besides the one that counts: at every position, from every layer, and
// of more than the next character (tasks/deep/deep_language_task.h).
//
// The classifiers of intermediate layers and of later characters only serve the training. They stay
// in the model's folder, so that a training can go on from it; nothing else reads them.
#pragma once

#include <optional>
#include <vector>

#include "base/config.h"
#include "models/language/causal_transformer.h"

namespace heed {

struct CharacterTransformerConfig {
  int64_t vocabulary = 256;
  int64_t context = 512;
  int64_t width = 512;
  int64_t heads = 2;
  int64_t layers = 12;
  int64_t hidden = 0;
  float dropout = 0.0F;
  float hidden_dropout = 0.0F;
  float attention_dropout = 0.0F;
  std::string activation = "relu";
  bool pre_norm = true;
  float epsilon = 1e-5F;
  float initializer_range = 0.02F;
  bool layer_positions = true;
  bool intermediate_losses = true;
  int64_t targets = 2;

  template <typename Visitor>
  void fields(Visitor& v) {
    v("vocabulary", vocabulary, "size of the vocabulary; 0: as in the tokenizer", {.least = 0});
    v("context", context, "context length in characters", {.least = 1, .most = 1 << 20});
    v("width", width, "size of a character's vector", {.least = 1, .most = 65536});
    v("heads", heads, "attention heads; must divide the width", {.least = 1, .most = 1024});
    v("layers", layers, "number of layers", {.least = 1, .most = 1000});
    v("hidden", hidden, "size of the feed-forward layer; 0: four times the width",
      {.least = 0, .most = 1 << 20});
    v("dropout", dropout, "dropout of each branch before it is added", {.least = 0, .most = 0.99});
    v("hidden_dropout", hidden_dropout, "dropout inside the feed-forward layer",
      {.least = 0, .most = 0.99});
    v("attention_dropout", attention_dropout, "dropout of attention weights",
      {.least = 0, .most = 0.99});
    v("activation", activation, "activation function of the feed-forward layer",
      {.choices = {"relu", "gelu", "gelu_tanh"}});
    v("pre_norm", pre_norm, "normalise before each sublayer instead of after it");
    v("epsilon", epsilon, "epsilon of the layer norms", {.least = 0, .most = 1});
    v("initializer_range", initializer_range, "standard deviation of the initial values",
      {.least = 0, .most = 1});
    v("layer_positions", layer_positions,
      "add a learned position to the input of every layer, not only of the first");
    v("intermediate_losses", intermediate_losses,
      "every layer has classifiers of its own, which learn in the first half of the training");
    v("targets", targets, "characters that each position learns to predict, the next one first",
      {.least = 1, .most = 16});
  }
};

class CharacterTransformer : public CausalTransformer {
 public:
  static constexpr const char* kWhat = "a deep character model";

  CharacterTransformer(const Scope& s, const CharacterTransformerConfig& config);

  int64_t vocabulary() const override { return config_.vocabulary; }
  int64_t context() const override { return config_.context; }

  int64_t layers() const { return config_.layers; }
  int64_t targets() const { return config_.targets; }
  bool intermediate_losses() const { return config_.intermediate_losses; }

  // What layers `first` to the last predict from, counted from 0: tokens i32 [B,T] -> [B,T,C] each.
  // Without intermediate losses only the last layer has any.
  std::vector<Tensor> layer_vectors(const Tensor& tokens, int64_t first) const;
  // Logits of the character `ahead` positions after the next, by the classifier of a layer:
  // x [..., C] -> [..., V]
  Tensor predict(const Tensor& x, int64_t layer, int64_t ahead) const;

 protected:
  Tensor project(const Tensor& x) const override { return predict(x, config_.layers - 1, 0); }

 private:
  // Where a layer predicts.
  struct Predictor {
    std::optional<LayerNorm> norm;    // the last layer has that of the stack
    std::vector<Linear> classifiers;  // of each target
  };

  Tensor embed(const Tensor& tokens, const Places& places) const override;
  Tensor layer_input(size_t layer, const Tensor& x, const Places& places) const override;
  void add_predictor(const Scope& s, bool norm);

  CharacterTransformerConfig config_;
  Embedding tokens_;
  std::vector<Positions> positions_;   // of each layer, or only of the first
  std::vector<Predictor> predictors_;  // of each layer, or only of the last
};

// For the registry: models/spec.h.
ModelSpec spec_of(const CharacterTransformerConfig& config);
void adapt(CharacterTransformerConfig& config, const VocabularySizes& sizes);

}  // namespace heed
