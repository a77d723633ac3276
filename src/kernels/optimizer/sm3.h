// A step of SM3-II (Anil, Gupta, Koren and Singer 2019) over a matrix covered by its rows and
// columns.
#pragma once

#include <cstdint>

#include "tensor/dtype.h"

namespace heed::kernels {

// With g = grad_scale g, for row i and column j:
//   nu_ij = min(row_i, column_j) + g_ij^2
//   row_i = max over j of nu_ij,  column_j = max over i of nu_ij
//   u_ij = g_ij / sqrt(nu_ij), 0 where nu is 0;  with m: m = beta1 m + (1 - beta1) u, u = m
//   w = w - lr u - lr weight_decay w
//
// A vector is a matrix of one row: `column` is then its whole sum of squares, as in AdaGrad. One
// pass over memory; the same bits for any number of threads.
struct Sm3 {
  int64_t rows;
  int64_t columns;
  float* w;
  const float* g;
  bf16* narrow = nullptr;  // the new w, rounded; null if not wanted
  float* m = nullptr;      // null: no momentum
  float* row;              // [rows]
  float* column;           // [columns]
  float lr;
  float beta1 = 0.0F;
  float weight_decay = 0.0F;
  float grad_scale = 1.0F;
};
void sm3(const Sm3& args);

}  // namespace heed::kernels
