// A transition that looks at neighbours: the feed-forward network with a separable convolution
// (Chollet 2017) in the place of each linear layer, as the Universal Transformer may have it
// (Dehghani et al. 2018). A separable convolution first sums up, column by column, the positions
// around each one, and then mixes the columns.
//
// It is a mixer, since it looks beyond a single position. In causal sequences a position sees
// itself and those before it, in others as many to its left as to its right.
#pragma once

#include <memory>

#include "nn/layers.h"
#include "nn/mixer.h"
#include "nn/transition/last_positions.h"

namespace heed {

struct SeparableConvolutionConfig {
  int64_t width = 512;
  int64_t hidden = 2048;
  int64_t kernel = 3;  // positions that either convolution sees
  Activation activation = Activation::relu;
  float dropout = 0.0F;  // of the hidden layer
};

// What both convolutions need to go on.
struct SeparableCache : MixerCache {
  LastPositions inputs;
  LastPositions hidden;

  void select(std::span<const int64_t> rows) override;
  void join(const MixerCache& more) override;
  void roll_back(std::span<const int64_t> dropped) override;
  size_t bytes() const override { return inputs.bytes() + hidden.bytes(); }
};

class SeparableConvolution : public Mixer {
 public:
  using Config = SeparableConvolutionConfig;
  SeparableConvolution(const Scope& s, const SeparableConvolutionConfig& config);

  // Without masks, windows and weights; takes one cache, if causal.
  Mixed operator()(const Tensor& x, const MixerContext& context) const override;
  std::unique_ptr<MixerCache> make_cache(const CacheConfig& config) const override;

 private:
  // x [B,T,C] with the positions around it: [B,K-1+T,C]
  Tensor surrounded(const Tensor& x, const MixerContext& context, LastPositions* past) const;
  // Column by column, the sum of K positions by these weights: [B,K-1+T,C] -> [B,T,C]
  Tensor summed(const Tensor& window, const Tensor& weights) const;

  SeparableConvolutionConfig config_;
  Parameter depthwise1_;  // [K,C]
  Linear pointwise1_;
  Parameter depthwise2_;  // [K,F]
  Linear pointwise2_;
};

}  // namespace heed
