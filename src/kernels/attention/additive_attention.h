// Additive attention (Bahdanau et al. 2015), everything but the product with the values:
//
//   score[i, j] = v . tanh(q[i] + k[j]),  weights[i] = softmax over j < length of score[i]
//
// The sums q + k are never stored. tanh is made of e^2q e^2k, so that an exponential is needed for
// each element of q and k only, and not for each of the queries x keys x width sums; elements too
// large for that take the long way. A pair's score depends on its own q and k alone.
#pragma once

#include <cstdint>

#include "kernels/copy.h"

namespace heed::kernels {

struct AdditiveShape {
  int64_t batch;
  int64_t queries;
  int64_t keys;
  int64_t width;
  DType dtype;                       // of q, k and the weights
  const int32_t* lengths = nullptr;  // [batch]: how many keys count; null: all

  int64_t length(int64_t row) const { return lengths == nullptr ? keys : lengths[row]; }
};

struct AdditiveWeights {
  AdditiveShape shape;
  const void* q;   // [batch, queries, width]
  const void* k;   // [batch, keys, width]
  const float* v;  // [width]
  void* weights;   // [batch, queries, keys]; zeros past the length
};
void additive_weights(const AdditiveWeights& args);

// With w the weights, dw their gradient and t = tanh(q[i] + k[j]):
//   ds[i, j] = w (dw - sum over j of w dw)
//   dq[i] = sum over j of ds v (1 - t^2),  dk[j] = sum over i of the same
//   dv = sum over i, j of ds t
struct AdditiveWeightsBackward {
  AdditiveShape shape;
  const void* q;
  const void* k;
  const float* v;
  const void* weights;
  float* d_weights;  // [batch, queries, keys] f32: dw in, ds out
  Out dq;            // null data: not wanted; the same for the others
  bool accumulate_q = false;
  Out dk;
  bool accumulate_k = false;
  Out dv;
  bool accumulate_v = false;
};
void additive_weights_backward(const AdditiveWeightsBackward& args);

// What the parts of additive_weights hand to each other; not for callers.
struct AdditiveScores {
  const AdditiveWeights* weights;
  float* scores;                      // [batch, queries, keys]
  const float* eq = nullptr;          // e^2q [batch, queries, width], or null: not worth it
  const float* ek = nullptr;          // e^2k [batch, keys, width]
  const uint8_t* usable_q = nullptr;  // [batch, queries]: 0 where e^2q may overflow
  const uint8_t* usable_k = nullptr;  // [batch, keys]
};
// Columns that one task of the backward pass takes.
inline constexpr int64_t kAdditiveStrip = 64;

}  // namespace heed::kernels
