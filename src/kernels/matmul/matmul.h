// Matrix products, the one door to oneDNN: C (+)= activation(A * B + bias), row-major, f32 or bf16
// operands with f32 accumulation.
//
// bf16 products run on our own kernels (panels.h), f32 products on oneDNN; f32 rows times a
// transposed matrix run on our own kernel (gemv.h) if there is one row or if rows must not depend
// on each other. Operands that are not laid out well are packed into scratch memory first; weights
// that do not change are packed once (frozen.h).
//
// Results depend on the shapes and, through oneDNN, possibly on the number of threads; the same
// call on the same threads gives the same bits. Thread safe.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/copy.h"
#include "kernels/elementwise/functions.h"

namespace heed::kernels {

struct Matmul {
  int64_t m, n, k;
  In a;   // [m, k], or [k, m] if transpose_a
  In b;   // [k, n], or [n, k] if transpose_b; same dtype as a, or packed i8 (int8/int8.h)
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

// In its scope, on its thread, products with the transpose of a frozen matrix use 8-bit integers, a
// quarter of the memory to read: for results that need not be exact because something else verifies
// them. A row still has the same bits in any batch. Scopes may nest.
class RoughProducts {
 public:
  RoughProducts();
  ~RoughProducts();
  RoughProducts(const RoughProducts&) = delete;
  RoughProducts& operator=(const RoughProducts&) = delete;

 private:
  bool outer_;
};

// While set, products are noted here: for measuring. Null stops it.
void log_products(std::vector<Matmul>* log);

// Best time in seconds of the product through oneDNN alone, on operands of its own that already
// lie as oneDNN likes them: the floor under any use of it.
double onednn_seconds(const Matmul& args, int repetitions);

// True while a thread is inside oneDNN: for tests that count our own allocations.
bool inside_onednn();

}  // namespace heed::kernels
