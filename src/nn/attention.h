// Multi-head attention (Vaswani et al. 2017) with its projections: of a sequence to itself, and to
// a memory.
#pragma once

#include <memory>
#include <optional>

#include "nn/kv_cache.h"
#include "nn/layers.h"
#include "nn/mixer.h"
#include "ops/attention/attention.h"

namespace heed {

struct SelfAttentionConfig {
  int64_t width = 512;
  int64_t heads = 8;
  int64_t window = 0;    // a position sees so many, itself included; 0: all
  float dropout = 0.0F;  // of the weights
  // Relative positions (Shaw et al. 2018): distances up to this far are told apart; 0: none.
  int64_t relative_distance = 0;
  bool relative_future = false;    // also to the right: for attention that is not causal
  bool relative_per_head = false;  // embeddings of each head's own (Huang et al. 2018)
  // The same for differences of the positions' labels, such as pitches: told apart up to this far
  // either way; 0: there are no labels.
  int64_t label_distance = 0;
  float standard_deviation = 0.0F;  // of the initial values; see LayerConfig
  float branch_standard_deviation = 0.0F;
};

class SelfAttention : public Mixer {
 public:
  using Config = SelfAttentionConfig;
  SelfAttention(const Scope& s, const SelfAttentionConfig& config);

  // Takes one cache; then the weights are [B,H,T,keys in the cache].
  Mixed operator()(const Tensor& x, const MixerContext& context) const override;
  std::unique_ptr<MixerCache> make_cache(const CacheConfig& config) const override;

 private:
  AttentionOptions options(const MixerContext& context) const;
  Tensor shared_by_heads(const Tensor& parameter, bool per_head) const;

  SelfAttentionConfig config_;
  Part heads_;  // that this process has
  Linear qkv_;
  Linear out_;
  Parameter relative_;            // [R,D], shared by the heads, or [H,R,D]
  std::optional<Linear> labels_;  // [R,D], shared by the heads
};

struct CrossAttentionConfig {
  int64_t width = 512;
  int64_t heads = 8;
  float dropout = 0.0F;  // of the weights
};

class CrossAttention {
 public:
  CrossAttention(const Scope& s, const CrossAttentionConfig& config);

  // What queries look at.
  struct Memory {
    Tensor kv;            // [B,Tk,2,H,D], as project() gives it
    Tensor lengths = {};  // i32 [B] or undefined
  };
  // The memory's keys and values: [B,Tk,C] -> [B,Tk,2,H,D]. Constant while decoding.
  Tensor project(const Tensor& memory) const;
  struct Look {
    bool weights = false;   // are wanted: [B,H,Tq,Tk]
    bool stepwise = false;  // as in MixerContext
  };
  // x [B,Tq,C] -> y [B,Tq,C]
  Mixed operator()(const Tensor& x, const Memory& memory, const Look& look) const;

 private:
  CrossAttentionConfig config_;
  Part heads_;  // that this process has
  Linear q_;
  Linear kv_;
  Linear out_;
};

// What attention layers share ---------------------------------------------------------------------

// Columns of a head, or an Error.
int64_t head_dim(int64_t width, int64_t heads);
// The columns of heads that are side by side.
Part columns_of(const Part& heads, int64_t dim);
// The one cache of the context, or null; more are an Error.
MixerCache* only_cache(const MixerContext& context);
// The keys that queries see after `steps` more positions have come into the cache, with the options
// set to match.
struct CachedKeys {
  Tensor k, v;  // [R,keys,H,D]
};
CachedKeys look_back(const KvCache& cache, int64_t steps, AttentionOptions& options);

}  // namespace heed
