#include "models/gpt.h"

#include <numeric>

#include "base/error.h"
#include "ops/cross_entropy.h"
#include "ops/elementwise.h"
#include "ops/shape.h"

namespace heed {
namespace {

constexpr float kInitDeviation = 0.02F;

LayerConfig layer_config(const GptConfig& config) {
  return {.width = config.width,
          .heads = config.heads,
          .hidden = 4 * config.width,
          .activation = Activation::gelu_tanh,
          .dropout = config.dropout,
          .attention_dropout = config.dropout,
          .pre_norm = true};
}

}  // namespace

Gpt::Gpt(const Scope& s, const GptConfig& config)
    : config_(config),
      tokens_(s / "tokens", config.vocabulary, config.width, Init::normal(kInitDeviation)),
      positions_(s / "positions", config.context, config.width, Init::normal(kInitDeviation)),
      norm_(s / "norm", config.width) {
  layers_.reserve(static_cast<size_t>(config.layers));
  for (int64_t i = 0; i < config.layers; ++i) {
    layers_.emplace_back(s / "layers" / i, layer_config(config));
  }
}

Tensor Gpt::hidden(const Tensor& tokens, GptState* state) const {
  check(tokens.rank() == 2, "[gpt] tokens is {}, expected [B,T]", tokens.shape());
  const int64_t steps = tokens.dim(1);
  const int64_t past = state == nullptr || state->empty() ? 0 : state->front().length;
  check(past + steps <= config_.context, "[gpt] {} tokens after {}, expected at most {} in all",
        steps, past, config_.context);
  if (state != nullptr) {
    state->resize(layers_.size());
  }
  std::vector<int32_t> places(static_cast<size_t>(tokens.size()));
  for (size_t i = 0; i < places.size(); ++i) {
    places[i] = static_cast<int32_t>(past + static_cast<int64_t>(i) % steps);
  }
  const Tensor positions = Tensor::from_ints(places, tokens.shape());  // [B,T]
  const Tensor x = add(tokens_(tokens), positions_(positions));        // [B,T,C]
  Residual stream{dropout(x, config_.dropout), Tensor()};              // [B,T,C]
  for (size_t i = 0; i < layers_.size(); ++i) {
    stream = layers_[i](std::move(stream), {.self = {.causal = true},
                                            .cache = state == nullptr ? nullptr : &(*state)[i]});
  }
  return norm_(stream, config_.dropout);  // [B,T,C]
}

Tensor Gpt::logits(const Tensor& tokens) const {
  return tokens_.logits(hidden(tokens, nullptr));  // [B,T,V]
}

Tensor Gpt::loss(const Tensor& tokens, const Tensor& targets) const {
  return cross_entropy(logits(tokens), targets);
}

Tensor Gpt::step(const Tensor& tokens, GptState& state) const {
  const Tensor x = hidden(tokens, &state);                              // [B,T,C]
  const Tensor last = slice(x, 1, x.dim(1) - 1, x.dim(1));              // [B,1,C]
  return tokens_.logits(last).reshape({x.dim(0), config_.vocabulary});  // [B,V]
}

}  // namespace heed
