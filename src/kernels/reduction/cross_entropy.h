// Softmax, cross-entropy and label smoothing in one. For a row x with target t and V classes:
//
//   loss = w_t (1 - s) (lse - x_t) + s / V * sum over v of w_v (lse - x_v),   lse = log sum exp x
//
// Losses and statistics are f32.
#pragma once

#include <cstdint>

#include "tensor/dtype.h"

namespace heed::kernels {

struct CrossEntropy {
  int64_t rows;
  int64_t classes;
  DType dtype;
  const void* logits;
  const int32_t* targets;  // [rows]
  int32_t ignore;          // rows with this target cost nothing
  float smoothing = 0.0F;
  const float* weights = nullptr;  // [classes]
  float* losses;                   // [rows]
  float* lse;                      // [rows]
  // For the backward pass of rows that are split: so many classes there are in all, lse is that of
  // all of them, and a negative target is one of the others. 0: these are all.
  int64_t all_classes = 0;
};
void cross_entropy(const CrossEntropy& args);

struct CrossEntropyBackward {
  CrossEntropy forward;
  const float* d_losses;  // [rows], or one value for all if d_uniform
  bool d_uniform = false;
  void* d_logits;  // may be the logits
  bool accumulate = false;
};
void cross_entropy_backward(const CrossEntropyBackward& args);

}  // namespace heed::kernels
