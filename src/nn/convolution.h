// The blocks of convolutional translators (Gehring et al. 2017): gated convolutions over sequences,
// and attention in every layer of the decoder.
#pragma once

#include "nn/layers.h"
#include "nn/scopes/attention_scope.h"

namespace heed {

// The first half of the columns, gated by the second: [..., 2C] -> [..., C].
Tensor gated_linear_unit(const Tensor& x);

// (a + b) / sqrt(2): the sum of two signals of one variance has that variance again.
Tensor blend(const Tensor& a, const Tensor& b);

// Zero-mean normal weights whose layer, behind dropout, gives its inputs' variance: gain 1, or 4 in
// front of a gated linear unit, which quarters it.
Init variance_init(int64_t inputs, float dropout, float gain = 1.0F);

struct ConvolutionConfig {
  int64_t width = 256;
  int64_t kernel = 3;
  float dropout = 0.0F;  // of the input
};

class GatedConvolution {
 public:
  GatedConvolution(const Scope& s, const ConvolutionConfig& config);

  // x [B,T,C] -> [B,T,C]; each output sees as many inputs before it as after it.
  Tensor centered(const Tensor& x) const;
  // Each output sees its input and those before it. With `past`, the last kernel - 1 inputs
  // [B,K-1,C] that came before x, which it moves on; without, x is preceded by zeros.
  Tensor causal(const Tensor& x, Tensor* past = nullptr) const;

 private:
  ConvolutionConfig config_;
  Parameter weight_;  // [2C,K,C]
  Parameter bias_;    // [2C]
};

// What the decoder's layers attend to, the same for all of them.
struct ConvolutionMemory {
  Tensor keys;     // [B,S,E]: the encoder's outputs
  Tensor values;   // [B,S,E]: outputs and embeddings of the source
  Tensor lengths;  // i32 [B] or undefined
};

// One step of multi-step attention: the layer's state and the embedding of the word just said make
// the query.
class StepAttention {
 public:
  StepAttention(const Scope& s, int64_t width, int64_t embedding, AttentionLabel label);

  // x [R,T,C], said [R,T,E], R a multiple of the memory's B: rows about one source stand side by
  // side. -> [R,T,C]; an AttentionScope gets weights f32 [B,1,R/B*T,S].
  Tensor operator()(const Tensor& x, const Tensor& said, const ConvolutionMemory& memory) const;

 private:
  AttentionLabel label_;
  Linear query_;
  Linear out_;
};

}  // namespace heed
