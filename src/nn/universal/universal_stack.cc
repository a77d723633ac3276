#include "nn/universal/universal_stack.h"

#include <utility>

#include "nn/loss_scope.h"
#include "nn/select_rows.h"
#include "ops/pointwise.h"
#include "ops/shape/cast.h"
#include "ops/shape/shape.h"

namespace heed {
namespace {

// At first a position halts with a probability of 0.73 in each step.
constexpr float kHaltingBias = 1.0F;

// x [B,T,C], each position times its weight, f32 [B,T,1].
Tensor weighted(const Tensor& x, const Tensor& weights) {
  return mul(x, expand(weights, x.shape()));
}

}  // namespace

UniversalStack::UniversalStack(const Scope& s, const UniversalConfig& config)
    : config_(config),
      positions_(s / "positions", config.positions),
      times_(sinusoidal_positions(config.steps, config.layer.width)),
      layer_(s / "layer", config.layer, AttentionLabel{config.label, 0}) {
  if (config.final_norm) {
    norm_.emplace(s / "norm", config.layer.width, config.layer.epsilon);
  }
  if (config.halting) {
    halting_.emplace(s / "halting", config.layer.width, 1, false);
    halting_bias_ = (s / "halting").param("bias", {1}, Init::constant(kHaltingBias));
  }
}

Tensor UniversalStack::placed(const Tensor& x, int64_t step, int64_t past) const {
  return add(positions_(x, past), times_.rows(step, step + 1).reshape({x.dim(2)}));
}

Tensor UniversalStack::applied(const Tensor& placed, const LayerContext& context) const {
  const Residual stream = layer_({placed, Tensor()}, context);
  if (!stream.branch.defined()) {  // post-norm
    return stream.x;
  }
  return add(stream.x, dropout(stream.branch, config_.layer.dropout));
}

// A position's state is what the layer made of it, and its result once it has halted.
Tensor UniversalStack::run(const Tensor& x, const Pass& pass) const {
  std::optional<Halting> halting;
  if (config_.halting) {
    halting.emplace(*config_.halting, x.dim(0), x.dim(1), pass.lengths);
  }
  Tensor state = x;  // [B,T,C]
  Tensor result;     // [B,T,C]
  for (int64_t step = 0; step < config_.steps; ++step) {
    LayerContext context = pass.layer;
    context.application = step;
    if (!pass.caches.empty()) {
      context.self.caches = {pass.caches[static_cast<size_t>(step)].get()};
    }
    const Tensor at = placed(state, step, pass.past);  // [B,T,C]
    if (halting && halting->all_halted()) {
      if (pass.caches.empty()) {
        break;
      }
      layer_.remember(at, context);  // for positions that come later and think longer
      continue;
    }
    state = applied(at, context);  // [B,T,C]
    if (halting) {
      const Tensor logit = linear(at, halting_->weight(), halting_bias_);  // [B,T,1]
      const Tensor weights = halting->weigh(cast(sigmoid(logit), DType::f32),
                                            step + 1 == config_.steps);  // [B,T,1]
      const Tensor part = weighted(state, weights);                      // [B,T,C]
      result = result.defined() ? add(result, part) : part;
      state = add(weighted(state, halting->running()), weighted(result, halting->halted()));
    }
  }
  if (!halting) {
    return finish(state);
  }
  AttentionScope::report(Pondering{config_.label, halting->steps()});
  if (LossScope::open()) {
    LossScope::report(halting->cost());
  }
  return finish(result);
}

Tensor UniversalStack::operator()(const Tensor& x, const MixerContext& self, const Tensor& lengths,
                                  const StackMemory& memory) const {
  Pass pass{.lengths = lengths, .layer = {.self = self, .beam = memory.beam}};
  if (memory.vectors.defined()) {
    pass.layer.memory = {.kv = layer_.project_memory(memory.vectors), .lengths = memory.lengths};
  }
  return run(x, pass);
}

UniversalStack::State UniversalStack::start(const StackMemory& memory) const {
  State state;
  state.memory = layer_.project_memory(memory.vectors);  // [B,S,2,H,D]
  state.lengths = memory.lengths;
  state.beam = memory.beam;
  for (int64_t step = 0; step < config_.steps; ++step) {
    state.caches.push_back(layer_.make_cache({.rows = memory.vectors.dim(0) * memory.beam}));
  }
  return state;
}

Tensor UniversalStack::step(const Tensor& x, State& state) const {
  const Pass pass{.past = state.past,
                  .layer = {.self = {.causal = true},
                            .memory = {.kv = state.memory, .lengths = state.lengths},
                            .beam = state.beam},
                  .caches = state.caches};
  state.past += x.dim(1);
  return run(x, pass);
}

void UniversalStack::State::select(std::span<const int64_t> sources,
                                   std::span<const int64_t> rows) {
  for (const std::unique_ptr<MixerCache>& cache : caches) {
    cache->select(rows);
  }
  memory = select_rows(memory, sources);
  lengths = select_rows(lengths, sources);
}

}  // namespace heed
