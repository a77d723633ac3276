// The Transformer's layer: self-attention, optionally attention to a memory, feed-forward, each
// with its residual connection and norm. Post-norm is the paper of 2017; pre-norm is GPT-2.
#pragma once

#include <optional>
#include <string_view>

#include "nn/attention.h"
#include "nn/block_attention.h"

namespace heed {

// By the name that configurations use: relu, gelu or gelu_tanh.
Activation activation_of(std::string_view name);

struct LayerConfig {
  int64_t width = 512;
  int64_t heads = 8;
  int64_t hidden = 2048;
  Activation activation = Activation::relu;
  float dropout = 0.0F;            // of each branch before it is added
  float attention_dropout = 0.0F;  // of the attention weights
  float hidden_dropout = 0.0F;     // inside the feed-forward network
  bool pre_norm = false;
  bool cross = false;             // has attention to a memory
  bool residual = true;           // false: branches replace the stream instead of adding to it
  int64_t relative_distance = 0;  // see SelfAttentionConfig
  bool relative_future = false;
  bool relative_per_head = false;
  int64_t label_distance = 0;
  int64_t window = 0;       // self-attention sees so many positions, its own included; 0: all
  int64_t compression = 0;  // above 1: a compressed memory (CompressedAttention) of this stride
  std::shared_ptr<const BlockPlan> plan = nullptr;  // self-attention over blocks (BlockAttention)
  float epsilon = 1e-5F;
  // First values of the matrices: normal with this deviation, and with another one where a branch
  // ends. 0: Glorot's.
  float deviation = 0.0F;
  float branch_deviation = 0.0F;
};

// What a layer looks at besides its input.
struct LayerContext {
  AttentionOptions self = {};   // causal, lengths, window ... of the self-attention
  Tensor memory = {};           // [B,Tk,2,H,D]: the encoder's output, as project_memory() gives it
  AttentionOptions cross = {};  // lengths of the memory ...
  KvCache* cache = nullptr;
  std::span<BlockCache* const> block_caches = {};  // instead, of attention over blocks
  Tensor* self_weights = nullptr;                  // where weights go that the options ask for
  Tensor* cross_weights = nullptr;
  // Rows of x for each row of the memory, side by side: hypotheses about one source.
  int64_t beam = 1;
};

class TransformerLayer {
 public:
  TransformerLayer(const Scope& s, const LayerConfig& config);

  // The stream's pending branch is added by the first norm. Post-norm leaves none pending.
  Residual operator()(Residual stream, LayerContext context) const;
  // Keys and values of the encoder's output for this layer: [B,Tk,C] -> [B,Tk,2,H,D].
  Tensor project_memory(const Tensor& memory) const { return cross_attention_->project(memory); }

 private:
  Residual pre_norm(Residual stream, const LayerContext& context) const;
  Residual post_norm(Residual stream, const LayerContext& context) const;
  Tensor self_attention(const Tensor& x, const LayerContext& context) const;
  Tensor cross_attention(const Tensor& x, const LayerContext& context) const;
  Tensor normed(const LayerNorm& norm, Residual& stream) const;

  LayerConfig config_;
  LayerNorm norm1_;
  std::optional<SelfAttention> self_attention_;
  std::optional<CompressedAttention> compressed_attention_;  // in place of it
  std::optional<BlockAttention> block_attention_;            // or this
  std::optional<LayerNorm> norm2_;
  std::optional<CrossAttention> cross_attention_;
  LayerNorm norm3_;
  FeedForward feed_forward_;
};

}  // namespace heed
