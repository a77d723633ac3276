#include "nn/attention.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"

namespace heed {
namespace {

int64_t head_dim(int64_t width, int64_t heads) {
  check(heads > 0 && width % heads == 0, "[attention] width is {}, expected a multiple of {} heads",
        width, heads);
  return width / heads;
}

}  // namespace

void KvCache::append(const Tensor& qkv) {
  check(qkv.rank() == 5 && qkv.dim(2) == 3, "[cache] qkv is {}, expected [B,T,3,H,D]", qkv);
  check(!needs_grad(qkv), "[cache] a cache is for decoding: it carries no gradient");
  check(!k.defined() || (k.dim(0) == qkv.dim(0) && k.dim(2) == qkv.dim(3) &&
                         k.dim(3) == qkv.dim(4) && k.dtype() == qkv.dtype()),
        "[cache] qkv is {}, the cache holds {}", qkv, k);
  const int64_t batch = qkv.dim(0);
  const int64_t steps = qkv.dim(1);
  const size_t row = static_cast<size_t>(qkv.dim(3) * qkv.dim(4)) * size_of(qkv.dtype());
  if (!k.defined() || length + steps > k.dim(1)) {
    constexpr int64_t kLeastCapacity = 64;
    const int64_t capacity = std::max({kLeastCapacity, 2 * length, length + steps});
    const auto grown = [&](const Tensor& old) {
      Tensor larger =
          Tensor::empty({batch, capacity, qkv.dim(3), qkv.dim(4)}, qkv.dtype());  // [B,cap,H,D]
      for (int64_t b = 0; length > 0 && b < batch; ++b) {
        std::memcpy(larger.rows(b, b + 1).raw(), old.rows(b, b + 1).raw(),
                    static_cast<size_t>(length) * row);
      }
      return larger;
    };
    const Tensor larger_k = grown(k);
    v = grown(v);
    k = larger_k;
  }
  const auto* from = static_cast<const std::byte*>(qkv.raw());
  for (int64_t i = 0; i < batch * steps; ++i) {
    const auto at = static_cast<size_t>((i / steps) * k.dim(1) + length + i % steps) * row;
    const auto* source = from + static_cast<size_t>(3 * i) * row;
    std::memcpy(static_cast<std::byte*>(k.raw()) + at, source + row, row);
    std::memcpy(static_cast<std::byte*>(v.raw()) + at, source + 2 * row, row);
  }
  length += steps;
}

SelfAttention::SelfAttention(const Scope& s, int64_t width, int64_t heads)
    : heads_(heads),
      qkv_(s / "qkv", width, 3 * width, true, Init::xavier(width, width)),
      out_(s / "out", width, width) {
  head_dim(width, heads);
}

Tensor SelfAttention::operator()(const Tensor& x, const AttentionOptions& options,
                                 KvCache* cache) const {
  const int64_t batch = x.dim(0);
  const int64_t steps = x.dim(1);
  const int64_t width = x.dim(2);
  const int64_t dim = width / heads_;
  const Tensor qkv = qkv_(x).reshape({batch, steps, 3, heads_, dim});  // [B,T,3,H,D]
  Tensor y;
  if (cache == nullptr) {
    y = attention_qkv(qkv, options).y;  // [B,T,H,D]
  } else {
    check(options.causal, "[attention] a cache needs causal attention");
    AttentionOptions cached = options;
    cached.position = cache->length;
    cache->append(qkv);
    y = attention_cached(qkv, cache->k, cache->v, cached).y;  // [B,T,H,D]
  }
  return out_(y.reshape({batch, steps, width}));  // [B,T,C]
}

CrossAttention::CrossAttention(const Scope& s, int64_t width, int64_t heads)
    : heads_(heads),
      q_(s / "q", width, width),
      kv_(s / "kv", width, 2 * width, true, Init::xavier(width, width)),
      out_(s / "out", width, width) {
  head_dim(width, heads);
}

Tensor CrossAttention::operator()(const Tensor& x, const Tensor& memory,
                                  const AttentionOptions& options) const {
  const int64_t batch = x.dim(0);
  const int64_t width = x.dim(2);
  const int64_t dim = width / heads_;
  const Tensor q = q_(x).reshape({batch, x.dim(1), heads_, dim});                 // [B,Tq,H,D]
  const Tensor kv = kv_(memory).reshape({batch, memory.dim(1), 2, heads_, dim});  // [B,Tk,2,H,D]
  const Tensor y = attention_kv(q, kv, options).y;                                // [B,Tq,H,D]
  return out_(y.reshape({batch, x.dim(1), width}));                               // [B,Tq,C]
}

}  // namespace heed
