// Multi-head attention (Vaswani et al. 2017) with its projections.
#pragma once

#include <optional>

#include "nn/kv_cache.h"
#include "nn/layers.h"
#include "ops/attention/attention.h"

namespace heed {

struct SelfAttentionConfig {
  int64_t width = 512;
  int64_t heads = 8;
  // Relative positions (Shaw et al. 2018): distances up to this far are told apart; 0: none.
  int64_t relative_distance = 0;
  bool relative_future = false;    // also to the right: for attention that is not causal
  bool relative_per_head = false;  // embeddings of each head's own (Huang et al. 2018)
  // The same for differences of the positions' labels, such as pitches: told apart up to this far
  // either way; 0: there are no labels.
  int64_t label_distance = 0;
  float deviation = 0.0F;  // of the first values; see LayerConfig
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
  Parameter relative_;            // [R,D], shared by the heads, or [H,R,D]
  std::optional<Linear> labels_;  // [R,D], shared by the heads
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
