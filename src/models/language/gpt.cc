#include "models/language/gpt.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "nn/compressed_attention.h"
#include "ops/pointwise.h"

namespace heed {
namespace {

// The last product of a branch begins small: two branches a layer add to the stream, which would
// grow with the depth otherwise.
float branch_standard_deviation(const GptConfig& config) {
  return config.initializer_range / std::sqrt(2.0F * static_cast<float>(config.layers));
}

MixerFactory attention_of(const GptConfig& config, int64_t layer) {
  const std::string& pattern = config.attention;
  const char form = pattern.empty() ? 'F' : pattern[static_cast<size_t>(layer) % pattern.size()];
  check(form == 'F' || form == 'L' || form == 'M',
        "[gpt] model.attention is \"{}\", expected letters F, L and M", pattern);
  if (form == 'M') {
    return mixer<CompressedAttention>(
        {.width = config.width,
         .heads = config.heads,
         .stride = config.compression,
         .dropout = config.attention_dropout,
         .standard_deviation = config.initializer_range,
         .branch_standard_deviation = branch_standard_deviation(config)});
  }
  return mixer<SelfAttention>({.width = config.width,
                               .heads = config.heads,
                               .window = form == 'L' ? config.window : 0,
                               .dropout = config.attention_dropout,
                               .standard_deviation = config.initializer_range,
                               .branch_standard_deviation = branch_standard_deviation(config)});
}

LayerConfig layer_config(const GptConfig& config, int64_t layer) {
  return {.width = config.width,
          .mixer = attention_of(config, layer),
          .hidden = config.hidden > 0 ? config.hidden : 4 * config.width,
          .activation = activation_of(config.activation),
          .dropout = config.dropout,
          .pre_norm = true,
          .epsilon = config.epsilon,
          .standard_deviation = config.initializer_range,
          .branch_standard_deviation = branch_standard_deviation(config)};
}

std::vector<LayerConfig> layer_configs(const GptConfig& config) {
  std::vector<LayerConfig> layers;
  for (int64_t i = 0; i < config.layers; ++i) {
    layers.push_back(layer_config(config, i));
  }
  return layers;
}

}  // namespace

Gpt::Gpt(const Scope& s, const GptConfig& config)
    : config_(config),
      tokens_(s / "tokens", {.vocabulary = config.vocabulary,
                             .width = config.width,
                             .cutoffs = config.cutoffs,
                             .shrink = config.shrink,
                             .tied = config.tied_output,
                             .standard_deviation = config.initializer_range}),
      positions_(s / "positions", config.context, config.width,
                 Init::waves(config.initializer_range)) {
  build(s, {.name = "gpt", .layers = layer_configs(config)});
  if (!config.tied_output && !tokens_.adaptive()) {
    output_.emplace(s / "output", config.width, config.vocabulary, false,
                    Init::normal(config.initializer_range));
  }
}

Tensor Gpt::embed(const Tensor& tokens, const Places& places) const {
  const int64_t steps = tokens.dim(1);
  std::vector<int32_t> numbers;
  numbers.reserve(static_cast<size_t>(tokens.size()));
  for (int64_t row = 0; row < tokens.dim(0); ++row) {
    const int64_t before = places.before(row);
    const int64_t length = places.length(row, steps);
    check(before + length <= config_.context,
          "[gpt] {} tokens after {}, expected at most {} in all", length, before, config_.context);
    for (int64_t i = before; i < before + steps; ++i) {
      numbers.push_back(static_cast<int32_t>(std::min(i, config_.context - 1)));
    }
  }
  const Tensor positions = Tensor::from_ints(numbers, tokens.shape());  // [B,T]
  return dropout(add(tokens_(tokens), positions_(positions)),
                 config_.embedding_dropout);  // [B,T,C]
}

Tensor Gpt::project(const Tensor& x) const { return output_ ? (*output_)(x) : tokens_.logits(x); }

Tensor Gpt::output_loss(const Tensor& x, const Tensor& targets) const {
  return output_ ? CausalTransformer::output_loss(x, targets) : tokens_.loss(x, targets);
}

ModelSpec spec_of(const GptConfig& config) {
  return {.width = config.width,
          .source_vocabulary = config.vocabulary,
          .target_vocabulary = config.vocabulary,
          .longest = config.context,
          .attention = true};
}

void adapt(GptConfig& config, const VocabularySizes& sizes) { config.vocabulary = sizes.target; }

}  // namespace heed
