// The saturating sigmoid of improved semantic hashing (Kaiser and Bengio 2018) and its gradient:
//
//   s(v) = max(0, min(1, 1.2 sigmoid(v) - 0.1))
//
// which reaches 0 and 1 for arguments of moderate size, so that bits can become exact.
#pragma once

#include <cstdint>

#include "kernels/copy.h"

namespace heed::kernels {

struct SemanticHash {
  int64_t rows;
  int64_t width;           // bits of a row
  const float* v;          // [rows, width]
  const int8_t* discrete;  // [rows]: rows that give bits, 1 where v > 0; null: all
  Out y;                   // [rows, width]: the bits, or s(v)
  float* soft;             // [rows, width]: s(v), which the backward pass reads; null: not wanted
};
void semantic_hash(const SemanticHash& args);

struct SemanticHashBackward {
  int64_t n;
  const float* soft;
  In dy;
  Out dx;
  bool accumulate = false;
};
// dx (+)= dy s'(v) in all rows, those that gave bits included: the straight-through estimator.
// s' = 1.2 p (1 - p) with p = sigmoid(v) = (s + 0.1) / 1.2 where 0 < s < 1, else 0.
void semantic_hash_backward(const SemanticHashBackward& args);

}  // namespace heed::kernels
