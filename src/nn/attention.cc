#include "nn/attention.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "base/parallel.h"
#include "ops/conv.h"
#include "ops/shape/gather.h"
#include "ops/shape/shape.h"

namespace heed {
namespace {

int64_t head_dim(int64_t width, int64_t heads) {
  check(heads > 0 && width % heads == 0, "[attention] width is {}, expected a multiple of {} heads",
        width, heads);
  return width / heads;
}

// Each key's weight, shared by the `stride` positions it sums up: [B,H,T,K] -> [B,H,T,length].
Tensor spread(const Tensor& weights, int64_t stride, int64_t length) {
  if (!weights.defined()) {
    return weights;
  }
  const int64_t keys = weights.dim(3);
  Tensor result = Tensor::zeros({weights.dim(0), weights.dim(1), weights.dim(2), length});
  for (int64_t i = 0; i < weights.size(); ++i) {
    float* to = result.data<float>() + i / std::max<int64_t>(keys, 1) * length;
    for (int64_t j = i % keys * stride; j < (i % keys + 1) * stride; ++j) {
      to[j] = weights.data<float>()[i] / static_cast<float>(stride);
    }
  }
  return result;
}

// What the newest position of each row sees, where the rows differ.
void see_lengths(const KvCache& cache, AttentionOptions& options) {
  if (cache.lengths.empty()) {
    return;
  }
  std::vector<int32_t> seen(cache.lengths.begin(), cache.lengths.end());
  const Shape rows{std::ssize(seen)};
  options.lengths = Tensor::from_ints(seen, rows);
  for (int32_t& length : seen) {
    --length;
  }
  options.positions = Tensor::from_ints(seen, rows);
}

}  // namespace

SelfAttention::SelfAttention(const Scope& s, const SelfAttentionConfig& config)
    : config_(config),
      qkv_(s / "qkv", config.width, 3 * config.width, true,
           Init::normal_or_xavier(config.deviation, config.width, config.width)),
      out_(s / "out", config.width, config.width, true,
           Init::normal_or_xavier(config.branch_deviation, config.width, config.width)) {
  const int64_t dim = head_dim(config.width, config.heads);
  if (config.label_distance > 0) {
    labels_.emplace(s / "labels", dim, 2 * config.label_distance + 1, false);
  }
  if (config.relative_distance > 0) {
    const int64_t distances = config.relative_distance * (config.relative_future ? 2 : 1) + 1;
    relative_ = s.param(
        "relative",
        config.relative_per_head ? Shape{config.heads, distances, dim} : Shape{distances, dim},
        Init::xavier(dim, distances));
  }
}

Tensor SelfAttention::operator()(const Tensor& x, const AttentionOptions& options, KvCache* cache,
                                 Tensor* weights) const {
  const int64_t batch = x.dim(0);
  const int64_t steps = x.dim(1);
  const int64_t dim = config_.width / config_.heads;
  AttentionOptions complete = options;
  if (config_.relative_distance > 0) {
    complete.relative = relative_;
    complete.relative_center = config_.relative_distance;
  }
  const Tensor qkv = qkv_(x).reshape({batch, steps, 3, config_.heads, dim});  // [B,T,3,H,D]
  if (labels_) {
    check(options.labels.defined(),
          "[attention] no labels, but differences of them are told apart");
    complete.labelled = (*labels_)(
        split(qkv, 2, {1, 2})[0].reshape({batch, steps, config_.heads, dim}));  // [B,T,H,R]
  }
  AttentionResult result;  // y: [B,T,H,D]
  if (cache == nullptr) {
    result = attention_qkv(qkv, complete);
  } else {
    check(options.causal, "[attention] a cache needs causal attention");
    const bool first = cache->length == 0;
    cache->append(qkv, options.labels);
    complete.position = cache->length - steps;
    // A sequence that begins is a whole one: however short, it is computed as in a longer batch.
    if (first) {
      result = attention_qkv(qkv, complete);
    } else {
      see_lengths(*cache, complete);
      complete.labels = cache->labels;
      result = attention_cached(qkv, cache->k, cache->v, complete);
    }
  }
  if (weights != nullptr) {
    *weights = result.weights;
  }
  return out_(result.y.reshape({batch, steps, config_.width}));  // [B,T,C]
}

CompressedAttention::CompressedAttention(const Scope& s, const CompressedAttentionConfig& config)
    : config_(config),
      q_(s / "q", config.width, config.width, true,
         Init::normal_or_xavier(config.deviation, config.width, config.width)),
      kv_(s / "kv", config.width, 2 * config.width, true,
          Init::normal_or_xavier(config.deviation, config.width, config.width)),
      convolution_(s.param(
          "convolution", {2 * config.width, config.stride, head_dim(config.width, config.heads)},
          Init::xavier(config.stride * config.width / config.heads, config.width / config.heads))),
      out_(s / "out", config.width, config.width, true,
           Init::normal_or_xavier(config.branch_deviation, config.width, config.width)) {
  check(config.stride > 1, "[attention] keys are compressed {} to 1, expected more", config.stride);
}

Tensor CompressedAttention::compress(const Tensor& kv, bool with_past) const {
  return conv1d(kv, convolution_, Tensor(),
                {.padding_left = with_past ? 0 : config_.stride - 1, .groups = 2 * config_.heads});
}

// The convolution where others came before; cache.last [R, K-1 positions of 2C] moves on.
Tensor CompressedAttention::continued(const Tensor& kv, KvCache& cache) const {
  const int64_t rows = kv.dim(0);
  const int64_t past = config_.stride - 1;
  const int64_t width = kv.dim(2);
  if (!cache.last.defined()) {
    cache.last = Tensor::zeros({rows, past * width}, kv.dtype());
  }
  const Tensor window = concat({cache.last.reshape({rows, past, width}), kv}, 1);  // [R,K-1+T,2C]
  const size_t bytes = cache.last.bytes() / static_cast<size_t>(rows);
  cache.last = Tensor::empty({rows, past * width}, kv.dtype());
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t steps = cache.coming.empty() ? kv.dim(1) : cache.coming[static_cast<size_t>(row)];
    std::memcpy(
        cache.last.rows(row, row + 1).raw(),
        window.rows(row, row + 1).reshape({window.dim(1), width}).rows(steps, steps + past).raw(),
        bytes);
  }
  return compress(window, true);  // [R,T,2C]
}

