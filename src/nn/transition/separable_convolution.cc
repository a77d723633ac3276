#include "nn/transition/separable_convolution.h"

#include <cmath>
#include <vector>

#include "base/error.h"
#include "nn/attention.h"
#include "ops/pointwise.h"
#include "ops/shape/shape.h"

namespace heed {
namespace {

// The sum of K positions has their variance.
Init depthwise_init(int64_t kernel) {
  return Init::normal(1.0F / std::sqrt(static_cast<float>(kernel)));
}

// x [B,T,C] with zeros past each row's length, i32 [B].
Tensor padding_blanked(const Tensor& x, const Tensor& lengths) {
  Tensor counts = Tensor::zeros({x.dim(0), x.dim(1), 1});
  for (int64_t i = 0; i < counts.size(); ++i) {
    counts.data<float>()[i] = i % x.dim(1) < lengths.data<int32_t>()[i / x.dim(1)] ? 1.0F : 0.0F;
  }
  return mul(x, expand(counts, x.shape()));  // [B,T,C]
}

}  // namespace

void SeparableCache::select(std::span<const int64_t> rows) {
  inputs.select(rows);
  hidden.select(rows);
}

void SeparableCache::join(const MixerCache& more) {
  const auto& other = cache_as<SeparableCache>(more);
  inputs.join(other.inputs);
  hidden.join(other.hidden);
}

void SeparableCache::roll_back(std::span<const int64_t> dropped) {
  inputs.roll_back(dropped);
  hidden.roll_back(dropped);
}

SeparableConvolution::SeparableConvolution(const Scope& s, const SeparableConvolutionConfig& config)
    : config_(config),
      depthwise1_(
          s.param("depthwise1", {config.kernel, config.width}, depthwise_init(config.kernel))),
      pointwise1_(s / "pointwise1", config.width, config.hidden),
      depthwise2_(
          s.param("depthwise2", {config.kernel, config.hidden}, depthwise_init(config.kernel))),
      pointwise2_(s / "pointwise2", config.hidden, config.width) {
  check(config.kernel >= 2,
        "[separable convolution] the kernel sees {} positions, expected 2 or more", config.kernel);
}

std::unique_ptr<MixerCache> SeparableConvolution::make_cache(const CacheConfig& /*config*/) const {
  return std::make_unique<SeparableCache>();  // it keeps the last few positions in any case
}

Tensor SeparableConvolution::surrounded(const Tensor& x, const MixerContext& context,
                                        LastPositions* past) const {
  const int64_t others = config_.kernel - 1;
  if (past != nullptr) {
    std::vector<int64_t> came;
    if (context.lengths.defined()) {
      const int32_t* lengths = context.lengths.data<int32_t>();
      came.assign(lengths, lengths + context.lengths.size());
    }
    return past->before(x, others, came);  // [B,K-1+T,C]
  }
  if (context.causal) {
    return pad(x, 1, {.before = others});  // [B,K-1+T,C]
  }
  return pad(context.lengths.defined() ? padding_blanked(x, context.lengths) : x, 1,
             {.before = others / 2, .after = others - others / 2});  // [B,K-1+T,C]
}

// y[t] = sum over k of w[k] * x[t + k]
Tensor SeparableConvolution::summed(const Tensor& window, const Tensor& weights) const {
  const int64_t steps = window.dim(1) - config_.kernel + 1;
  Tensor y;
  for (int64_t k = 0; k < config_.kernel; ++k) {
    const Tensor weight = slice(weights, 0, k, k + 1).reshape({window.dim(2)});  // [C]
    const Tensor part = mul(slice(window, 1, k, k + steps), weight);             // [B,T,C]
    y = y.defined() ? add(y, part) : part;
  }
  return y;
}

Mixed SeparableConvolution::operator()(const Tensor& x, const MixerContext& context) const {
  check(context.window == 0 && !context.mask.defined(),
        "[separable convolution] it sees its kernel, expected no window and no mask");
  MixerCache* given = only_cache(context);
  SeparableCache* cache = given == nullptr ? nullptr : &cache_as<SeparableCache>(*given);
  const Tensor near = summed(surrounded(x, context, cache == nullptr ? nullptr : &cache->inputs),
                             depthwise1_);                                           // [B,T,C]
  const Tensor h = dropout(pointwise1_(near, config_.activation), config_.dropout);  // [B,T,F]
  const Tensor wide = summed(surrounded(h, context, cache == nullptr ? nullptr : &cache->hidden),
                             depthwise2_);  // [B,T,F]
  return {pointwise2_(wide), Tensor()};     // [B,T,C]
}

}  // namespace heed
