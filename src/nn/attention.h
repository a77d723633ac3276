// Multi-head attention (Vaswani et al. 2017) with its projections, and the cache for decoding.
#pragma once

#include "nn/layers.h"
#include "ops/attention.h"

namespace heed {

// Keys and values of the positions decoded so far.
struct KvCache {
  Tensor k, v;         // [B, capacity, H, D]
  int64_t length = 0;  // positions filled

  // Takes the keys and values out of qkv [B,T,3,H,D]; the capacity doubles when it is used up.
  void append(const Tensor& qkv);
};

class SelfAttention {
 public:
  SelfAttention(const Scope& s, int64_t width, int64_t heads);

  // x [B,T,C] -> [B,T,C]. With a cache x continues it.
  Tensor operator()(const Tensor& x, const AttentionOptions& options,
                    KvCache* cache = nullptr) const;

 private:
  int64_t heads_;
  Linear qkv_;
  Linear out_;
};

class CrossAttention {
 public:
  CrossAttention(const Scope& s, int64_t width, int64_t heads);

  // x [B,Tq,C] attends to memory [B,Tk,C].
  Tensor operator()(const Tensor& x, const Tensor& memory, const AttentionOptions& options) const;

 private:
  int64_t heads_;
  Linear q_;
  Linear kv_;
  Linear out_;
};

}  // namespace heed
