// bf16 x bf16 -> f32 matrix products on Intel AMX tiles.
//
// Ownership: nothing here owns its operands. Packing scratch is kept per thread, grows to the
// largest product seen and is freed with the thread, so a warmed-up caller never allocates.
// Thread safety: every function may be called from several threads at once on disjoint outputs.
// gemm() and the pack functions start their own OpenMP region unless they are called inside one;
// block_gemm() never does.
// Results: an element's bits depend on its row of A, its column of B, K and the epilogue only,
// never on M, N, the number of threads or whether B came packed. Subnormal numbers count as zero.
//
// Everything but available() needs a processor for which available() is true.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/activation.h"
#include "tensor/dtype.h"

namespace heed::amx {

// Whether this processor and kernel offer AMX bf16 tiles and HEED_MAX_ISA (sse4, avx2, avx512) does
// not forbid them. The first call asks the kernel for permission; the answer is cached.
bool available();

// Number of bf16 elements of a packed right operand; it should start on a 64-byte boundary.
size_t packed_b_size(int64_t K, int64_t N);
// Packs row-major b[K][ldb]. Padding is zero.
void pack_b(const bf16* b, int64_t ldb, int64_t K, int64_t N, bf16* out);
// Packs the transpose of row-major b[N][ldb].
void pack_b_transposed(const bf16* b, int64_t ldb, int64_t K, int64_t N, bf16* out);

// out[c][r] = src[r][c] for r < rows, c < cols. Single-threaded.
void transpose(const bf16* src, int64_t ld, int64_t rows, int64_t cols, bf16* out, int64_t ld_out);

// Loads the tile configuration on this thread and releases the tiles at the end, which keeps
// context switches cheap. Scopes do not nest, and no gemm() may run on the thread while one is
// alive.
struct TileScope {
  TileScope();
  ~TileScope();
  TileScope(const TileScope&) = delete;
  TileScope& operator=(const TileScope&) = delete;
};

// c[M][N] (+)= a[M][K] * packed B, on this thread alone; needs a live TileScope. Made for the small
// products inside attention: nothing is packed, and a is read in place.
void block_gemm(int64_t M, int64_t N, int64_t K, const bf16* a, int64_t lda, const bf16* b_packed,
                float* c, int64_t ldc, bool accumulate);

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
void gemm(const Gemm& args);

}  // namespace heed::amx
