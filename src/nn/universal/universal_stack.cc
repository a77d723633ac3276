#include "nn/universal/universal_stack.h"

#include <utility>

#include "base/error.h"
#include "nn/scopes/loss_scope.h"
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

Tensor UniversalStack::placed(const Tensor& x, int64_t step, const Places& places) const {
  return add(positions_(x, places), times_.rows(step, step + 1).reshape({x.dim(2)}));
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
    const Tensor at = placed(state, step, pass.places);  // [B,T,C]
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

Tensor UniversalStack::operator()(const Tensor& x, const Context& context) const {
  Pass pass{.lengths = context.lengths,
            .places = context.places,
            .layer = {.self = context.self, .beam = context.memory.beam}};
  if (context.memory.vectors.defined()) {
    pass.layer.memory = {.kv = layer_.project_memory(context.memory.vectors),
                         .lengths = context.memory.lengths};  // [B,S,2,H,D]
  }
  return run(x, pass);
}

UniversalStack::State UniversalStack::start(const StackMemory& memory) const {
  State state;
  if (memory.vectors.defined()) {
    state.memory = layer_.project_memory(memory.vectors);  // [B,S,2,H,D]
    state.seen.resize(static_cast<size_t>(memory.vectors.dim(0) * memory.beam));
  }
  state.lengths = memory.lengths;
  state.beam = memory.beam;
  return state;
}

Tensor UniversalStack::step(const Tensor& x, State& state, const Next& next) const {
  const int64_t rows = x.dim(0);
  state.seen.resize(state.seen.empty() ? static_cast<size_t>(rows) : state.seen.size());
  check(std::ssize(state.seen) == rows, "[universal stack] {} rows for a state of {}", rows,
        state.seen.size());
  add_caches(state, rows);
  const Places places{.past = state.seen, .lengths = next.lengths};
  Pass pass{.places = places,
            .layer = {.self = {.causal = true, .stepwise = next.stepwise},
                      .memory = {.kv = state.memory, .lengths = state.lengths},
                      .beam = state.beam},
            .caches = state.caches};
  if (!next.lengths.empty()) {
    const std::vector<int32_t> own(next.lengths.begin(), next.lengths.end());
    pass.lengths = Tensor::from_ints(own, {rows});
    pass.layer.self.lengths = pass.lengths;
  }
  Tensor y = run(x, pass);  // [R,T,C]
  for (int64_t row = 0; row < rows; ++row) {
    state.seen[static_cast<size_t>(row)] += places.length(row, x.dim(1));
  }
  return y;
}

void UniversalStack::add_caches(State& state, int64_t rows) const {
  while (std::ssize(state.caches) < config_.steps) {
    state.caches.push_back(layer_.make_cache({.rows = rows}));
  }
}

void UniversalStack::State::select(std::span<const int64_t> rows) {
  for (const std::unique_ptr<MixerCache>& cache : caches) {
    cache->select(rows);
  }
  const std::vector<int64_t> old = std::exchange(seen, {});
  for (const int64_t row : rows) {
    seen.push_back(old.at(static_cast<size_t>(row)));
  }
}

void UniversalStack::State::select(std::span<const int64_t> sources,
                                   std::span<const int64_t> rows) {
  select(rows);
  memory = select_rows(memory, sources);
  lengths = select_rows(lengths, sources);
}

void UniversalStack::join(State& state, const State& more) const {
  add_caches(state, 0);
  for (size_t i = 0; i < more.caches.size(); ++i) {
    state.caches[i]->join(*more.caches[i]);
  }
  state.seen.insert(state.seen.end(), more.seen.begin(), more.seen.end());
}

void UniversalStack::State::roll_back(std::span<const int64_t> dropped) {
  for (const std::unique_ptr<MixerCache>& cache : caches) {
    cache->roll_back(dropped);
  }
  for (size_t row = 0; row < seen.size(); ++row) {
    seen[row] -= dropped[row];
  }
}

}  // namespace heed
