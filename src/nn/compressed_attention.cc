#include "nn/compressed_attention.h"

#include "base/error.h"
#include "ops/conv.h"
#include "ops/shape/shape.h"

namespace heed {
namespace {

// Each key's weight, shared by the `stride` positions it sums up: [B,H,T,K] -> [B,H,T,length].
Tensor spread(const Tensor& weights, int64_t stride, int64_t length) {
  if (!weights.defined()) {
    return weights;
  }
  const int64_t keys = weights.dim(3);
  check(keys * stride <= length, "[attention] {} keys sum up {} positions each, expected {} in all",
        keys, stride, length);
  Tensor result = Tensor::zeros({weights.dim(0), weights.dim(1), weights.dim(2), length});
  for (int64_t i = 0; i < weights.size(); ++i) {
    float* to = result.data<float>() + i / keys * length;
    for (int64_t j = i % keys * stride; j < (i % keys + 1) * stride; ++j) {
      to[j] = weights.data<float>()[i] / static_cast<float>(stride);
    }
  }
  return result;
}

}  // namespace

void CompressedCache::select(std::span<const int64_t> rows) {
  kv.select(rows);
  last.select(rows);
}

void CompressedCache::join(const MixerCache& more) {
  const auto& other = cache_as<CompressedCache>(more);
  kv.join(other.kv);
  last.join(other.last);
}

void CompressedCache::roll_back(std::span<const int64_t> dropped) {
  last.roll_back(dropped);
  kv.roll_back(dropped);
}

CompressedAttention::CompressedAttention(const Scope& s, const CompressedAttentionConfig& config)
    : config_(config),
      q_(s / "q", config.width, config.width, true,
         Init::normal_or_xavier(config.standard_deviation, config.width, config.width)),
      kv_(s / "kv", config.width, 2 * config.width, true,
          Init::normal_or_xavier(config.standard_deviation, config.width, config.width)),
      convolution_(s.param(
          "convolution", {2 * config.width, config.stride, head_dim(config.width, config.heads)},
          Init::xavier(config.stride * config.width / config.heads, config.width / config.heads))),
      out_(s / "out", config.width, config.width, true,
           Init::normal_or_xavier(config.branch_standard_deviation, config.width, config.width)) {
  check(config.stride > 1, "[attention] keys are compressed {} to 1, expected more", config.stride);
}

std::unique_ptr<MixerCache> CompressedAttention::make_cache(const CacheConfig& config) const {
  check(config.most == 0,
        "[attention] a compressed memory keeps every position, expected no limit of {}",
        config.most);
  return std::make_unique<CompressedCache>();
}

Tensor CompressedAttention::compress(const Tensor& kv, bool with_past) const {
  return conv1d(kv, convolution_, Tensor(),
                {.padding_left = with_past ? 0 : config_.stride - 1, .groups = 2 * config_.heads});
}

// The convolution where others came before; cache.last moves on.
Tensor CompressedAttention::continued(const Tensor& kv, CompressedCache& cache) const {
  return compress(cache.last.before(kv, config_.stride - 1, cache.kv.coming), true);  // [R,T,2C]
}

Mixed CompressedAttention::operator()(const Tensor& x, const MixerContext& context) const {
  check(context.causal, "[attention] a compressed memory needs causal attention");
  check(context.window == 0 && !context.mask.defined(),
        "[attention] a compressed memory has no window and no mask");
  const auto heads = [&](const Tensor& t) {
    return t.reshape({t.dim(0), t.dim(1), config_.heads, config_.width / config_.heads});
  };
  MixerCache* given = only_cache(context);
  CompressedCache* cache = given == nullptr ? nullptr : &cache_as<CompressedCache>(*given);
  AttentionOptions options{.causal = true,
                           .key_stride = config_.stride,
                           .dropout = config_.dropout,
                           .weights = context.weights,
                           .stepwise = context.stepwise};
  if (cache != nullptr) {
    cache->kv.expect(context.lengths);
  } else {
    options.lengths = context.lengths;
  }
  const Tensor q = heads(q_(x));  // [B,T,H,D]
  const Tensor kv = cache == nullptr ? compress(kv_(x), false) : continued(kv_(x), *cache);
  const std::vector<Tensor> parts = split(kv, 2, {config_.width, config_.width});  // [B,T,C] each
  CachedKeys keys{heads(parts[0]), heads(parts[1])};
  if (cache != nullptr) {
    const bool first = cache->kv.length == 0;
    cache->kv.append(keys.k, keys.v, Tensor());
    options.position = 0;
    if (!first) {
      keys = look_back(cache->kv, x.dim(1), options);
    }
  }
  const AttentionResult result = attention(q, keys.k, keys.v, options);  // y: [B,T,H,D]
  return {out_(result.y.reshape(x.shape())),                             // [B,T,C]
          spread(result.weights, config_.stride, keys.k.dim(1))};
}

}  // namespace heed
