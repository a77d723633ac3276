// Matrix products, the one door to oneDNN: C (+)= activation(A * B + bias), row-major, f32 or bf16
// operands with f32 accumulation.
//
// bf16 products run on our own AMX kernels where the CPU has them, else on oneDNN; a single row
// times a transposed matrix (decoding) runs on our own matrix-vector kernel, which is bound by
// memory. Operands that are not laid out well are packed into scratch memory first; weights that
// will not change can be frozen, and are then packed once.
//
// Results depend on the shapes and, through oneDNN, possibly on the number of threads; the same
// call on the same threads gives the same bits. Thread safe.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/activation.h"
#include "kernels/elementwise.h"

namespace heed::kernels {

struct Matmul {
  int64_t m, n, k;
  In a;   // [m, k], or [k, m] if transpose_a
  In b;   // [k, n], or [n, k] if transpose_b; same dtype as a, or packed i8 (kernels/int8.h)
  Out c;  // [m, n]
  bool transpose_a = false;
  bool transpose_b = false;
  int64_t lda = 0;  // distance of rows; 0: dense
  int64_t ldb = 0;
  int64_t ldc = 0;
  int64_t batch = 1;  // products with operands these distances apart
  int64_t stride_a = 0;
  int64_t stride_b = 0;
  int64_t stride_c = 0;
  bool accumulate = false;
  const float* bias = nullptr;  // [n]
  Activation activation = Activation::none;
  void* pre_activation = nullptr;  // optional copy of A * B + bias, laid out as C
};
void matmul(Matmul args);

// Marks [data, data + bytes) as constant until thawed: operands B in it are packed once and kept.
// With `by_rows`, f32 products with them give each row the same bits whatever the other rows are
// (kernels/gemv.h); somewhat slower for many rows. bf16 products on AMX always do.
void freeze_weights(const void* data, size_t bytes, bool by_rows = false);
void thaw_weights(const void* data);

// While set, products are noted here: for measuring. Null stops it.
void log_products(std::vector<Matmul>* log);

// Best time in seconds of the product through oneDNN alone, on operands of its own that already
// lie as oneDNN likes them: the floor under any use of it.
double onednn_seconds(const Matmul& args, int repetitions);

// True while a thread is inside oneDNN: for tests that count our own allocations.
bool inside_onednn();

}  // namespace heed::kernels
