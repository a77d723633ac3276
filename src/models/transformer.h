// The encoder-decoder Transformer (Vaswani et al. 2017).
#pragma once

#include <vector>

#include "nn/transformer.h"

namespace heed {

struct TransformerConfig {
  int64_t vocabulary = 8000;  // joint, one embedding for source, target and output
  int64_t width = 512;
  int64_t heads = 8;
  int64_t hidden = 2048;
  int64_t encoder_layers = 6;
  int64_t decoder_layers = 6;
  float dropout = 0.1F;
  bool pre_norm = false;
  bool positions = false;  // add sinusoidal positions, and scale embeddings by sqrt(width)
};

class Transformer {
 public:
  Transformer(const Scope& s, const TransformerConfig& config);

  // source i32 [B,S] -> memory [B,S,C]
  Tensor encode(const Tensor& source, const Tensor& lengths = {}) const;
  // target i32 [B,T], memory [B,S,C] -> logits [B,T,V]
  Tensor decode(const Tensor& target, const Tensor& memory, const Tensor& lengths = {}) const;

 private:
  Tensor embed(const Tensor& ids) const;  // [B,T] -> [B,T,C]

  Embedding embedding_;
  bool positions_;
  std::vector<TransformerLayer> encoder_;
  LayerNorm encoder_norm_;
  std::vector<TransformerLayer> decoder_;
  LayerNorm decoder_norm_;
  float dropout_;
};

}  // namespace heed