Tensor CompressedAttention::operator()(const Tensor& x, const AttentionOptions& options,
                                       KvCache* cache, Tensor* weights) const {
  check(options.causal, "[attention] a compressed memory needs causal attention");
  const auto heads = [&](const Tensor& t) {
    return t.reshape({t.dim(0), t.dim(1), config_.heads, config_.width / config_.heads});
  };
  AttentionOptions complete = options;
  complete.key_stride = config_.stride;
  const Tensor q = heads(q_(x));  // [B,T,H,D]
  const Tensor kv = cache == nullptr ? compress(kv_(x), false) : continued(kv_(x), *cache);
  const std::vector<Tensor> parts = split(kv, 2, {config_.width, config_.width});  // [B,T,C] each
  Tensor k = heads(parts[0]);
  Tensor v = heads(parts[1]);
  if (cache != nullptr) {
    const bool first = cache->length == 0;
    cache->append(k, v, Tensor());
    complete.position = cache->length - x.dim(1);
    if (!first) {
      see_lengths(*cache, complete);
      k = cache->k;
      v = cache->v;
    }
  }
  const AttentionResult result = attention(q, k, v, complete);  // y: [B,T,H,D]
  if (weights != nullptr) {
    *weights = spread(result.weights, config_.stride, x.dim(1));
  }
  return out_(result.y.reshape(x.shape()));  // [B,T,C]
}

CrossAttention::CrossAttention(const Scope& s, int64_t width, int64_t heads)
    : heads_(heads),
      q_(s / "q", width, width),
      kv_(s / "kv", width, 2 * width, true, Init::xavier(width, width)),
      out_(s / "out", width, width) {
  head_dim(width, heads);
}

Tensor CrossAttention::project(const Tensor& memory) const {
  const int64_t dim = memory.dim(2) / heads_;
  return kv_(memory).reshape({memory.dim(0), memory.dim(1), 2, heads_, dim});  // [B,Tk,2,H,D]
}

Tensor CrossAttention::operator()(const Tensor& x, const Tensor& kv,
                                  const AttentionOptions& options, Tensor* weights) const {
  const int64_t batch = x.dim(0);
  const int64_t width = x.dim(2);
  const Tensor q = q_(x).reshape({batch, x.dim(1), heads_, width / heads_});  // [B,Tq,H,D]
  const AttentionResult result = attention_kv(q, kv, options);                // y: [B,Tq,H,D]
  if (weights != nullptr) {
    *weights = result.weights;
  }
  return out_(result.y.reshape({batch, x.dim(1), width}));  // [B,Tq,C]
}

}  // namespace heed
