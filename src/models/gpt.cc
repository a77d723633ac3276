#include "models/gpt.h"

#include <cmath>

#include "base/error.h"
#include "models/select.h"
#include "ops/cross_entropy.h"
#include "ops/elementwise.h"
#include "ops/gather.h"
#include "ops/shape.h"

namespace heed {
namespace {

LayerConfig layer_config(const GptConfig& config, int64_t layer) {
  const std::string& pattern = config.attention;
  const char form = pattern.empty() ? 'F' : pattern[static_cast<size_t>(layer) % pattern.size()];
  check(form == 'F' || form == 'L' || form == 'M',
        "[gpt] model.attention is \"{}\", expected letters F, L and M", pattern);
  // Two branches a layer add to the stream: their last products begin small, so that it does not
  // grow with the depth.
  const float branches = 2.0F * static_cast<float>(config.layers);
  return {.width = config.width,
          .heads = config.heads,
          .hidden = config.hidden > 0 ? config.hidden : 4 * config.width,
          .activation = activation_of(config.activation),
          .dropout = config.dropout,
          .attention_dropout = config.attention_dropout,
          .pre_norm = true,
          .window = form == 'L' ? config.window : 0,
          .compression = form == 'M' ? config.compression : 0,
          .epsilon = config.epsilon,
          .deviation = config.deviation,
          .branch_deviation = config.deviation / std::sqrt(branches)};
}

// The row at lengths[r] - 1 of each sequence: x [R,T,C] -> [R,C].
Tensor last_rows(const Tensor& x, std::span<const int64_t> lengths) {
  const int64_t steps = x.dim(1);
  std::vector<int64_t> rows;
  for (int64_t r = 0; r < x.dim(0); ++r) {
    rows.push_back(r * steps + (lengths.empty() ? steps : lengths[static_cast<size_t>(r)]) - 1);
  }
  return select_rows(x.reshape({x.dim(0) * steps, x.dim(2)}), rows);
}

}  // namespace

int64_t GptState::length(int64_t row) const {
  if (caches.empty()) {
    return 0;
  }
  const KvCache& cache = caches.front();
  return cache.lengths.empty() ? cache.length : cache.lengths[static_cast<size_t>(row)];
}

Gpt::Gpt(const Scope& s, const GptConfig& config)
    : config_(config),
      tokens_(s / "tokens", config.vocabulary, config.width, Init::normal(config.deviation)),
      positions_(s / "positions", config.context, config.width, Init::waves(config.deviation)),
      norm_(s / "norm", config.width, config.epsilon) {
  layers_.reserve(static_cast<size_t>(config.layers));
  for (int64_t i = 0; i < config.layers; ++i) {
    layers_.emplace_back(s / "layers" / i, layer_config(config, i));
  }
  if (!config.tied_output) {
    output_.emplace(s / "output", config.width, config.vocabulary, false,
                    Init::normal(config.deviation));
  }
}

Tensor Gpt::embed(const Tensor& tokens, const GptState* state) const {
  const int64_t steps = tokens.dim(1);
  std::vector<int32_t> places;
  places.reserve(static_cast<size_t>(tokens.size()));
  for (int64_t row = 0; row < tokens.dim(0); ++row) {
    const int64_t past = state == nullptr ? 0 : state->length(row);
    check(past + steps <= config_.context, "[gpt] {} tokens after {}, expected at most {} in all",
          steps, past, config_.context);
    for (int64_t i = 0; i < steps; ++i) {
      places.push_back(static_cast<int32_t>(past + i));
    }
  }
  const Tensor positions = Tensor::from_ints(places, tokens.shape());  // [B,T]
  return dropout(add(tokens_(tokens), positions_(positions)),
                 config_.embedding_dropout);  // [B,T,C]
}

Tensor Gpt::hidden(const Tensor& tokens, GptState* state, std::vector<LayerAttention>* maps) const {
  check(tokens.rank() == 2 && tokens.size() > 0, "[gpt] tokens is {}, expected [B,T]",
        tokens.shape());
  Residual stream{embed(tokens, state), Tensor()};  // [B,T,C]
  for (size_t i = 0; i < layers_.size(); ++i) {
    Tensor weights;
    stream = layers_[i](std::move(stream), {.self = {.causal = true, .weights = maps != nullptr},
                                            .cache = state == nullptr ? nullptr : &state->caches[i],
                                            .self_weights = &weights});
    if (maps != nullptr) {
      maps->push_back({"decoder", static_cast<int64_t>(i), weights});
    }
  }
  return norm_(stream, config_.dropout);  // [B,T,C]
}

Tensor Gpt::project(const Tensor& x) const { return output_ ? (*output_)(x) : tokens_.logits(x); }

Tensor Gpt::logits(const Tensor& tokens, std::vector<LayerAttention>* maps) const {
  return project(hidden(tokens, nullptr, maps));  // [B,T,V]
}

Tensor Gpt::loss(const Tensor& tokens, const Tensor& targets) const {
  return cross_entropy(logits(tokens), targets);
}

Tensor Gpt::step(const Tensor& tokens, DecodeState& base, std::span<const int64_t> lengths) const {
  auto& state = static_cast<GptState&>(base);
  state.caches.resize(layers_.size());
  check(lengths.empty() || (state.length(0) == 0 && std::ssize(lengths) == tokens.dim(0)),
        "[gpt] {} lengths for {} rows after {} tokens, expected one each at the beginning",
        lengths.size(), tokens.dim(0), state.length(0));
  for (const int64_t length : lengths) {
    check(1 <= length && length <= tokens.dim(1), "[gpt] a row has {} tokens, expected 1 to {}",
          length, tokens.dim(1));
  }
  for (KvCache& cache : state.caches) {
    cache.coming.assign(lengths.begin(), lengths.end());
  }
  const Tensor x = hidden(tokens, &state);  // [R,T,C]
  return project(last_rows(x, lengths));    // [R,V]
}

void Gpt::select(DecodeState& base, std::span<const int64_t> rows) const {
  for (KvCache& cache : static_cast<GptState&>(base).caches) {
    cache.select(rows);
  }
}

void Gpt::join(DecodeState& base, const DecodeState& more) const {
  std::vector<KvCache>& caches = static_cast<GptState&>(base).caches;
  const std::vector<KvCache>& others = static_cast<const GptState&>(more).caches;
  caches.resize(layers_.size());
  for (size_t i = 0; i < others.size(); ++i) {
    caches[i].join(others[i]);
  }
}

}  // namespace heed
