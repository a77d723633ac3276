#include "nn/segment/segment_attention.h"

#include <algorithm>

#include "base/error.h"
#include "nn/attention.h"
#include "nn/select_rows.h"
#include "ops/pointwise.h"
#include "ops/reduce.h"
#include "ops/shape/cast.h"
#include "ops/shape/shape.h"

namespace heed {
namespace {

AttentionOptions segment_options(const MixerContext& context, float dropout) {
  check(context.causal, "[segment attention] it is for causal attention");
  check(!context.mask.defined() && !context.labels.defined(),
        "[segment attention] it has no masks and no labels");
  return {.causal = true,
          .window_left = context.window - 1,
          .dropout = dropout,
          .weights = context.weights,
          .stepwise = context.stepwise};
}

}  // namespace

void SegmentCache::join(const MixerCache& more) {
  const auto& others = cache_as<SegmentCache>(more);
  past.join(others.past);
  const auto rows = [](const RelativePositions& own) {
    return own.table.defined() ? own.table.dim(1) : 0;
  };
  positions = rows(others.positions) > rows(positions) ? others.positions : positions;
}

size_t SegmentCache::bytes() const {
  return past.bytes() +
         (positions.table.defined() ? positions.table.bytes() + positions.terms.bytes() : 0);
}

void SegmentMemory::select(std::span<const int64_t> rows) {
  states = states.defined() ? select_rows(states, rows) : states;
}

void SegmentMemory::join(const MixerCache& more) {
  const auto& others = cache_as<SegmentMemory>(more);
  check(states.defined() == others.states.defined() &&
            (!states.defined() || states.dim(1) == others.states.dim(1)),
        "[segment attention] memories of {} and {} cannot be joined", states, others.states);
  states = states.defined() ? concat({states, others.states}, 0) : states;
}

void SegmentMemory::roll_back(std::span<const int64_t> /*dropped*/) {
  fail("[segment attention] a memory of segments takes nothing back");
}

Tensor SegmentMemory::extend(const Tensor& x) {
  check(!states.defined() || (states.dim(0) == x.dim(0) && states.dim(2) == x.dim(2)),
        "[segment attention] a memory {} for a segment {}", states.shape(), x.shape());
  Tensor both = states.defined() ? concat({states, x}, 1) : x;  // [B,M+T,C]
  const int64_t length = both.dim(1);
  const int64_t kept = std::min(most, length);
  states = kept == 0 ? Tensor() : slice(both.detached(), 1, length - kept, length);  // [B,M,C]
  return both;
}

SegmentAttention::SegmentAttention(const Scope& s, const SegmentAttentionConfig& config)
    : config_(config),
      content_bias_(s.param("content_bias", {config.width}, Init::constant(0.0F))),
      position_bias_(s.param("position_bias", {config.width}, Init::constant(0.0F))),
      query_(
          s.matrix("q.weight", config.width, config.width,
                   Init::normal_or_xavier(config.standard_deviation, config.width, config.width))),
      kv_(s / "kv", config.width, 2 * config.width, false,
          Init::normal_or_xavier(config.standard_deviation, config.width, config.width)),
      relative_(s / "relative", config.width, config.width, false,
                Init::normal_or_xavier(config.standard_deviation, config.width, config.width)),
      out_(s / "out", config.width, config.width, false,
           Init::normal_or_xavier(config.branch_standard_deviation, config.width, config.width)) {
  head_dim(config.width, config.heads);
  check(config.distances != nullptr, "[segment attention] there are no distances");
}

std::unique_ptr<MixerCache> SegmentAttention::make_cache(const CacheConfig& config) const {
  auto cache = std::make_unique<SegmentCache>();
  cache->past.most = config.most;
  return cache;
}

// r = W_R R, and (v - u) . r of each head and distance.
RelativePositions SegmentAttention::positions(int64_t distances, DType dtype) const {
  const int64_t heads = config_.heads;
  const int64_t dim = config_.width / heads;
  const int64_t rows =
      config_.most_distance > 0 ? std::min(distances, config_.most_distance + 1) : distances;
  const Tensor r = relative_(cast(config_.distances->last(rows), dtype));  // [R,C]
  const Tensor difference = sub(position_bias_, content_bias_);            // [C]
  const Tensor products = mul(cast(r, DType::f32), difference);            // [R,C]
  const Tensor terms = sum(products.reshape({rows, heads, dim}), 2);       // [R,H]
  return {transpose(r.reshape({rows, heads, dim}), 0, 1), transpose(terms, 0, 1)};
}

const RelativePositions& SegmentAttention::cached_positions(int64_t distances, DType dtype,
                                                            SegmentCache& cache) const {
  constexpr int64_t kLeast = 64;
  RelativePositions& own = cache.positions;
  if (!own.table.defined() || own.table.dim(1) < distances) {
    int64_t room = std::max(kLeast, 2 * distances);  // so that this is rare
    room = cache.past.most > 0 ? std::max(distances, std::min(room, cache.past.most)) : room;
    const bool clipped = config_.most_distance > 0 && own.table.defined() &&
                         own.table.dim(1) == config_.most_distance + 1;
    own = clipped ? own : positions(room, dtype);
  }
  return own;
}

AttentionResult SegmentAttention::attend(const Tensor& q, const Tensor& kv,
                                         AttentionOptions options) const {
  const RelativePositions relative = positions(kv.dim(1), q.dtype());  // [H,R,D], [H,R]
  options.relative = relative.table;
  options.relative_bias = relative.terms;
  return attention_kv(q, kv, options);  // [B,T,H,D]
}

AttentionResult SegmentAttention::attend_cached(const Tensor& q, const Tensor& kv,
                                                const MixerContext& context,
                                                SegmentCache& cache) const {
  const int64_t steps = q.dim(1);
  AttentionOptions options = segment_options(context, config_.dropout);
  const std::vector<Tensor> parts = split(kv, 2, {1, 1});  // [B,T,1,H,D]
  KvCache& past = cache.past;
  const bool first = past.length == 0;
  past.expect(context.lengths);
  past.append(parts[0].reshape(q.shape()), parts[1].reshape(q.shape()), {});
  // Nobody looks further back than the window.
  const int64_t reach = past.newest.empty()
                            ? steps
                            : *std::max_element(past.newest.begin(), past.newest.end()) + steps;
  const int64_t distances = context.window > 0 ? std::min(reach, context.window) : reach;
  const RelativePositions& relative = cached_positions(distances, q.dtype(), cache);
  options.relative = relative.table;       // [H,R,D]
  options.relative_bias = relative.terms;  // [H,R]
  if (first) {
    options.position = 0;
    options.whole_sequence = true;
    return attention_kv(q, kv, options);  // [B,T,H,D]
  }
  const CachedKeys keys = look_back(past, steps, options);
  return attention(q, keys.k, keys.v, options);  // [B,T,H,D]
}

Mixed SegmentAttention::operator()(const Tensor& x, const MixerContext& context) const {
  const int64_t heads = config_.heads;
  const int64_t dim = config_.width / heads;
  const Shape one{x.dim(0), x.dim(1), heads, dim};
  MixerCache* cache = only_cache(context);
  auto* memory = dynamic_cast<SegmentMemory*>(cache);
  const Tensor q = linear(x, query_, content_bias_).reshape(one);               // q + u [B,T,H,D]
  const Tensor seen = memory == nullptr ? x : memory->extend(x);                // [B,M+T,C]
  const Tensor kv = kv_(seen).reshape({x.dim(0), seen.dim(1), 2, heads, dim});  // [B,M+T,2,H,D]
  AttentionResult result;                                                       // y: [B,T,H,D]
  if (cache != nullptr && memory == nullptr) {
    result = attend_cached(q, kv, context, cache_as<SegmentCache>(*cache));
  } else {
    AttentionOptions options = segment_options(context, config_.dropout);
    options.lengths = memory == nullptr ? context.lengths : Tensor();
    options.whole_sequence = memory == nullptr;
    result = attend(q, kv, options);
  }
  return {out_(result.y.reshape(x.shape())), result.weights};  // [B,T,C]
}

}  // namespace heed
