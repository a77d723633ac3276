#include "nn/attention.h"

#include <algorithm>
#include <functional>

#include "base/error.h"
#include "ops/shape/shape.h"

namespace heed {
namespace {

// The narrower of two windows; 0: none.
int64_t narrower(int64_t a, int64_t b) {
  return a == 0 || b == 0 ? std::max(a, b) : std::min(a, b);
}

// i32 [R], or undefined if all are the same.
Tensor unless_equal(const std::vector<int64_t>& each) {
  if (std::adjacent_find(each.begin(), each.end(), std::not_equal_to<>()) == each.end()) {
    return {};
  }
  const std::vector<int32_t> narrow(each.begin(), each.end());
  return Tensor::from_ints(narrow, {std::ssize(narrow)});
}

}  // namespace

int64_t head_dim(int64_t width, int64_t heads) {
  check(heads > 0 && width % heads == 0, "[attention] width is {}, expected a multiple of {} heads",
        width, heads);
  return width / heads;
}

Part columns_of(const Part& heads, int64_t dim) {
  return {.begin = heads.begin * dim,
          .end = heads.end * dim,
          .total = heads.total * dim,
          .group = heads.group};
}

MixerCache* only_cache(const MixerContext& context) {
  check(context.caches.size() <= 1, "[attention] {} caches, expected one", context.caches.size());
  check(context.caches.empty() || context.causal, "[attention] a cache needs causal attention");
  return context.caches.empty() ? nullptr : context.caches.front();
}

CachedKeys look_back(const KvCache& cache, int64_t steps, AttentionOptions& options) {
  options.lengths = unless_equal(cache.lengths);
  options.position = *std::max_element(cache.newest.begin(), cache.newest.end());
  options.positions = unless_equal(cache.newest);
  options.labels = cache.labels;
  if (!options.weights) {
    return {cache.k, cache.v};
  }
  // Weights have a column for each key: the room behind the last one is left out.
  const auto filled = [&](const Tensor& part) {
    return part.defined() ? slice(part, 1, 0, options.position + steps) : part;
  };
  options.labels = filled(cache.labels);
  return {filled(cache.k), filled(cache.v)};
}

SelfAttention::SelfAttention(const Scope& s, const SelfAttentionConfig& config)
    : config_(config),
      heads_(s.part("heads", config.heads)),
      qkv_(s / "qkv", config.width, 3 * config.width, true,
           Init::normal_or_xavier(config.standard_deviation, config.width, config.width),
           LinearSplit::outputs(columns_of(heads_, head_dim(config.width, config.heads)), 3)),
      out_(s / "out", config.width, config.width, true,
           Init::normal_or_xavier(config.branch_standard_deviation, config.width, config.width),
           LinearSplit::inputs(columns_of(heads_, head_dim(config.width, config.heads)))) {
  const int64_t dim = head_dim(config.width, config.heads);
  if (config.label_distance > 0) {
    labels_.emplace(s / "labels", dim, 2 * config.label_distance + 1, false);
  }
  if (config.relative_distance > 0) {
    const int64_t distances = config.relative_distance * (config.relative_future ? 2 : 1) + 1;
    relative_ = config.relative_per_head
                    ? s.param("relative", {config.heads, distances, dim},
                              Init::xavier(dim, distances), {heads_})
                    : s.param("relative", {distances, dim}, Init::xavier(dim, distances));
  }
}

std::unique_ptr<MixerCache> SelfAttention::make_cache(const CacheConfig& config) const {
  auto cache = std::make_unique<KvCache>();
  cache->most = config.most;
  return cache;
}

AttentionOptions SelfAttention::options(const MixerContext& context) const {
  AttentionOptions options{.causal = context.causal,
                           .mask = context.mask,
                           .window_left = narrower(context.window, config_.window) - 1,
                           .labels = context.labels,
                           .dropout = config_.dropout,
                           .part = static_cast<uint64_t>(heads_.index()),
                           .weights = context.weights,
                           .stepwise = context.stepwise};
  if (config_.relative_distance > 0) {
    options.relative = shared_by_heads(relative_, config_.relative_per_head);
    options.relative_center = config_.relative_distance;
  }
  return options;
}

Mixed SelfAttention::operator()(const Tensor& x, const MixerContext& context) const {
  const int64_t batch = x.dim(0);
  const int64_t steps = x.dim(1);
  const int64_t dim = config_.width / config_.heads;
  MixerCache* cache = only_cache(context);
  AttentionOptions options = this->options(context);
  const int64_t heads = heads_.size();                                // of this process
  const Tensor qkv = qkv_(x).reshape({batch, steps, 3, heads, dim});  // [B,T,3,H,D]
  if (labels_) {
    check(options.labels.defined(),
          "[attention] no labels, but differences of them are told apart");
    const Tensor q = split(qkv, 2, {1, 2})[0].reshape({batch, steps, heads, dim});      // [B,T,H,D]
    options.labelled = linear(q, shared_by_heads(labels_->weight(), false), Tensor());  // [B,T,H,R]
  }
  AttentionResult result;  // y: [B,T,H,D]
  if (cache == nullptr) {
    options.lengths = context.lengths;
    result = attention_qkv(qkv, options);
  } else {
    auto& past = cache_as<KvCache>(*cache);
    const bool first = past.length == 0;
    past.expect(context.lengths);
    past.append(qkv, context.labels);
    if (first) {
      // A sequence that begins is a whole one: however short, it is computed as in a longer batch.
      options.position = 0;
      result = attention_qkv(qkv, options);
    } else {
      const CachedKeys keys = look_back(past, steps, options);
      result = attention_cached(qkv, keys.k, keys.v, options);
    }
  }
  return {out_(result.y.reshape({batch, steps, heads * dim})), result.weights};  // [B,T,C]
}

// A parameter that all heads use, wherever they are: its gradient is the sum over the processes.
Tensor SelfAttention::shared_by_heads(const Tensor& parameter, bool per_head) const {
  return heads_.whole() || per_head ? parameter : enter(parameter, *heads_.group);
}

CrossAttention::CrossAttention(const Scope& s, const CrossAttentionConfig& config)
    : config_(config),
      heads_(s.part("heads", config.heads)),
      q_(s / "q", config.width, config.width, true, Init::xavier(config.width, config.width),
         LinearSplit::outputs(columns_of(heads_, head_dim(config.width, config.heads)))),
      kv_(s / "kv", config.width, 2 * config.width, true, Init::xavier(config.width, config.width),
          LinearSplit::outputs(columns_of(heads_, head_dim(config.width, config.heads)), 2)),
      out_(s / "out", config.width, config.width, true, Init::xavier(config.width, config.width),
           LinearSplit::inputs(columns_of(heads_, head_dim(config.width, config.heads)))) {}

Tensor CrossAttention::project(const Tensor& memory) const {
  const int64_t dim = config_.width / config_.heads;
  return kv_(memory).reshape(
      {memory.dim(0), memory.dim(1), 2, heads_.size(), dim});  // [B,Tk,2,H,D]
}

Mixed CrossAttention::operator()(const Tensor& x, const Memory& memory, const Look& look) const {
  const int64_t dim = config_.width / config_.heads;
  const int64_t heads = heads_.size();                               // of this process
  const Tensor q = q_(x).reshape({x.dim(0), x.dim(1), heads, dim});  // [B,Tq,H,D]
  const AttentionResult result = attention_kv(q, memory.kv,
                                              {.lengths = memory.lengths,
                                               .dropout = config_.dropout,
                                               .part = static_cast<uint64_t>(heads_.index()),
                                               .weights = look.weights,
                                               .stepwise = look.stepwise});            // [B,Tq,H,D]
  return {out_(result.y.reshape({x.dim(0), x.dim(1), heads * dim})), result.weights};  // [B,Tq,C]
}

}  // namespace heed
