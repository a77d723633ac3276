// Multi-head attention (Vaswani et al. 2017) with its projections, and the cache for decoding.
#pragma once

#include <span>
#include <vector>

#include "nn/layers.h"
#include "ops/attention.h"

namespace heed {

// Keys and values of the positions decoded so far.
struct KvCache {
  Tensor k, v;         // [R, capacity, H, D]
  int64_t length = 0;  // positions filled, in the longest row
  // Of each row where they differ; empty: all have `length`. Rows that differ grow by one.
  std::vector<int64_t> lengths;
  // How many of the positions that come next belong to each row; empty: all. Set before the first
  // ones, which may be padded.
  std::vector<int64_t> coming;
  // Rows may forget all but their last so many positions, for attention that looks no further;
  // 0: they keep all.
  int64_t most = 0;
  // What a layer needs of each row's last positions besides: [R, any].
  Tensor last;

  // Takes the keys and values out of qkv [R,T,3,H,D]; the capacity doubles when it is used up.
  void append(const Tensor& qkv);
  void append(const Tensor& keys, const Tensor& values);  // [R,T,H,D] each
  // Row r becomes what rows[r] was; there may be fewer rows than before, or more.
  void select(std::span<const int64_t> rows);
  // The other's rows come behind these.
  void join(const KvCache& more);

 private:
  // A position's keys and values, `from` elements apart from the next position's.
  struct Source {
    const Tensor& shape;  // [R,T,...,H,D]
    const std::byte* keys;
    const std::byte* values;
    size_t step;  // bytes from one position to the next
  };
  void append(const Source& source);
  void reserve(const Shape& row, int64_t steps, DType dtype);
  void forget();
};

struct SelfAttentionConfig {
  int64_t width = 512;
  int64_t heads = 8;
  // Relative positions (Shaw et al. 2018): distances up to this far are told apart; 0: none.
  int64_t relative_distance = 0;
  bool relative_future = false;    // also to the right: for attention that is not causal
  bool relative_per_head = false;  // embeddings of each head's own (Huang et al. 2018)
  float deviation = 0.0F;          // of the first values; see LayerConfig
  float branch_deviation = 0.0F;
};

class SelfAttention {
 public:
  SelfAttention(const Scope& s, const SelfAttentionConfig& config);

  // x [B,T,C] -> [B,T,C]. With a cache x continues it. The weights, if asked for by the options,
  // come out in *weights.
  Tensor operator()(const Tensor& x, const AttentionOptions& options, KvCache* cache = nullptr,
                    Tensor* weights = nullptr) const;

 private:
  SelfAttentionConfig config_;
  Linear qkv_;
  Linear out_;
  Parameter relative_;  // [R,D], shared by the heads, or [H,R,D]
};

// Memory-compressed attention (Liu et al. 2018): a causal convolution over keys and values makes
// each the sum of a few, and queries look at every stride-th of them only, those that were complete
// when the query came. The first queries see nothing and get zeros.
struct CompressedAttentionConfig {
  int64_t width = 512;
  int64_t heads = 8;
  int64_t stride = 3;      // also the width of the convolution
  float deviation = 0.0F;  // of the first values; see LayerConfig
  float branch_deviation = 0.0F;
};

class CompressedAttention {
 public:
  CompressedAttention(const Scope& s, const CompressedAttentionConfig& config);

  // As SelfAttention's, but for the weights: they are [B,H,T,T], where the weight of a key is
  // spread over the positions that it sums up.
  Tensor operator()(const Tensor& x, const AttentionOptions& options, KvCache* cache = nullptr,
                    Tensor* weights = nullptr) const;

 private:
  // kv [B,K-1+T,2C] or, without a past, [B,T,2C] -> [B,T,2C]
  Tensor compress(const Tensor& kv, bool with_past) const;
  Tensor continued(const Tensor& kv, KvCache& cache) const;

  CompressedAttentionConfig config_;
  Linear q_;
  Linear kv_;
  Parameter convolution_;  // [2C,K,D]: each head of keys and of values by itself
  Linear out_;
};

class CrossAttention {
 public:
  CrossAttention(const Scope& s, int64_t width, int64_t heads);

  // The memory's keys and values: [B,Tk,C] -> [B,Tk,2,H,D]. Constant while decoding.
  Tensor project(const Tensor& memory) const;
  // x [B,Tq,C] attends to what project() gave.
  Tensor operator()(const Tensor& x, const Tensor& kv, const AttentionOptions& options,
                    Tensor* weights = nullptr) const;

 private:
  int64_t heads_;
  Linear q_;
  Linear kv_;
  Linear out_;
};

}  // namespace heed
