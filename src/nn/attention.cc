#include "nn/attention.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/parallel.h"
#include "ops/conv.h"
#include "ops/gather.h"
#include "ops/shape.h"

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

void KvCache::append(const Tensor& qkv) {
  check(qkv.rank() == 5 && qkv.dim(2) == 3, "[cache] qkv is {}, expected [B,T,3,H,D]", qkv);
  const size_t row = static_cast<size_t>(qkv.dim(3) * qkv.dim(4)) * size_of(qkv.dtype());
  const auto* from = static_cast<const std::byte*>(qkv.raw());
  append({qkv, from + row, from + 2 * row, 3 * row});
}

void KvCache::append(const Tensor& keys, const Tensor& values) {
  check(keys.rank() == 4 && keys.shape() == values.shape() && keys.dtype() == values.dtype(),
        "[cache] keys are {}, values {}, expected [B,T,H,D]", keys, values);
  check(!needs_grad(values), "[cache] a cache is for decoding: it carries no gradient");
  append({keys, static_cast<const std::byte*>(keys.raw()),
          static_cast<const std::byte*>(values.raw()),
          static_cast<size_t>(keys.dim(2) * keys.dim(3)) * size_of(keys.dtype())});
}

void KvCache::append(const Source& source) {
  const Tensor& like = source.shape;
  check(!needs_grad(like), "[cache] a cache is for decoding: it carries no gradient");
  check(!k.defined() || (k.dim(0) == like.dim(0) && k.dim(2) == like.dim(-2) &&
                         k.dim(3) == like.dim(-1) && k.dtype() == like.dtype()),
        "[cache] {} comes, the cache holds {}", like, k);
  const int64_t rows = like.dim(0);
  const int64_t steps = like.dim(1);
  check(lengths.empty() || steps == 1,
        "[cache] {} positions at once for rows of different lengths, expected 1", steps);
  check(coming.empty() || (length == 0 && std::ssize(coming) == rows),
        "[cache] {} lengths for {} rows after {} positions, expected one each at the beginning",
        coming.size(), rows, length);
  if (most > 0 && length + steps > 2 * most) {
    forget();
  }
  reserve({rows, like.dim(-2), like.dim(-1)}, steps, like.dtype());
  const size_t row = static_cast<size_t>(like.dim(-2) * like.dim(-1)) * size_of(like.dtype());
  for (int64_t i = 0; i < rows * steps; ++i) {
    const int64_t filled = lengths.empty() ? length : lengths[static_cast<size_t>(i)];
    const auto at = static_cast<size_t>((i / steps) * k.dim(1) + filled + i % steps) * row;
    const auto from = static_cast<size_t>(i) * source.step;
    std::memcpy(static_cast<std::byte*>(k.raw()) + at, source.keys + from, row);
    std::memcpy(static_cast<std::byte*>(v.raw()) + at, source.values + from, row);
  }
  length += steps;
  for (int64_t& own : lengths) {
    ++own;
  }
  if (!coming.empty()) {
    lengths = std::exchange(coming, {});
  }
}

// Room for what is to be appended.
void KvCache::reserve(const Shape& row, int64_t steps, DType dtype) {
  const int64_t needed = length + steps;
  if (k.defined() && needed <= k.dim(1)) {
    return;
  }
  constexpr int64_t kLeastCapacity = 64;
  const int64_t wanted = std::max(kLeastCapacity, 2 * length);
  const int64_t capacity = std::max(most > 0 ? std::min(wanted, 2 * most) : wanted, needed);
  const size_t filled = static_cast<size_t>(length * row[1] * row[2]) * size_of(dtype);
  for (Tensor* tensor : {&k, &v}) {
    const Tensor old = *tensor;
    *tensor = Tensor::empty({row[0], capacity, row[1], row[2]}, dtype);
    for (int64_t b = 0; length > 0 && b < row[0]; ++b) {
      std::memcpy(tensor->rows(b, b + 1).raw(), old.rows(b, b + 1).raw(), filled);
    }
  }
}

// Each row's last `most` positions move to the front; what comes finds room behind them, so that
// this is rare.
void KvCache::forget() {
  if (length <= most) {
    return;
  }
  const size_t each = static_cast<size_t>(k.dim(2) * k.dim(3)) * size_of(k.dtype());
  for (Tensor* tensor : {&k, &v}) {
    const Tensor old = *tensor;
    *tensor = Tensor::empty({old.dim(0), 2 * most, old.dim(2), old.dim(3)}, old.dtype());
    for (int64_t row = 0; row < old.dim(0); ++row) {
      const int64_t filled = lengths.empty() ? length : lengths[static_cast<size_t>(row)];
      const int64_t kept = std::min(filled, most);
      const auto* from = static_cast<const std::byte*>(old.rows(row, row + 1).raw());
      std::memcpy(tensor->rows(row, row + 1).raw(),
                  from + static_cast<size_t>(filled - kept) * each,
                  static_cast<size_t>(kept) * each);
    }
  }
  length = std::min(length, most);
  for (int64_t& own : lengths) {
    own = std::min(own, most);
  }
}

