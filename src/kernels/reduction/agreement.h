// How far two predictions of the same thing are apart: the symmetric Kullback-Leibler divergence of
// softmax p = softmax(x) and q = softmax(y) of each pair of rows,
//
//   (KL(p || q) + KL(q || p)) / 2 = sum over v of (p_v - q_v) d_v / 2,   d = log p - log q
//
// Rows 0 to N-1 of the logits are x, rows N to 2N-1 are y. Values and statistics are f32.
#pragma once

#include <cstdint>

#include "tensor/dtype.h"

namespace heed::kernels {

struct Agreement {
  int64_t pairs;  // N
  int64_t classes;
  DType dtype;
  const void* logits;      // [2N, classes]
  const int32_t* targets;  // [N]
  int32_t ignore;          // pairs with this target cost nothing
  float* values;           // [N]
  float* lse;              // [2N] log sum exp of each row
  float* means;            // [2N] sum of p d, sum of q d
};
void agreement(const Agreement& args);

// d_x = d/2 (p (d - sum p d) + p - q),  d_y = d/2 (q (sum q d - d) + q - p)
struct AgreementBackward {
  Agreement forward;
  float d_value;  // of every pair
  void* d_logits;
  bool accumulate = false;
};
void agreement_backward(const AgreementBackward& args);

}  // namespace heed::kernels
