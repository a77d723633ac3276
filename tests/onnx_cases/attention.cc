// Attention, through Heed's own op wherever it has the option; with soft-capped logits, and for the
// logits themselves as an output, from matrix products, element-wise ops and softmax.
#include "ops/attention/attention.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "onnx_cases/operators.h"
#include "ops/linear.h"
#include "ops/pointwise.h"
#include "ops/shape/shape.h"
#include "ops/softmax.h"

namespace heed::onnx_cases {
namespace {

enum InputIndex : size_t { kQ, kK, kV, kMask, kPastKey, kPastValue, kLengths };
enum OutputIndex : size_t { kY, kPresentKey, kPresentValue, kLogits };
enum LogitsMode : int64_t { kProduct, kCapped, kMasked, kWeights };

constexpr float kInfinity = std::numeric_limits<float>::infinity();

struct Inputs {
  Tensor q;        // [B,Tq,H,D]
  Tensor k;        // [B,Tk,Hk,D], behind what is past
  Tensor v;        // [B,Tk,Hk,Dv]
  Tensor mask;     // i8, 4 axes that broadcast to [B,H,Tq,Tk], or undefined
  Tensor bias;     // f32, likewise
  Tensor lengths;  // i32 [B], or undefined
  bool causal;
  int64_t past;
  float scale;
  float softcap;

  Shape logits_shape() const { return {q.dim(0), q.dim(2), q.dim(1), k.dim(1)}; }
};

// [B,H,T,D] or [B,T,H*D] -> [B,T,H,D]
Tensor heads_behind(const Case& c, const Value& value, const char* heads_attribute) {
  const Tensor x = floats(value);
  if (x.rank() == 4) {
    return permute(x, {0, 2, 1, 3});
  }
  const int64_t heads = c.attribute<int64_t>(heads_attribute, 0);
  check(x.rank() == 3 && heads > 0 && x.dim(2) % heads == 0,
        "[{}] {} is {} for {} heads, expected [B,H,T,D] or [B,T,H*D]", c.op, value.name,
        x.shape().str(), heads);
  return reshape(x, {x.dim(0), x.dim(1), heads, x.dim(2) / heads});
}

// Keys or values [B,T,H,D] behind those of the past, [B,H,P,D].
Tensor with_past(const Tensor& x, const Value* past) {
  return past == nullptr ? x : concat({permute(floats(*past), {0, 2, 1, 3}), x}, 1);
}

// A boolean mask says who is seen, any other is added. Keys beyond its last are not seen.
void set_mask(const Value& value, Inputs& inputs) {
  check(value.rank() <= 4, "mask {} has {} axes, expected at most 4", value.name, value.rank());
  std::vector<int64_t> extents(static_cast<size_t>(4 - value.rank()), 1);
  extents.insert(extents.end(), value.shape.begin(), value.shape.end());
  const int64_t missing = inputs.k.dim(1) - extents.back();
  if (value.dtype == "bool") {
    const std::vector<int8_t> bytes(value.data.begin(), value.data.end());
    const Tensor mask = Tensor::from_bytes(bytes, Shape(extents));
    inputs.mask = missing > 0 ? pad(mask, 3, {.after = missing}) : mask;
  } else {
    const Tensor bias = floats(value, Shape(extents));
    inputs.bias = missing > 0 ? pad(bias, 3, {.after = missing, .value = -kInfinity}) : bias;
  }
}

Inputs inputs_of(const Case& c) {
  const Value* past = c.find_input(kPastKey);
  Inputs inputs{
      .q = heads_behind(c, c.input(kQ), "q_num_heads"),
      .k = with_past(heads_behind(c, c.input(kK), "kv_num_heads"), past),
      .v = with_past(heads_behind(c, c.input(kV), "kv_num_heads"), c.find_input(kPastValue)),
      .mask = {},
      .bias = {},
      .lengths = {},
      .causal = c.attribute<int64_t>("is_causal", 0) != 0,
      .past = past == nullptr ? 0 : past->shape.at(2),
      .scale = 0.0F,
      .softcap = c.attribute<float>("softcap", 0.0F)};
  const float usual = 1.0F / std::sqrt(static_cast<float>(inputs.q.dim(3)));
  inputs.scale = c.attribute<float>("scale", usual);
  if (const Value* lengths = c.find_input(kLengths)) {
    inputs.lengths = ints(*lengths);
  }
  if (const Value* mask = c.find_input(kMask)) {
    set_mask(*mask, inputs);
  }
  return inputs;
}

// Where the first query of a sequence stands among its keys. Without a past of its own, the last
// query stands at the last key that is no padding; before the first key if there are fewer.
int64_t first_position(const Inputs& inputs, int64_t sequence) {
  const bool at_end = inputs.past == 0 && inputs.lengths.defined();
  return at_end ? inputs.lengths.data<int32_t>()[sequence] - inputs.q.dim(1) : inputs.past;
}

// All that hides keys, in one mask: i8 [B,H,Tq,Tk].
Tensor visible(const Inputs& inputs) {
  const Shape shape = inputs.logits_shape();
  const Tensor mask =
      inputs.mask.defined() ? inputs.mask : Tensor::from_bytes(std::array<int8_t, 1>{1}, {1});
  Tensor result = expand(mask, shape).clone();
  int8_t* seen = result.data<int8_t>();
  const int64_t rows = shape.product(0, 3);
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t sequence = row / (shape[1] * shape[2]);
    int64_t end = shape[3];
    if (inputs.lengths.defined()) {
      end = std::min<int64_t>(end, inputs.lengths.data<int32_t>()[sequence]);
    }
    if (inputs.causal) {
      end = std::min(end, first_position(inputs, sequence) + row % shape[2] + 1);
    }
    int8_t* keys = seen + row * shape[3];
    std::fill(keys + std::clamp<int64_t>(end, 0, shape[3]), keys + shape[3], 0);
  }
  return result;
}

struct Attended {
  Tensor y;        // [B,Tq,H,Dv]
  Tensor weights;  // [B,H,Tq,Tk], if asked for
};

Tensor widen(const Tensor& x, int64_t width) {
  return x.dim(3) == width ? x : pad(x, 3, {.after = width - x.dim(3)});
}

// Heads of values may be wider or narrower than those of keys: zeros make them equal.
Attended fused(const Inputs& inputs, bool weights) {
  AttentionOptions options{.causal = inputs.causal,
                           .position = inputs.past,
                           .lengths = inputs.lengths,
                           .mask = inputs.mask,
                           .bias = inputs.bias,
                           .scale = inputs.scale,
                           .weights = weights};
  if (inputs.causal && inputs.lengths.defined()) {  // each sequence has a position of its own
    options.causal = false;
    options.mask = visible(inputs);
  }
  const int64_t width = std::max(inputs.q.dim(3), inputs.v.dim(3));
  AttentionResult result =
      attention(widen(inputs.q, width), widen(inputs.k, width), widen(inputs.v, width), options);
  if (weights && result.weights.dim(3) < inputs.k.dim(1)) {  // keys that no causal query sees
    const int64_t unseen = inputs.k.dim(1) - result.weights.dim(3);
    result.weights = pad(result.weights, 3, {.after = unseen});
  }
  return {slice(result.y, 3, 0, inputs.v.dim(3)), result.weights};
}

struct Logits {
  Tensor product;  // [B,H,Tq,Tk], all of them
  Tensor capped;
  Tensor masked;
};

Logits logits_of(const Inputs& inputs) {
  const int64_t group = inputs.q.dim(2) / inputs.k.dim(2);
  const Tensor q = permute(inputs.q, {0, 2, 1, 3});                    // [B,H,Tq,D]
  const Tensor k = repeat(permute(inputs.k, {0, 2, 1, 3}), 1, group);  // [B,H,Tk,D]
  Logits logits;
  logits.product = scale(matmul(q, k, {.transpose_b = true}), inputs.scale);
  logits.capped = logits.product;
  if (inputs.softcap > 0.0F) {
    const Tensor bounded = tanh(scale(logits.product, 1.0F / inputs.softcap));
    logits.capped = scale(bounded, inputs.softcap);
  }
  Tensor biased = logits.capped;
  if (inputs.bias.defined()) {
    biased = add(biased, expand(inputs.bias, biased.shape()));
  }
  logits.masked = where(visible(inputs), biased, Tensor::full({1}, -kInfinity));
  return logits;
}

Attended composed(const Inputs& inputs, const Logits& logits) {
  const int64_t group = inputs.q.dim(2) / inputs.v.dim(2);
  const Tensor v = repeat(permute(inputs.v, {0, 2, 1, 3}), 1, group);  // [B,H,Tk,Dv]
  const Tensor weights = softmax(logits.masked);                       // [B,H,Tq,Tk]
  return {permute(matmul(weights, v), {0, 2, 1, 3}), weights};
}

}  // namespace

