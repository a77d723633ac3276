// Internal to the bf16 products: the packed layouts and the AVX-512 code that produces them.
//
// A step is 32 values of k, a panel 32 rows of A or 32 columns of B. Operands are packed panel by
// panel, and a panel step by step: a step is two adjacent 1 KiB tiles of 16 rows x 64 bytes.
//   A tile: row = row of A, 32 consecutive k.
//   B tile: row = a pair of k, 16 columns with the pair's two values side by side.
// Every source of a step is thus a 32 x 32 square of bf16; a square cut by the operand's edge is
// first copied to a zero-padded one, so that the fast paths never meet an edge.
// AMX multiplies tiles whole; vdpbf16ps takes a row of a tile of B and a pair of a row of A.
// Everything here is inlined into callers compiled for AVX-512; no state, no allocation.
#pragma once

#include <cstdint>

#include "kernels/matmul/intrinsics.h"
#include "tensor/dtype.h"

// The instruction sets are chosen per function: the rest of the binary runs on any x86-64.
#define HEED_AVX512_TARGET __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,fma")))
#define HEED_BF16_TARGET \
  __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512bf16,fma")))
#define HEED_AMX_TARGET                                                         \
  __attribute__((                                                               \
      target("amx-tile,amx-bf16,avx512f,avx512bw,avx512vl,avx512dq,avx512bf16," \
             "fma,prfchw")))
#define HEED_AVX512_INLINE inline __attribute__((always_inline)) HEED_AVX512_TARGET
#define HEED_BF16_INLINE inline __attribute__((always_inline)) HEED_BF16_TARGET
#define HEED_AMX_INLINE inline __attribute__((always_inline)) HEED_AMX_TARGET

