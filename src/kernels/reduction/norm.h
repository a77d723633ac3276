// Layer norm (Ba et al. 2016) and RMS norm (Zhang and Sennrich 2019), optionally of a residual sum:
//
//   s = x + dropout(branch)            if there is a branch; else s = x
//   y = (s - mean) * rstd * gamma + beta      (RMS norm: mean = 0, no beta)
//
// Statistics are f32 whatever the dtype.
#pragma once

#include <cstdint>

#include "kernels/elementwise/dropout.h"
#include "tensor/dtype.h"

namespace heed::kernels {

struct Norm {
  int64_t rows;
  int64_t width;
  DType dtype;
  const void* x;
  const void* branch = nullptr;  // same dtype; dropped and added to x
  Dropout dropout = {};          // row r draws elements from r * padded_width(width) on
  const float* gamma = nullptr;  // null: 1
  const float* beta = nullptr;   // null: 0
  float epsilon = 1e-5F;
  bool rms = false;
  void* sum = nullptr;  // s; required with a branch
  void* y;
  float* mean = nullptr;  // [rows] for the backward pass; unused for RMS norm
  float* rstd = nullptr;
};
void norm(const Norm& args);

struct NormBackward {
  int64_t rows;
  int64_t width;
  DType dtype;
  const void* s;
  const void* dy;               // null: only d_sum flows
  const void* d_sum = nullptr;  // gradient that reaches s from elsewhere
  Dropout dropout = {};
  const float* gamma = nullptr;
  const float* mean;
  const float* rstd;
  bool rms = false;
  void* dx;  // gradient of s, that is, of x
  bool accumulate_dx = false;
  void* d_branch = nullptr;  // gradient of the branch; null if not wanted
  bool accumulate_branch = false;
  float* d_gamma = nullptr;
  bool accumulate_gamma = false;
  float* d_beta = nullptr;
  bool accumulate_beta = false;
};
void norm_backward(const NormBackward& args);

// Random numbers come in whole groups, so each row starts a new one.
inline int64_t padded_width(int64_t width) {
  return (width + kDropoutGroup - 1) / kDropoutGroup * kDropoutGroup;
}

}  // namespace heed::kernels
