// bf16 x bf16 -> f32 matrix products whose right operand is packed in panels of 32 columns. One
// layout serves every instruction set:
//
//   amx     tiles (amx.h)
//   bf16    dot products of pairs, vdpbf16ps (dot_products.cc)
//   others  f32 arithmetic on the widened values (widened_products.cc)
//
// Ownership: nothing here owns its operands. Packing scratch is kept per thread, grows to the
// largest product seen and is freed with the thread, so a warmed-up caller never allocates.
// Thread safety: every function may be called from several threads at once on disjoint outputs.
// gemm() and the pack functions start their own OpenMP region unless they are called inside one;
// block_gemm() never does.
// Results: an element's bits depend on its row of A, its column of B, K, the epilogue and the
// instruction set only, never on M, N, the number of threads or whether B came packed. Tiles and
// vdpbf16ps take subnormal numbers for zero.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "kernels/cpu.h"
#include "kernels/elementwise/functions.h"
#include "kernels/matmul/amx/amx.h"
#include "tensor/dtype.h"

namespace heed::panels {

// Number of bf16 elements of a packed right operand; it should start on a 64-byte boundary.
size_t packed_size(int64_t K, int64_t N);
// Packs row-major b[K][ldb]. Padding is zero.
void pack_b(const bf16* b, int64_t ldb, int64_t K, int64_t N, bf16* out);
// Packs the transpose of row-major b[N][ldb].
void pack_b_transposed(const bf16* b, int64_t ldb, int64_t K, int64_t N, bf16* out);

// out[c][r] = src[r][c] for r < rows, c < cols. Single-threaded; needs AVX-512.
void transpose(const bf16* src, int64_t ld, int64_t rows, int64_t cols, bf16* out, int64_t ld_out);

// C = activation(A * B + bias), or C += that.
struct Gemm {
  int64_t M = 0;
  int64_t N = 0;
  int64_t K = 0;
  const bf16* a = nullptr;  // [M][lda], or [K][lda] if a_transposed
  int64_t lda = 0;
  bool a_transposed = false;
  const bf16* b = nullptr;  // [K][ldb], or [N][ldb] if b_transposed
  int64_t ldb = 0;
  bool b_transposed = false;
  const bf16* b_packed = nullptr;  // the whole of B from pack_b*; b is ignored then
  void* c = nullptr;               // [M][ldc], f32 or bf16 (rounded to nearest even)
  int64_t ldc = 0;
  bool c_is_f32 = false;
  bool accumulate = false;
  const float* bias = nullptr;               // [N]
  Activation activation = Activation::none;  // up to gelu_tanh
  bf16* pre_activation = nullptr;            // [M][ldc]: receives A * B + bias
};

// What gemm() can do at the instruction set in use. `native`: everything. Otherwise A is not
// transposed, B comes packed, and there is no activation.
inline bool native() { return max_isa() >= Isa::bf16; }
void gemm(const Gemm& args);

// What block_gemm() needs on its thread while it lives: the tiles' configuration where there are
// tiles. Scopes do not nest, and no gemm() may run on the thread while one is alive.
class BlockScope {
 public:
  BlockScope() {
    if (max_isa() == Isa::amx) {
      tiles_.emplace();
    }
  }

 private:
  std::optional<amx::TileScope> tiles_;
};

// c[M][N] (+)= a[M][K] * packed B, on this thread alone; needs native() and a live BlockScope. Made
// for the small products inside attention: nothing is packed, and a is read in place.
struct BlockGemm {
  int64_t M, N, K;
  const bf16* a;
  int64_t lda;
  const bf16* b_packed;
  float* c;
  int64_t ldc;
  bool accumulate;
};
void block_gemm(const BlockGemm& args);

}  // namespace heed::panels
