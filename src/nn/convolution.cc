#include "nn/convolution.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "ops/attention/attention.h"
#include "ops/conv.h"
#include "ops/shape/shape.h"

namespace heed {

Tensor gated_linear_unit(const Tensor& x) {
  const int64_t width = x.dim(-1) / 2;
  const std::vector<Tensor> halves = split(x, -1, {width, width});
  return mul(halves[0], sigmoid(halves[1]));  // [..., C]
}

Tensor blend(const Tensor& a, const Tensor& b) { return scale(add(a, b), std::sqrt(0.5F)); }

Init variance_init(int64_t inputs, float dropout, float gain) {
  return Init::normal(std::sqrt(gain * (1.0F - dropout) / static_cast<float>(inputs)));
}

GatedConvolution::GatedConvolution(const Scope& s, const ConvolutionConfig& config)
    : config_(config),
      weight_(s.param("weight", {2 * config.width, config.kernel, config.width},
                      variance_init(config.kernel * config.width, config.dropout, 4.0F))),
      bias_(s.param("bias", {2 * config.width}, Init::constant(0.0F))) {}

Tensor GatedConvolution::centered(const Tensor& x) const {
  const int64_t left = (config_.kernel - 1) / 2;
  return gated_linear_unit(
      conv1d(dropout(x, config_.dropout), weight_, bias_,
             {.padding_left = left, .padding_right = config_.kernel - 1 - left}));  // [B,T,C]
}

Tensor GatedConvolution::causal(const Tensor& x, Tensor* past) const {
  if (past == nullptr) {
    return gated_linear_unit(conv1d(dropout(x, config_.dropout), weight_, bias_,
                                    {.padding_left = config_.kernel - 1}));  // [B,T,C]
  }
  const Tensor window = concat({*past, x}, 1);               // [B,K-1+T,C]
  *past = slice(window, 1, x.dim(1), window.dim(1));         // [B,K-1,C]
  return gated_linear_unit(conv1d(window, weight_, bias_));  // [B,T,C]
}

StepAttention::StepAttention(const Scope& s, int64_t width, int64_t embedding, AttentionLabel label)
    : label_(std::move(label)),
      query_(s / "query", width, embedding, true, variance_init(width, 0.0F)),
      out_(s / "out", embedding, width, true, variance_init(embedding, 0.0F)) {}

Tensor StepAttention::operator()(const Tensor& x, const Tensor& said,
                                 const ConvolutionMemory& memory) const {
  const int64_t sources = memory.keys.dim(0);
  const int64_t width = memory.keys.dim(2);
  // [...,E] -> [B,T,1,E]
  const auto one_head = [&](const Tensor& t) {
    return t.reshape({sources, t.size() / std::max<int64_t>(sources * width, 1), 1, width});
  };
  const AttentionResult result =
      attention(one_head(blend(query_(x), said)), one_head(memory.keys), one_head(memory.values),
                {.lengths = memory.lengths, .scale = 1.0F, .weights = AttentionScope::open()});
  AttentionScope::report(label_, result.weights);  // [B,1,R/B*T,S]
  return out_(result.y.reshape(said.shape()));     // [R,T,C]
}

}  // namespace heed
