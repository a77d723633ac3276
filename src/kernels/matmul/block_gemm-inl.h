// A small f32 matrix product on one thread, for kernels that work on blocks in cache:
//
//   C[m, n] (+)= A[m, k] * B[k, n]
//
// A is read through two strides, so a transposed A costs nothing; rows of B and C are contiguous.
#if defined(HEED_KERNELS_MATMUL_BLOCK_GEMM_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_KERNELS_MATMUL_BLOCK_GEMM_INL_H_
#undef HEED_KERNELS_MATMUL_BLOCK_GEMM_INL_H_
#else
#define HEED_KERNELS_MATMUL_BLOCK_GEMM_INL_H_
#endif

#include "kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed {
namespace HWY_NAMESPACE {

struct BlockGemm {
  size_t m, n, k;
  const float* a;
  size_t a_row, a_column;  // A(i, l) = a[i * a_row + l * a_column]
  const float* b;
  size_t ldb;
  float* c;
  size_t ldc;
  bool accumulate;
};

// kRows x kVectors accumulators stay in registers while k runs. kTail: the last vector of each row
// has only `tail` columns.
template <size_t kRows, size_t kVectors, bool kTail>
HWY_INLINE void gemm_tile(const BlockGemm& g, size_t row, size_t column, size_t tail) {
  const size_t lanes = hn::Lanes(FloatTag());
  FloatVec sums[kRows][kVectors];
  float* c = g.c + row * g.ldc + column;
  const auto fetch = [&](const float* p, size_t v) HWY_ATTR {
    return kTail && v + 1 == kVectors ? load_n(p + v * lanes, tail) : load(p + v * lanes);
  };
  for (size_t r = 0; r < kRows; ++r) {
    for (size_t v = 0; v < kVectors; ++v) {
      sums[r][v] = g.accumulate ? fetch(c + r * g.ldc, v) : zero();
    }
  }
  const float* a = g.a + row * g.a_row;
  const float* b = g.b + column;
  for (size_t l = 0; l < g.k; ++l, a += g.a_column, b += g.ldb) {
    FloatVec right[kVectors];
    for (size_t v = 0; v < kVectors; ++v) {
      right[v] = fetch(b, v);
    }
    for (size_t r = 0; r < kRows; ++r) {
      const FloatVec left = set(a[r * g.a_row]);
      for (size_t v = 0; v < kVectors; ++v) {
        sums[r][v] = hn::MulAdd(left, right[v], sums[r][v]);
      }
    }
  }
  for (size_t r = 0; r < kRows; ++r) {
    for (size_t v = 0; v < kVectors; ++v) {
      if (kTail && v + 1 == kVectors) {
        store_n(sums[r][v], c + r * g.ldc + v * lanes, tail);
      } else {
        store(sums[r][v], c + r * g.ldc + v * lanes);
      }
    }
  }
}

// The widest tile that leaves registers for operands: 32 registers with AVX-512, else 16.
inline constexpr size_t kTileRows = 6;
inline constexpr size_t kTileVectors = HWY_TARGET <= HWY_AVX3 ? 4 : 2;

template <size_t kVectors, bool kTail>
HWY_INLINE void gemm_columns(const BlockGemm& g, size_t column, size_t tail) {
  size_t row = 0;
  for (; row + kTileRows <= g.m; row += kTileRows) {
    gemm_tile<kTileRows, kVectors, kTail>(g, row, column, tail);
  }
  for (; row + 2 <= g.m; row += 2) {
    gemm_tile<2, kVectors, kTail>(g, row, column, tail);
  }
  for (; row < g.m; ++row) {
    gemm_tile<1, kVectors, kTail>(g, row, column, tail);
  }
}

// The last columns, fewer than a whole tile has: as many vectors as they take, found by counting
// down.
template <size_t kVectors>
HWY_INLINE void last_columns(const BlockGemm& g, size_t column) {
  const size_t lanes = hn::Lanes(FloatTag());
  const size_t left = g.n - column;
  if (left > (kVectors - 1) * lanes) {
    const size_t tail = left - (kVectors - 1) * lanes;
    if (tail == lanes) {
      gemm_columns<kVectors, false>(g, column, 0);
    } else {
      gemm_columns<kVectors, true>(g, column, tail);
    }
  } else if constexpr (kVectors > 1) {
    last_columns<kVectors - 1>(g, column);
  }
}

HWY_INLINE void block_gemm(const BlockGemm& g) {
  const size_t lanes = hn::Lanes(FloatTag());
  size_t column = 0;
  for (; column + kTileVectors * lanes <= g.n; column += kTileVectors * lanes) {
    gemm_columns<kTileVectors, false>(g, column, 0);
  }
  if (column < g.n) {
    last_columns<kTileVectors>(g, column);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace heed
HWY_AFTER_NAMESPACE();

#endif  // HEED_KERNELS_MATMUL_BLOCK_GEMM_INL_H_
