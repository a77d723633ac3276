// Attention of the Transformer-XL (Dai et al. 2019): relative positions that are the same whatever
// came before, and a memory of the segments that came before.
//
//   logits(i, j) = (q_i + u) . k_j + (q_i + v) . W_R R_{i-j}        scaled by 1 / sqrt(D)
//
// R are sinusoids of distances, u and v the content bias and the position bias, a vector for each
// head. With q' = q + u the second term is q' . r + (v - u) . r, so that the op needs no second
// kind of query: r = W_R R is its table of relative positions, and (v - u) . r a term of each
// distance.
//
// Parameters belong to the store. Forward passes are const; each text has a cache of its own.
#pragma once

#include <memory>

#include "nn/kv_cache.h"
#include "nn/layers.h"
#include "nn/mixer.h"
#include "nn/segment/distances.h"
#include "ops/attention/attention.h"

namespace heed {

struct SegmentAttentionConfig {
  int64_t width = 512;
  int64_t heads = 8;
  std::shared_ptr<const Distances> distances;  // of the same width
  int64_t most_distance = 0;        // distances beyond it look like it; 0: all are told apart
  float dropout = 0.0F;             // of the weights
  float standard_deviation = 0.0F;  // of the initial values; see LayerConfig
  float branch_standard_deviation = 0.0F;
};

// The positions of a head's relative attention.
struct RelativePositions {
  Tensor table;  // r [H,R,D], from the largest distance to 0
  Tensor terms;  // (v - u) . r, f32 [H,R]
};

// What decoding keeps: keys and values, and the projected positions, which depend on weights alone.
struct SegmentCache : MixerCache {
  KvCache past;
  RelativePositions positions;  // of as many distances as were needed so far

  void select(std::span<const int64_t> rows) override { past.select(rows); }
  void join(const MixerCache& more) override;
  void roll_back(std::span<const int64_t> dropped) override { past.roll_back(dropped); }
  size_t bytes() const override;
};

// What training keeps of the segments before: what went into the layer, without gradient. Keys and
// values are made of it anew, so that their weights learn from it.
struct SegmentMemory : MixerCache {
  Tensor states;     // [B,M,C]; undefined: nothing yet
  int64_t most = 0;  // positions it keeps at most

  void select(std::span<const int64_t> rows) override;
  void join(const MixerCache& more) override;
  void roll_back(std::span<const int64_t> dropped) override;
  size_t bytes() const override { return states.defined() ? states.bytes() : 0; }

  // The memory and what comes behind it, x [B,T,C]: [B,M+T,C]. The memory moves on.
  Tensor extend(const Tensor& x);
};

class SegmentAttention : public Mixer {
 public:
  using Config = SegmentAttentionConfig;
  SegmentAttention(const Scope& s, const SegmentAttentionConfig& config);

  // Takes one cache: a SegmentCache, or a SegmentMemory.
  Mixed operator()(const Tensor& x, const MixerContext& context) const override;
  std::unique_ptr<MixerCache> make_cache(const CacheConfig& config) const override;

 private:
  RelativePositions positions(int64_t distances, DType dtype) const;
  // The same, from the cache if it has as many.
  const RelativePositions& cached_positions(int64_t distances, DType dtype,
                                            SegmentCache& cache) const;
  AttentionResult attend(const Tensor& q, const Tensor& kv, AttentionOptions options) const;
  AttentionResult attend_cached(const Tensor& q, const Tensor& kv, const MixerContext& context,
                                SegmentCache& cache) const;

  SegmentAttentionConfig config_;
  Parameter content_bias_;   // u [H * D]
  Parameter position_bias_;  // v [H * D]
  Parameter query_;          // W_q [H * D, C]
  Linear kv_;
  Linear relative_;  // W_R
  Linear out_;
};

}  // namespace heed
