#include "models/language/causal_transformer.h"

#include <utility>

#include "base/error.h"
#include "models/select.h"
#include "ops/mesh/split_cross_entropy.h"

namespace heed {

void CausalTransformer::build(const Scope& s, StackConfig config) {
  const LayerConfig& first = config.layers.front();
  name_ = std::move(config.name);
  memory_ = config.memory;
  dropout_ = first.dropout;
  norm_.emplace(s / "norm", first.width, first.epsilon);
  layers_.reserve(config.layers.size());
  for (size_t i = 0; i < config.layers.size(); ++i) {
    const auto number = static_cast<int64_t>(i);
    layers_.emplace_back(s / "layers" / number, config.layers[i],
                         AttentionLabel{"decoder", number});
  }
}

Tensor CausalTransformer::hidden(const Tensor& tokens, const Places& places,
                                 const Continued& continued) const {
  check(tokens.rank() == 2 && tokens.size() > 0, "[{}] tokens is {}, expected [B,T]", name_,
        tokens.shape());
  CausalState* state = continued.state;
  // Training looks at everything; attention is shown as decoding has it.
  const int64_t shown = AttentionScope::open() ? memory_ : 0;
  LayerContext context{.self = {.causal = true,
                                .window = state != nullptr ? memory_of(*state) : shown,
                                .labels = labels(tokens),
                                .stepwise = continued.stepwise}};
  if (!places.lengths.empty()) {
    const std::vector<int32_t> own(places.lengths.begin(), places.lengths.end());
    context.self.lengths = Tensor::from_ints(own, {std::ssize(own)});
  }
  Residual stream{embed(tokens, places), Tensor()};  // [B,T,C]
  for (size_t i = 0; i < layers_.size(); ++i) {
    if (state != nullptr) {
      context.self.caches = {state->caches[i].get()};
    } else if (!continued.memories.empty()) {
      context.self.caches = {continued.memories[i]};
    }
    stream.x = layer_input(i, stream.x, places);      // [B,T,C]
    stream = layers_[i](std::move(stream), context);  // [B,T,C]
    if (continued.behind != nullptr && i + 1 < layers_.size()) {
      (*continued.behind)(i, stream);
    }
  }
  return (*norm_)(stream, dropout_);  // [B,T,C]
}

Tensor CausalTransformer::logits(const Tensor& tokens, int64_t first) const {
  const std::vector<int64_t> past(first > 0 ? static_cast<size_t>(tokens.dim(0)) : 0, first);
  return project(hidden(tokens, {.past = past}, {}));  // [B,T,V]
}

Tensor CausalTransformer::output_loss(const Tensor& x, const Tensor& targets) const {
  return cross_entropy_of([&] { return project(x); }, targets);
}

Tensor CausalTransformer::next(const Tensor& tokens, std::span<const int64_t> lengths,
                               const Continued& continued) const {
  CausalState& state = *continued.state;
  state.seen.resize(state.seen.empty() ? static_cast<size_t>(tokens.dim(0)) : state.seen.size());
  check(std::ssize(state.seen) == tokens.dim(0), "[{}] {} rows for a state of {}", name_,
        tokens.dim(0), state.seen.size());
  add_caches(state, tokens.dim(0));
  const Places places{.past = state.seen, .lengths = lengths};
  Tensor x = hidden(tokens, places, continued);  // [R,T,C]
  for (size_t row = 0; row < state.seen.size(); ++row) {
    state.seen[row] += places.length(static_cast<int64_t>(row), tokens.dim(1));
  }
  return x;
}

Tensor CausalTransformer::step(const Tensor& tokens, DecodeState& base,
                               std::span<const int64_t> lengths) const {
  auto& state = static_cast<CausalState&>(base);
  check_rows(name_, tokens, lengths, state.length(0));
  return project(last_rows(next(tokens, lengths, {.state = &state}), lengths));  // [R,V]
}

Verified CausalTransformer::verify(const Tensor& tokens, std::span<const int64_t> lengths,
                                   DecodeState& base) const {
  auto& state = static_cast<CausalState&>(base);
  check_lengths(name_, tokens, lengths, 0);
  const Tensor x = without_padding(next(tokens, lengths, {.state = &state, .stepwise = true}),
                                   lengths);  // [N,C]
  return {x, project(x)};                     // [N,C], [N,V]
}

void CausalTransformer::roll_back(DecodeState& base, std::span<const int64_t> dropped) const {
  auto& state = static_cast<CausalState&>(base);
  for (const std::unique_ptr<MixerCache>& cache : state.caches) {
    cache->roll_back(dropped);
  }
  for (size_t row = 0; row < state.seen.size(); ++row) {
    state.seen[row] -= dropped[row];
  }
}

void CausalTransformer::add_caches(CausalState& state, int64_t rows) const {
  while (state.caches.size() < layers_.size()) {
    state.caches.push_back(
        layers_[state.caches.size()].make_cache({.rows = rows, .most = memory_of(state)}));
  }
}

void CausalTransformer::select(DecodeState& base, std::span<const int64_t> rows) const {
  auto& state = static_cast<CausalState&>(base);
  for (const std::unique_ptr<MixerCache>& cache : state.caches) {
    cache->select(rows);
  }
  const std::vector<int64_t> old = std::exchange(state.seen, {});
  for (const int64_t row : rows) {
    state.seen.push_back(old.at(static_cast<size_t>(row)));
  }
}

void CausalTransformer::join(DecodeState& base, const DecodeState& more) const {
  auto& state = static_cast<CausalState&>(base);
  const auto& others = static_cast<const CausalState&>(more);
  add_caches(state, 0);
  for (size_t i = 0; i < others.caches.size(); ++i) {
    state.caches[i]->join(*others.caches[i]);
  }
  state.seen.insert(state.seen.end(), others.seen.begin(), others.seen.end());
}

}  // namespace heed
