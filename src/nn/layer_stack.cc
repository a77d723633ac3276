#include "nn/layer_stack.h"

#include <utility>

#include "nn/select_rows.h"
#include "ops/pointwise.h"

namespace heed {
LayerStack::LayerStack(const Scope& s, const StackConfig& config)
    : dropout_(config.layer.dropout), residual_(config.layer.residual) {
  layers_.reserve(static_cast<size_t>(config.layers));
  for (int64_t i = 0; i < config.layers; ++i) {
    layers_.emplace_back(s / i, config.layer, AttentionLabel{config.label, i});
  }
  if (config.final_norm) {
    norm_.emplace(s / "norm", config.layer.width, config.layer.epsilon);
  }
}

Tensor LayerStack::operator()(const Tensor& x, const MixerContext& self,
                              const StackMemory& memory) const {
  Residual stream{x, Tensor()};  // [B,T,C]
  for (const TransformerLayer& layer : layers_) {
    LayerContext context{.self = self, .beam = memory.beam};
    if (memory.vectors.defined()) {
      context.memory = {.kv = layer.project_memory(memory.vectors),
                        .lengths = memory.lengths};  // [B,S,2,H,D]
    }
    stream = layer(std::move(stream), context);  // [B,T,C]
  }
  return finish(stream);  // [B,T,C]
}

// The pending branch is added, and normed if there is a norm.
Tensor LayerStack::finish(Residual& stream) const {
  if (norm_) {
    return (*norm_)(stream, dropout_, residual_);
  }
  if (!stream.branch.defined()) {
    return stream.x;
  }
  const Tensor branch = dropout(stream.branch, dropout_);
  return residual_ ? add(stream.x, branch) : branch;
}

LayerStack::State LayerStack::start(const StackMemory& memory) const {
  State state;
  for (const TransformerLayer& layer : layers_) {
    state.caches.push_back(layer.make_cache({.rows = memory.vectors.dim(0) * memory.beam}));
    state.memory.push_back(layer.project_memory(memory.vectors));  // [B,S,2,H,D]
  }
  state.lengths = memory.lengths;
  state.beam = memory.beam;
  return state;
}

Tensor LayerStack::step(const Tensor& x, State& state) const {
  Residual stream{x, Tensor()};  // [R,1,C]
  for (size_t i = 0; i < layers_.size(); ++i) {
    stream =
        layers_[i](std::move(stream), {.self = {.causal = true, .caches = {state.caches[i].get()}},
                                       .memory = {.kv = state.memory[i], .lengths = state.lengths},
                                       .beam = state.beam});  // [R,1,C]
  }
  return finish(stream);  // [R,1,C]
}

void LayerStack::State::select(std::span<const int64_t> sources, std::span<const int64_t> rows) {
  for (const std::unique_ptr<MixerCache>& cache : caches) {
    cache->select(rows);
  }
  for (Tensor& part : memory) {
    part = select_rows(part, sources);
  }
  lengths = select_rows(lengths, sources);
}

}  // namespace heed
