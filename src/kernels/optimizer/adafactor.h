// A step of Adafactor (Shazeer and Stern 2018) over a matrix.
#pragma once

#include <cstdint>

#include "tensor/dtype.h"

namespace heed::kernels {

// With g = grad_scale g and q = g^2 + epsilon, for row i and column j:
//   row_i    = beta2 row_i    + (1 - beta2) mean over j of q_ij
//   column_j = beta2 column_j + (1 - beta2) mean over i of q_ij
//   u_ij = g_ij / sqrt(row_i column_j / mean of row)
//   u = u / max(1, rms(u) / clip)
//   w = w - lr u - lr weight_decay w
// or with m: m = beta1 m + (1 - beta1) lr u, and w = w - m - lr weight_decay w.
//
// Means instead of the paper's sums give the same u. A vector is a matrix of one row: `column` is
// then its whole second moment. The same bits for any number of threads.
struct Adafactor {
  int64_t rows;
  int64_t columns;
  float* w;
  const float* g;
  bf16* narrow = nullptr;  // the new w, rounded; null if not wanted
  float* m = nullptr;      // null: no first moment
  float* row;              // [rows]
  float* column;           // [columns]
  float lr;
  float beta1 = 0.0F;
  float beta2;  // the paper's at step t: 1 - t^-0.8
  float epsilon = 1e-30F;
  float clip = 1.0F;
  float weight_decay = 0.0F;
  float grad_scale = 1.0F;
};
void adafactor(const Adafactor& args);

}  // namespace heed::kernels
