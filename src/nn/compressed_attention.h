// Memory-compressed attention (Liu et al. 2018): a causal convolution over keys and values makes
// each the sum of a few, and queries look at every stride-th of them only, those that were complete
// when the query came. The first queries see nothing and get zeros.
#pragma once

#include <memory>

#include "nn/attention.h"
#include "nn/transition/last_positions.h"

namespace heed {

struct CompressedAttentionConfig {
  int64_t width = 512;
  int64_t heads = 8;
  int64_t stride = 3;               // also the width of the convolution
  float dropout = 0.0F;             // of the weights
  float standard_deviation = 0.0F;  // of the initial values; see LayerConfig
  float branch_standard_deviation = 0.0F;
};

// Keys and values behind the convolution, and what the convolution needs to go on.
struct CompressedCache : MixerCache {
  KvCache kv;
  LastPositions last;  // in front of the convolution

  void select(std::span<const int64_t> rows) override;
  void join(const MixerCache& more) override;
  void roll_back(std::span<const int64_t> dropped) override;
  size_t bytes() const override { return kv.bytes() + last.bytes(); }
};

class CompressedAttention : public Mixer {
 public:
  using Config = CompressedAttentionConfig;
  CompressedAttention(const Scope& s, const CompressedAttentionConfig& config);

  // Causal, without masks and windows; takes one cache. The weights are [B,H,T,keys]: the weight of
  // a key is spread over the positions that it sums up.
  Mixed operator()(const Tensor& x, const MixerContext& context) const override;
  // Every position counts: rows forget nothing.
  std::unique_ptr<MixerCache> make_cache(const CacheConfig& config) const override;

 private:
  // kv [B,K-1+T,2C] or, without a past, [B,T,2C] -> [B,T,2C]
  Tensor compress(const Tensor& kv, bool with_past) const;
  Tensor continued(const Tensor& kv, CompressedCache& cache) const;

  CompressedAttentionConfig config_;
  Linear q_;
  Linear kv_;
  Parameter convolution_;  // [2C,K,D]: each head of keys and of values by itself
  Linear out_;
};

}  // namespace heed
