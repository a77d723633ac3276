// GPT-2 (Radford et al. 2019): a stack of causal pre-norm layers over learned positions, with the
// output projection tied to the token embedding.
#pragma once

#include <vector>

#include "nn/transformer.h"

namespace heed {

struct GptConfig {
  int64_t vocabulary = 50257;
  int64_t context = 1024;
  int64_t width = 768;
  int64_t heads = 12;
  int64_t layers = 12;
  float dropout = 0.0F;
};

// Caches of all layers, for decoding.
using GptState = std::vector<KvCache>;

class Gpt {
 public:
  Gpt(const Scope& s, const GptConfig& config);

  // tokens i32 [B,T] -> logits [B,T,V]
  Tensor logits(const Tensor& tokens) const;
  // Mean cross-entropy of targets i32 [B,T].
  Tensor loss(const Tensor& tokens, const Tensor& targets) const;
  // Continues the state; logits of the last position only, [B,V].
  Tensor step(const Tensor& tokens, GptState& state) const;

 private:
  Tensor hidden(const Tensor& tokens, GptState* state) const;  // [B,T,C]

  GptConfig config_;
  Embedding tokens_;
  Embedding positions_;
  std::vector<TransformerLayer> layers_;
  LayerNorm norm_;
};

}  // namespace heed