Outputs attention_case(const Case& c) {
  const Inputs inputs = inputs_of(c);
  const auto mode = c.attribute<int64_t>("qk_matmul_output_mode", kProduct);
  check(mode >= kProduct && mode <= kWeights, "[{}] qk_matmul_output_mode is {}, expected 0 to 3",
        c.op, mode);
  const bool capped = inputs.softcap > 0.0F;
  const bool wants_logits = c.wants_output(kLogits) && mode != kWeights;
  const Logits logits = capped || wants_logits ? logits_of(inputs) : Logits();
  const Attended attended = capped ? composed(inputs, logits)
                                   : fused(inputs, c.wants_output(kLogits) && mode == kWeights);
  Outputs outputs(4);
  const Tensor& y = attended.y;  // [B,Tq,H,Dv]
  const bool flat = c.input(kQ).rank() == 3;
  outputs[kY] = flat ? reshape(y, {y.dim(0), y.dim(1), -1}) : permute(y, {0, 2, 1, 3});
  if (c.wants_output(kPresentKey)) {
    outputs[kPresentKey] = permute(inputs.k, {0, 2, 1, 3});
  }
  if (c.wants_output(kPresentValue)) {
    outputs[kPresentValue] = permute(inputs.v, {0, 2, 1, 3});
  }
  if (c.wants_output(kLogits)) {
    outputs[kLogits] = mode == kProduct  ? logits.product
                       : mode == kCapped ? logits.capped
                       : mode == kMasked ? logits.masked
                                         : attended.weights;
  }
  return outputs;
}

}  // namespace heed::onnx_cases
