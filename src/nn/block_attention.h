// Local attention over blocks of a sequence (Parmar et al. 2018, Image Transformer): the queries of
// a block look at one memory, positions of earlier blocks, and at what came before them in their
// own block. Which positions make up a block's memory is a plan; with memories of bounded size the
// cost is linear in the length.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "nn/attention.h"

namespace heed {

// A plan for sequences of one length. Immutable, shared by the layers of a model.
class BlockPlan {
 public:
  // memories[n] are the positions before block n that its queries see, in ascending order.
  BlockPlan(int64_t block, std::vector<std::vector<int32_t>> memories);

  int64_t block() const { return block_; }                  // queries of a block
  int64_t blocks() const { return std::ssize(memories_); }  // of the sequence
  int64_t length() const { return block_ * blocks(); }      // of the sequence
  int64_t keys() const { return most_ + block_; }           // of a block, at most
  int64_t reach() const { return reach_; }                  // how far back memories go
  const std::vector<int32_t>& memory(int64_t n) const { return memories_[static_cast<size_t>(n)]; }

  // For all blocks of `batch` sequences at once, block after block, sequence after sequence.
  // Positions of keys, padded: i32 [blocks * keys].
  const std::vector<int32_t>& key_positions() const { return key_positions_; }
  Tensor first_queries(
      int64_t batch) const;             // i32 [batch * blocks]: where queries stand among keys
  Tensor lengths(int64_t batch) const;  // i32 [batch * blocks]: keys that are none of padding

 private:
  Tensor repeated(int64_t batch, int64_t plus) const;

  int64_t block_ = 0;
  int64_t most_ = 0;
  int64_t reach_ = 0;
  std::vector<std::vector<int32_t>> memories_;
  std::vector<int32_t> key_positions_;
};

// Blocks of one after the other, each with the `memory` positions before it (local 1D).
BlockPlan plan_line(int64_t length, int64_t block, int64_t memory);

// What decoding keeps of one layer for sequences that stand at the same position.
struct BlockCache : MixerCache {
  explicit BlockCache(int64_t count = 0) : rows(count) {}

  int64_t rows = 0;
  Tensor past = {};      // [R, ring, 2C]: keys and values; position p at p modulo ring
  KvCache block = {};    // the memory of the current block and what is decoded of it
  int64_t position = 0;  // that comes next, in every row

  void select(std::span<const int64_t> kept) override;
  // Rows that stand elsewhere are an Error.
  void join(const MixerCache& more) override;
  // As many in every row.
  void roll_back(std::span<const int64_t> dropped) override;
  size_t bytes() const override { return (past.defined() ? past.bytes() : 0) + block.bytes(); }
};

struct BlockAttentionConfig {
  int64_t width = 512;
  int64_t heads = 8;
  float dropout = 0.0F;  // of the weights
  std::shared_ptr<const BlockPlan> plan;
};

class BlockAttention : public Mixer {
 public:
  using Config = BlockAttentionConfig;
  BlockAttention(const Scope& s, BlockAttentionConfig config);

  // Always causal. x is [B,T,C], T as the plan's; with caches x is what comes next, [R,1,C] or more
  // of a block, and the caches may stand at different positions. The weights are [B,H,T,T], step by
  // step [R,H,1,T], zero where nobody looked.
  Mixed operator()(const Tensor& x, const MixerContext& context) const override;
  std::unique_ptr<MixerCache> make_cache(const CacheConfig& config) const override;

 private:
  AttentionResult whole(const Tensor& qkv, AttentionOptions options) const;
  Mixed next(const Tensor& qkv, AttentionOptions options, BlockCache& cache) const;
  void begin_block(BlockCache& cache, int64_t rows) const;
  Mixed next_of_each(const Tensor& qkv, const AttentionOptions& options,
                     const std::vector<MixerCache*>& caches) const;
  Tensor spread(const Tensor& weights, int64_t batch) const;
  Tensor spread_step(const Tensor& weights, int64_t position) const;

  BlockAttentionConfig config_;
  Linear qkv_;
  Linear out_;
};

}  // namespace heed
