#include "models/language/transformer_xl.h"

#include <cmath>
#include <memory>

#include "autograd/tape.h"
#include "base/error.h"
#include "nn/segment/segment_attention.h"
#include "ops/pointwise.h"
#include "ops/shape/shape.h"

namespace heed {
namespace {

LayerConfig xl_layer(const TransformerXlConfig& config,
                     const std::shared_ptr<const Distances>& distances) {
  // As in GPT-2: two branches a layer add to the stream, which would grow with the depth otherwise.
  const float branch =
      config.initializer_range / std::sqrt(2.0F * static_cast<float>(config.layers));
  return {.width = config.width,
          .mixer = mixer<SegmentAttention>({.width = config.width,
                                            .heads = config.heads,
                                            .distances = distances,
                                            .most_distance = config.most_distance,
                                            .dropout = config.attention_dropout,
                                            .standard_deviation = config.initializer_range,
                                            .branch_standard_deviation = branch}),
          .hidden = config.hidden > 0 ? config.hidden : 4 * config.width,
          .activation = activation_of(config.activation),
          .dropout = config.dropout,
          .hidden_dropout = config.hidden_dropout,
          .pre_norm = true,
          .epsilon = config.epsilon,
          .standard_deviation = config.initializer_range,
          .branch_standard_deviation = branch};
}

// x [B,T,C] with the same elements of a row dropped at all its positions (Gal and Ghahramani 2016).
Tensor row_dropout(const Tensor& x, float p) {
  if (p == 0.0F || Tape::current() == nullptr) {
    return x;
  }
  const Tensor ones = Tensor::full({x.dim(0), 1, x.dim(2)}, 1.0F, x.dtype());
  return mul(x, expand(dropout(ones, p), x.shape()));  // [B,T,C]
}

// x [B,T,C] of tokens i32 [B,T]: of some words nothing is seen, wherever they stand.
Tensor whole_word_dropout(const Tensor& x, const Tensor& tokens, int64_t vocabulary, float p) {
  if (p == 0.0F || Tape::current() == nullptr) {
    return x;
  }
  const Tensor words = dropout(Tensor::full({vocabulary, 1}, 1.0F, x.dtype()), p);  // [V,1]
  return mul(x, expand(embedding(tokens, words), x.shape()));                       // [B,T,C]
}

}  // namespace

TransformerXl::TransformerXl(const Scope& s, const TransformerXlConfig& config)
    : config_(config),
      tokens_(s / "tokens", {.vocabulary = config.vocabulary,
                             .width = config.width,
                             .cutoffs = config.cutoffs,
                             .shrink = config.shrink,
                             .tied = config.tied_output,
                             .standard_deviation = config.initializer_range}) {
  const auto distances = std::make_shared<const Distances>(config.width);
  build(s, {.name = "transformer_xl",
            .layers = std::vector<LayerConfig>(static_cast<size_t>(config.layers),
                                               xl_layer(config, distances)),
            .memory = decoding_memory() + 1});  // and the position itself
  if (!config.tied_output && !tokens_.adaptive()) {
    output_.emplace(s / "output", config.width, config.vocabulary, false,
                    Init::normal(config.initializer_range));
  }
}

std::unique_ptr<DecodeState> TransformerXl::start_with(int64_t memory) const {
  check(memory >= 0, "[transformer_xl] a memory of {} positions, expected 0 or more", memory);
  auto state = std::make_unique<CausalState>();
  state->memory = memory + 1;  // and the position itself
  return state;
}

Tensor TransformerXl::embed(const Tensor& tokens, const Places& /*places*/) const {
  return row_dropout(
      whole_word_dropout(tokens_(tokens), tokens, config_.vocabulary, config_.word_dropout),
      config_.embedding_dropout);  // [B,T,C]
}

Tensor TransformerXl::project(const Tensor& x) const {
  return output_ ? (*output_)(x) : tokens_.logits(x);  // [..., V]
}

Tensor TransformerXl::segment_hidden(const Tensor& tokens, Memory& memory) const {
  check(memory.empty() || memory.size() == layers(),
        "[transformer_xl] a memory of {} layers, expected {}", memory.size(), layers());
  memory.resize(layers());
  std::vector<SegmentMemory> each(layers());
  std::vector<MixerCache*> caches;
  for (size_t i = 0; i < layers(); ++i) {
    each[i].states = memory[i];  // [B,M,C]
    each[i].most = config_.memory;
    caches.push_back(&each[i]);
  }
  const Tensor x = hidden(tokens, caches);  // [B,T,C]
  for (size_t i = 0; i < layers(); ++i) {
    memory[i] = each[i].states;  // [B,M,C]
  }
  return row_dropout(x, config_.output_dropout);  // [B,T,C]
}

Tensor TransformerXl::segment(const Tensor& tokens, Memory& memory) const {
  return project(segment_hidden(tokens, memory));  // [B,T,V]
}

Tensor TransformerXl::segment_loss(const Tensor& tokens, const Tensor& targets,
                                   Memory& memory) const {
  return output_loss(segment_hidden(tokens, memory), targets);
}

Tensor TransformerXl::output_loss(const Tensor& x, const Tensor& targets) const {
  return output_ ? CausalTransformer::output_loss(x, targets) : tokens_.loss(x, targets);
}

Tensor TransformerXl::extend(const Tensor& tokens, DecodeState& state) const {
  return project(extended(tokens, state));  // [R,T,V]
}

ModelSpec spec_of(const TransformerXlConfig& config) {
  return {.width = config.width,
          .source_vocabulary = config.vocabulary,
          .target_vocabulary = config.vocabulary,
          .attention = true};
}

void adapt(TransformerXlConfig& config, const VocabularySizes& sizes) {
  config.vocabulary = sizes.target;
}

}  // namespace heed