void KvCache::select(std::span<const int64_t> rows) {
  if (!k.defined()) {
    return;
  }
  const auto count = static_cast<int64_t>(rows.size());
  for (const int64_t row : rows) {
    check(0 <= row && row < k.dim(0), "[cache] row {} selected, expected 0 to {}", row,
          k.dim(0) - 1);
  }
  const size_t filled = static_cast<size_t>(length * k.dim(2) * k.dim(3)) * size_of(k.dtype());
  for (Tensor* tensor : {&k, &v}) {
    const Tensor old = *tensor;
    const Tensor moved = Tensor::empty({count, old.dim(1), old.dim(2), old.dim(3)}, old.dtype());
    const size_t stride =
        static_cast<size_t>(old.dim(1) * old.dim(2) * old.dim(3)) * size_of(old.dtype());
    parallel_for(count, 1, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        std::memcpy(static_cast<std::byte*>(moved.raw()) + static_cast<size_t>(row) * stride,
                    static_cast<const std::byte*>(old.raw()) +
                        static_cast<size_t>(rows[static_cast<size_t>(row)]) * stride,
                    filled);
      }
    });
    *tensor = moved;
  }
  if (last.defined()) {
    const std::vector<int32_t> kept(rows.begin(), rows.end());
    last = index_select(last, 0, Tensor::from_ints(kept, {count}));
  }
  if (!lengths.empty()) {
    const std::vector<int64_t> old = std::exchange(lengths, {});
    length = 0;
    for (const int64_t row : rows) {
      lengths.push_back(old[static_cast<size_t>(row)]);
      length = std::max(length, lengths.back());
    }
  }
}

void KvCache::join(const KvCache& more) {
  if (!k.defined() || !more.k.defined()) {
    *this = k.defined() ? *this : more;
    return;
  }
  check(k.dim(2) == more.k.dim(2) && k.dim(3) == more.k.dim(3) && k.dtype() == more.k.dtype(),
        "[cache] {} cannot be joined with {}", k, more.k);
  std::vector<int64_t> all;
  for (const KvCache* part : {static_cast<const KvCache*>(this), &more}) {
    for (int64_t row = 0; row < part->k.dim(0); ++row) {
      all.push_back(part->lengths.empty() ? part->length : part->lengths[static_cast<size_t>(row)]);
    }
  }
  const int64_t rows = k.dim(0);
  const int64_t capacity = std::max(k.dim(1), more.k.dim(1));
  const size_t each = static_cast<size_t>(k.dim(2) * k.dim(3)) * size_of(k.dtype());
  const auto joined = [&](const Tensor& first, const Tensor& second) {
    Tensor both = Tensor::empty({std::ssize(all), capacity, k.dim(2), k.dim(3)}, k.dtype());
    for (int64_t row = 0; row < std::ssize(all); ++row) {
      const Tensor from =
          row < rows ? first.rows(row, row + 1) : second.rows(row - rows, row - rows + 1);
      std::memcpy(both.rows(row, row + 1).raw(), from.raw(),
                  static_cast<size_t>(all[static_cast<size_t>(row)]) * each);
    }
    return both;
  };
  const Tensor keys = joined(k, more.k);
  v = joined(v, more.v);
  k = keys;
  last = last.defined() ? concat({last, more.last}, 0) : last;
  length = all.empty() ? 0 : *std::max_element(all.begin(), all.end());
  const bool equal =
      std::all_of(all.begin(), all.end(), [&](int64_t own) { return own == length; });
  lengths = equal ? std::vector<int64_t>() : all;
}

SelfAttention::SelfAttention(const Scope& s, const SelfAttentionConfig& config)
    : config_(config),
      qkv_(s / "qkv", config.width, 3 * config.width, true,
           Init::normal_or_xavier(config.deviation, config.width, config.width)),
      out_(s / "out", config.width, config.width, true,
           Init::normal_or_xavier(config.branch_deviation, config.width, config.width)) {
  const int64_t dim = head_dim(config.width, config.heads);
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
  AttentionResult result;                                                     // y: [B,T,H,D]
  if (cache == nullptr) {
    result = attention_qkv(qkv, complete);
  } else {
    check(options.causal, "[attention] a cache needs causal attention");
    const bool first = cache->length == 0;
    cache->append(qkv);
    complete.position = cache->length - steps;
    // A sequence that begins is a whole one: however short, it is computed as in a longer batch.
    if (first) {
      result = attention_qkv(qkv, complete);
    } else {
      see_lengths(*cache, complete);
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
    cache->append(k, v);
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
