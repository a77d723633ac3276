#include "models/language/character_transformer.h"

#include <cmath>

#include "base/error.h"

namespace heed {
namespace {

LayerConfig character_layer(const CharacterTransformerConfig& config) {
  // The last product of a branch begins small: two branches a layer add to the stream, which would
  // grow with the depth otherwise.
  const float branch =
      config.initializer_range / std::sqrt(2.0F * static_cast<float>(config.layers));
  return {.width = config.width,
          .mixer = mixer<SelfAttention>({.width = config.width,
                                         .heads = config.heads,
                                         .dropout = config.attention_dropout,
                                         .standard_deviation = config.initializer_range,
                                         .branch_standard_deviation = branch}),
          .hidden = config.hidden > 0 ? config.hidden : 4 * config.width,
          .activation = activation_of(config.activation),
          .dropout = config.dropout,
          .hidden_dropout = config.hidden_dropout,
          .pre_norm = config.pre_norm,
          .epsilon = config.epsilon,
          .standard_deviation = config.initializer_range,
          .branch_standard_deviation = branch};
}

}  // namespace

CharacterTransformer::CharacterTransformer(const Scope& s, const CharacterTransformerConfig& config)
    : config_(config),
      tokens_(s / "tokens", config.vocabulary, config.width,
              Init::normal(config.initializer_range)) {
  const int64_t told = config.layer_positions ? config.layers : 1;
  for (int64_t i = 0; i < told; ++i) {
    positions_.emplace_back(
        s / "positions" / i,
        PositionsConfig{.kind = "learned", .width = config.width, .longest = config.context});
  }
  build(s, {.name = "character_transformer",
            .layers = std::vector<LayerConfig>(static_cast<size_t>(config.layers),
                                               character_layer(config))});
  for (int64_t i = config.intermediate_losses ? 0 : config.layers - 1; i < config.layers; ++i) {
    add_predictor(s / "predictors" / i, i + 1 < config.layers);
  }
}

void CharacterTransformer::add_predictor(const Scope& s, bool norm) {
  Predictor& predictor = predictors_.emplace_back();
  if (norm) {
    predictor.norm.emplace(s / "norm", config_.width, config_.epsilon);
  }
  for (int64_t ahead = 0; ahead < config_.targets; ++ahead) {
    predictor.classifiers.emplace_back(s / ahead, config_.width, config_.vocabulary, false,
                                       Init::normal(config_.initializer_range));
  }
}

Tensor CharacterTransformer::embed(const Tensor& tokens, const Places& /*places*/) const {
  return tokens_(tokens);  // [B,T,C]
}

Tensor CharacterTransformer::layer_input(size_t layer, const Tensor& x,
                                         const Places& places) const {
  return layer < positions_.size() ? positions_[layer](x, places) : x;  // [B,T,C]
}

std::vector<Tensor> CharacterTransformer::layer_vectors(const Tensor& tokens, int64_t first) const {
  std::vector<Tensor> vectors;
  // The norm adds the pending branch, with its dropout, and the stream goes on with that sum: what
  // the layer above sees is what this one predicts from.
  const auto behind = [&](size_t layer, Residual& stream) {
    if (config_.intermediate_losses && static_cast<int64_t>(layer) >= first) {
      vectors.push_back((*predictors_[layer].norm)(stream, branch_dropout()));  // [B,T,C]
    }
  };
  vectors.push_back(hidden(tokens, behind));  // [B,T,C]
  return vectors;
}

Tensor CharacterTransformer::predict(const Tensor& x, int64_t layer, int64_t ahead) const {
  const int64_t silent = config_.layers - std::ssize(predictors_);
  check(silent <= layer && layer < config_.layers && 0 <= ahead && ahead < config_.targets,
        "[character_transformer] layer {} predicts target {}, expected layers {} to {} and targets "
        "0 to {}",
        layer, ahead, silent, config_.layers - 1, config_.targets - 1);
  const Predictor& predictor = predictors_[static_cast<size_t>(layer - silent)];
  return predictor.classifiers[static_cast<size_t>(ahead)](x);  // [..., V]
}

ModelSpec spec_of(const CharacterTransformerConfig& config) {
  return {.width = config.width,
          .source_vocabulary = config.vocabulary,
          .target_vocabulary = config.vocabulary,
          .longest = config.context,
          .attention = true};
}

void adapt(CharacterTransformerConfig& config, const VocabularySizes& sizes) {
  config.vocabulary = sizes.target;
}

}  // namespace heed
