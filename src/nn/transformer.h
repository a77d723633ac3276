// The Transformer's layer: a mixer such as self-attention, optionally attention to a memory,
// feed-forward or another transition, each with its residual connection and norm. Post-norm is the
// paper of 2017; pre-norm is GPT-2.
#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "nn/attention.h"
#include "nn/mixer.h"

namespace heed {

// By the name that configurations use: relu, gelu or gelu_tanh.
Activation activation_of(std::string_view name);

struct LayerConfig {
  int64_t width = 512;
  MixerFactory mixer;                              // how positions exchange information
  std::optional<CrossAttentionConfig> cross = {};  // has attention to a memory
  // What follows attention in the place of the feed-forward network, if it looks at neighbours.
  MixerFactory transition = {};
  int64_t hidden = 2048;
  Activation activation = Activation::relu;
  float dropout = 0.0F;         // of each branch before it is added
  float hidden_dropout = 0.0F;  // inside the feed-forward network
  bool pre_norm = false;
  bool residual = true;  // false: branches replace the stream instead of adding to it
  float epsilon = 1e-5F;
  // Initial values of the feed-forward network's matrices: normal with this standard deviation, and
  // with another one where the branch ends. 0: Glorot's.
  float standard_deviation = 0.0F;
  float branch_standard_deviation = 0.0F;
};

// What a layer looks at besides its input.
struct LayerContext {
  MixerContext self = {};
  CrossAttention::Memory memory = {};  // the encoder's output, as project_memory() gives it
  // Rows of x for each row of the memory, side by side: hypotheses about one source.
  int64_t beam = 1;
  // Which time this is, from 0 on, if the layer is applied again and again: an AttentionScope sees
  // each as a layer of its own.
  int64_t application = 0;
};

class TransformerLayer {
 public:
  // An AttentionScope sees the mixer under this label, and attention to a memory as "cross".
  TransformerLayer(const Scope& s, const LayerConfig& config, AttentionLabel label = {});

  // The stream's pending branch is added by the first norm. Post-norm leaves none pending. In a
  // CheckpointScope (autograd/checkpoint.h) only what is given here is kept for the way back.
  Residual operator()(Residual stream, const LayerContext& context) const;
  // What later positions see of these, x [B,T,C], goes into the caches; nothing else is wanted.
  void remember(const Tensor& x, const LayerContext& context) const;
  // Keys and values of the encoder's output for this layer: [B,Tk,C] -> [B,Tk,2,H,D].
  Tensor project_memory(const Tensor& memory) const { return cross_attention_->project(memory); }
  // What decoding keeps of this layer.
  std::unique_ptr<MixerCache> make_cache(const CacheConfig& config) const;

 private:
  Residual apply(Residual stream, const LayerContext& context) const;
  Residual recomputed(const Residual& stream, const LayerContext& context) const;
  Residual pre_norm(Residual stream, const LayerContext& context) const;
  Residual post_norm(Residual stream, const LayerContext& context) const;
  Tensor mix(const Tensor& x, const LayerContext& context) const;
  Tensor transition(const Tensor& x, const LayerContext& context) const;
  AttentionLabel label(const std::string& kind, const LayerContext& context) const {
    return {.kind = kind, .layer = label_.layer + context.application};
  }
  Tensor cross_attention(const Tensor& x, const LayerContext& context) const;
  Tensor normed(const LayerNorm& norm, Residual& stream) const;

  AttentionLabel label_;
  float dropout_;
  bool pre_norm_;
  bool residual_;
  LayerNorm norm1_;
  std::unique_ptr<Mixer> mixer_;
  std::optional<LayerNorm> norm2_;
  std::optional<CrossAttention> cross_attention_;
  LayerNorm norm3_;
  std::optional<FeedForward> feed_forward_;  // or
  std::unique_ptr<Mixer> transition_;
};

}  // namespace heed
