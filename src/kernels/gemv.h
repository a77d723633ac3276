// A few rows times a transposed matrix, bound by the memory that the matrix is read from:
// y[m, n] = sum over k of x[m, k] * w[n, k] (+ bias[n]).
#pragma once

#include <cstdint>

#include "kernels/elementwise.h"

namespace heed::kernels {

struct Gemv {
  int64_t m, n, k;
  In x;
  In w;  // same dtype as x
  Out y;
  int64_t ldx, ldw, ldy;
  const float* bias = nullptr;
  bool accumulate = false;
};
void gemv(const Gemv& args);

}  // namespace heed::kernels
