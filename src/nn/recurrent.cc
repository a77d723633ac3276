#include "nn/recurrent.h"

#include "ops/pointwise.h"
#include "ops/shape/cast.h"
#include "ops/shape/shape.h"

namespace heed {
namespace {

int64_t gates_of(RecurrentCell cell) { return cell == RecurrentCell::lstm ? 4 : 3; }

Init uniform_in(int64_t width) {
  return Init::uniform(1.0F / std::sqrt(static_cast<float>(width)));
}

}  // namespace

RecurrentLayer::RecurrentLayer(const Scope& s, const RecurrentConfig& config)
    : cell_(config.cell),
      weight_ih_(s.param("weight_ih", {gates_of(config.cell) * config.width, config.inputs},
                         uniform_in(config.width))),
      weight_hh_(s.param("weight_hh", {gates_of(config.cell) * config.width, config.width},
                         uniform_in(config.width))),
      bias_ih_(s.param("bias_ih", {gates_of(config.cell) * config.width}, Init::constant(0.0F))),
      bias_hh_(s.param("bias_hh", {gates_of(config.cell) * config.width}, Init::constant(0.0F))) {}

RecurrentResult RecurrentLayer::operator()(const Tensor& x, const RecurrentState& initial,
                                           const RecurrentOptions& options) const {
  const RecurrentWeights weights{weight_ih_, weight_hh_, bias_ih_, bias_hh_};
  if (cell_ == RecurrentCell::lstm) {
    LstmResult result = lstm(x, weights, {.h = initial.h, .c = initial.c}, options);
    return {result.outputs, {result.h_n, result.c_n}};
  }
  GruResult result = gru(x, weights, initial.h, options);
  return {result.outputs, {result.h_n, Tensor()}};
}

RecurrentEncoderLayer::RecurrentEncoderLayer(const Scope& s, const RecurrentConfig& config,
                                             bool bidirectional)
    : forwards_(s / "forwards", config) {
  if (bidirectional) {
    backwards_.emplace(s / "backwards", config);
  }
}

RecurrentResult RecurrentEncoderLayer::operator()(const Tensor& x, const Tensor& lengths) const {
  RecurrentResult there = forwards_(x, {}, {.lengths = lengths});  // outputs: [B,S,H]
  if (!backwards_) {
    return there;
  }
  const RecurrentResult back = (*backwards_)(x, {}, {.reverse = true, .lengths = lengths});
  RecurrentResult both{concat({there.outputs, back.outputs}, 2),         // [B,S,2H]
                       {concat({there.state.h, back.state.h}, 1), {}}};  // [B,2H]
  if (there.state.c.defined()) {
    both.state.c = concat({there.state.c, back.state.c}, 1);  // [B,2H]
  }
  return both;
}

RecurrentBridge::RecurrentBridge(const Scope& s, const RecurrentConfig& config)
    : h_(s / "h", config.inputs, config.width) {
  if (config.cell == RecurrentCell::lstm) {
    c_.emplace(s / "c", config.inputs, config.width);
  }
}

RecurrentState RecurrentBridge::operator()(const RecurrentState& last) const {
  RecurrentState first{.h = h_(last.h, Activation::tanh)};  // [B,H]
  if (c_) {
    first.c = cast((*c_)(cast(last.c, last.h.dtype())), DType::f32);  // [B,H]
  }
  return first;
}

Alignment::Alignment(const Scope& s, const AlignmentConfig& config)
    : label_(config.label),
      query_(s / "query", config.query, config.width, false),
      keys_(s / "keys", config.memory, config.width),
      v_(s.param("v", {config.width}, uniform_in(config.width))) {}

AdditiveAttention Alignment::attend(const Tensor& queries, const Memory& memory) const {
  return additive_attention({.query = query_(queries),  // [B,T,A]
                             .keys = memory.keys,
                             .v = v_,
                             .values = memory.values,
                             .lengths = memory.lengths});
}

void Alignment::report(const Tensor& weights) const {
  if (AttentionScope::open()) {
    const Shape& shape = weights.shape();
    AttentionScope::report(label_, weights.reshape({shape[0], 1, shape[1], shape[2]}));
  }
}

AdditiveAttention Alignment::operator()(const Tensor& queries, const Memory& memory) const {
  AdditiveAttention result = attend(queries, memory);
  report(result.weights);
  return result;
}

ContextGru::ContextGru(const Scope& s, const ContextGruConfig& config)
    : input_(s / "input", config.inputs, 3 * config.width, true, uniform_in(config.width)),
      context_(s / "context", config.context, 3 * config.width, false, uniform_in(config.width)),
      gates_(s / "gates", config.width, 2 * config.width, false, uniform_in(config.width)),
      state_(s / "state", config.width, config.width, false, uniform_in(config.width)) {}

Tensor ContextGru::operator()(const Tensor& projected, const Tensor& context,
                              const Tensor& state) const {
  const int64_t width = state.dim(1);
  const Tensor given = add(projected, context_(context));                           // [B,3H]
  const Tensor gates = sigmoid(add(slice(given, 1, 0, 2 * width), gates_(state)));  // [B,2H]
  const Tensor z = slice(gates, 1, 0, width);                                       // [B,H]
  const Tensor r = slice(gates, 1, width, 2 * width);                               // [B,H]
  const Tensor n =
      tanh(add(slice(given, 1, 2 * width, 3 * width), state_(mul(r, state))));  // [B,H]
  return add(state, mul(z, sub(n, state)));                                     // [B,H]
}

}  // namespace heed
