// f32 matrix products of our own, for shapes on which oneDNN's are slow.
//   C (+)= A * B + bias
//
// An element's bits depend on its row of A, its column of B and K only. Starts its own OpenMP
// regions; owns scratch per thread; thread safe on disjoint outputs.
#pragma once

#include <cstdint>

namespace heed::kernels {

struct F32Product {
  int64_t m, n, k;
  const float* a;  // [m][lda], or [k][lda] if transpose_a
  const float* b;  // [k][ldb], or [n][ldb] if transpose_b
  float* c;        // [m][ldc]
  int64_t lda, ldb, ldc;
  bool transpose_a = false;
  bool transpose_b = false;
  bool accumulate = false;
  const float* bias = nullptr;  // [n]
};
void f32_product(const F32Product& args);

// Internal: a block of B, packed in panels.
struct F32Block {
  const float* packed;
  int64_t k, depth;
  int64_t column, column_end;
};

}  // namespace heed::kernels