namespace heed::panels {

inline constexpr int64_t kPanel = 32;           // rows of A or columns of B in a panel
inline constexpr int64_t kStep = 32;            // values of k in a step
inline constexpr int64_t kTileElements = 512;   // bf16 in a tile
inline constexpr int64_t kStepElements = 1024;  // bf16 in a panel's step
inline constexpr int64_t kTileBytesPerRow = 64;

inline constexpr int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

HEED_AVX512_INLINE __mmask32 mask_of(int64_t lanes) {
  return lanes >= 32 ? ~__mmask32{0} : (__mmask32{1} << lanes) - 1U;
}

// Copies a rows x cols corner (at most 32 x 32) to a dense, zero-padded square.
HEED_AVX512_INLINE void copy_padded_square(const bf16* src, int64_t ld, int64_t rows, int64_t cols,
                                           bf16* square) {
  const __mmask32 mask = mask_of(cols);
  for (int64_t r = 0; r < 32; ++r) {
    const __m512i row =
        r < rows ? _mm512_maskz_loadu_epi16(mask, src + r * ld) : _mm512_setzero_si512();
    _mm512_store_si512(square + r * 32, row);
  }
}

// Four rows `stride` elements apart, 16 bytes of each, as the four lanes of a vector. Filling lanes
// by masked broadcast loads leaves half as much work to the one shuffle port.
HEED_AVX512_INLINE __m512i gather_lanes(const bf16* src, int64_t stride) {
  const auto lane = [](const bf16* p) HEED_AVX512_TARGET {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  };
  __m512i v = _mm512_broadcast_i32x4(lane(src));
  v = _mm512_mask_broadcast_i32x4(v, 0x00F0, lane(src + stride));
  v = _mm512_mask_broadcast_i32x4(v, 0x0F00, lane(src + 2 * stride));
  return _mm512_mask_broadcast_i32x4(v, 0xF000, lane(src + 3 * stride));
}

// out[i] = column i of a 32-row, 8-column source, as 32 consecutive values.
HEED_AVX512_INLINE void transpose_32x8(const bf16* src, int64_t ld, __m512i out[8]) {
  __m512i words[8];
  for (int i = 0; i < 8; ++i) {
    words[i] = gather_lanes(src + i * ld, 8 * ld);  // lanes: rows i, 8 + i, 16 + i, 24 + i
  }
  // 8 x 8 transposes within lanes: pairs of values, then pairs of pairs, then halves.
  __m512i pairs[8];
  for (int i = 0; i < 4; ++i) {
    pairs[i] = _mm512_unpacklo_epi16(words[2 * i], words[2 * i + 1]);
    pairs[4 + i] = _mm512_unpackhi_epi16(words[2 * i], words[2 * i + 1]);
  }
  for (int half = 0; half < 2; ++half) {
    const __m512i* p = pairs + 4 * half;
    const __m512i low01 = _mm512_unpacklo_epi32(p[0], p[1]);
    const __m512i low23 = _mm512_unpacklo_epi32(p[2], p[3]);
    const __m512i high01 = _mm512_unpackhi_epi32(p[0], p[1]);
    const __m512i high23 = _mm512_unpackhi_epi32(p[2], p[3]);
    out[4 * half] = _mm512_unpacklo_epi64(low01, low23);
    out[4 * half + 1] = _mm512_unpackhi_epi64(low01, low23);
    out[4 * half + 2] = _mm512_unpacklo_epi64(high01, high23);
    out[4 * half + 3] = _mm512_unpackhi_epi64(high01, high23);
  }
}

// A quarter of a step of A is 8 of its 32 rows: small enough to slip between tile instructions.
inline constexpr int64_t kQuarters = 4;

// From the square's top left corner src[row][k].
HEED_AVX512_INLINE void pack_a_quarter(const bf16* src, int64_t ld, int64_t quarter, bf16* step) {
  for (int64_t r = 8 * quarter; r < 8 * quarter + 8; ++r) {
    _mm512_storeu_si512(step + r * kStep, _mm512_loadu_si512(src + r * ld));
  }
}

// From src[k][row].
HEED_AVX512_INLINE void pack_a_quarter_transposed(const bf16* src, int64_t ld, int64_t quarter,
                                                  bf16* step) {
  __m512i rows[8];
  transpose_32x8(src + 8 * quarter, ld, rows);
  for (int64_t r = 0; r < 8; ++r) {
    _mm512_storeu_si512(step + (8 * quarter + r) * kStep, rows[r]);
  }
}

// A step of B from src[k][column].
HEED_AVX512_INLINE void pack_b_step(const bf16* src, int64_t ld, bf16* step) {
  const __m512i first = _mm512_set_epi16(47, 15, 46, 14, 45, 13, 44, 12, 43, 11, 42, 10, 41, 9, 40,
                                         8, 39, 7, 38, 6, 37, 5, 36, 4, 35, 3, 34, 2, 33, 1, 32, 0);
  const __m512i second = _mm512_add_epi16(first, _mm512_set1_epi16(16));
  for (int64_t pair = 0; pair < 16; ++pair) {
    const __m512i even = _mm512_loadu_si512(src + 2 * pair * ld);
    const __m512i odd = _mm512_loadu_si512(src + (2 * pair + 1) * ld);
    bf16* row = step + pair * kStep;
    _mm512_storeu_si512(row, _mm512_permutex2var_epi16(even, first, odd));
    _mm512_storeu_si512(row + kTileElements, _mm512_permutex2var_epi16(even, second, odd));
  }
}

// A step of B from src[column][k]: a transpose of pairs of k.
HEED_AVX512_INLINE void pack_b_step_transposed(const bf16* src, int64_t ld, bf16* step) {
  for (int64_t tile = 0; tile < 2; ++tile) {
    for (int64_t group = 0; group < 4; ++group) {  // 4 pairs of k give 4 rows of the tile
      const bf16* corner = src + 16 * tile * ld + 8 * group;
      __m512i pairs[4];
      for (int i = 0; i < 4; ++i) {
        pairs[i] = gather_lanes(corner + i * ld, 4 * ld);
      }
      const __m512i low01 = _mm512_unpacklo_epi32(pairs[0], pairs[1]);
      const __m512i low23 = _mm512_unpacklo_epi32(pairs[2], pairs[3]);
      const __m512i high01 = _mm512_unpackhi_epi32(pairs[0], pairs[1]);
      const __m512i high23 = _mm512_unpackhi_epi32(pairs[2], pairs[3]);
      bf16* rows = step + tile * kTileElements + 4 * group * kStep;
      _mm512_storeu_si512(rows, _mm512_unpacklo_epi64(low01, low23));
      _mm512_storeu_si512(rows + kStep, _mm512_unpackhi_epi64(low01, low23));
      _mm512_storeu_si512(rows + 2 * kStep, _mm512_unpacklo_epi64(high01, high23));
      _mm512_storeu_si512(rows + 3 * kStep, _mm512_unpackhi_epi64(high01, high23));
    }
  }
}

// A right operand that is still in its caller's layout.
struct RawB {
  const bf16* data;
  int64_t ld;
  bool transposed;  // data[column][k] instead of data[k][column]
  int64_t K;
  int64_t N;
};

// Packs steps [k, k + 32 * steps) of the panel that starts at `column`.
HEED_AVX512_TARGET void pack_b_panel(const RawB& b, int64_t k, int64_t steps, int64_t column,
                                     bf16* out);

}  // namespace heed::panels
