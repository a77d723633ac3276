// Rows times a transposed matrix as it lies, without packing: for few rows, which are bound by the
// memory that the matrix is read from, and for inference.
//   y[m, n] = relu?(sum over k of x[m, k] * w[n, k] + bias[n])
//
// Every element is summed in the same order whatever m is and however the work is split. So a row
// gives the same bits alone, in any batch and on any number of threads, which the products of
// libraries do not promise; translations depend on it.
#pragma once

#include <cstdint>

#include "kernels/copy.h"

namespace heed::kernels {

struct Gemv {
  int64_t m, n, k;
  In x;
  In w;  // same dtype as x
  Out y;
  int64_t ldx, ldw, ldy;
  const float* bias = nullptr;
  bool accumulate = false;
  bool relu = false;
};
void gemv(const Gemv& args);

}  // namespace heed::kernels
