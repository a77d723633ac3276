// Internal to the int8 kernels on AVX-512: what the forms with and without tiles share.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/matmul/int8/int8-inl.h"
#include "kernels/matmul/intrinsics.h"

// Chosen per function: the rest of the binary runs on any x86-64.
#define HEED_VNNI_TARGET \
  __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512vnni,fma")))
#define HEED_VNNI_INLINE inline __attribute__((always_inline)) HEED_VNNI_TARGET

namespace heed::kernels {

HEED_VNNI_INLINE __m512 widen_scales(const bf16* scales) {
  const __m256i bits = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(scales));
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bits), 16));
}

// total + sums * (scales of 16 columns * the row's scale)
HEED_VNNI_INLINE __m512 add_scaled(__m512i sums, __m512 scales, float row_scale, __m512 total) {
  const __m512 scale = _mm512_mul_ps(scales, _mm512_set1_ps(row_scale));
  return _mm512_fmadd_ps(_mm512_cvtepi32_ps(sums), scale, total);
}

// Sixteen floats as bf16: to the nearest, ties to even; NaN stays NaN.
HEED_VNNI_INLINE __m256i to_bf16(__m512 v) {
  const __m512i bits = _mm512_castps_si512(v);
  const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
  const __m512i rounded = _mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7FFF)));
  const __mmask16 nan = _mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q);
  return _mm512_cvtepi32_epi16(
      _mm512_mask_mov_epi32(_mm512_srli_epi32(rounded, 16), nan, _mm512_set1_epi32(0x7FC0)));
}

// int8_finish() for sums in a register.
HEED_VNNI_INLINE void finish_row(const Int8Product& args, __m512 sums, int64_t r, int64_t group) {
  const int64_t first = group * kInt8Rows;
  const int64_t count = std::min(args.w.rows - first, kInt8Rows);
  const auto mask = static_cast<__mmask16>((1U << count) - 1U);
  if (args.bias != nullptr) {
    sums = _mm512_add_ps(sums, _mm512_maskz_loadu_ps(mask, args.bias + first));
  }
  if (args.y.dtype == DType::f32) {
    _mm512_mask_storeu_ps(static_cast<float*>(args.y.data) + r * args.ldy + first, mask, sums);
  } else {
    _mm256_mask_storeu_epi16(static_cast<bf16*>(args.y.data) + r * args.ldy + first, mask,
                             to_bf16(sums));
  }
}

// How many rows, a multiple of `tile`, stay in the second-level cache while all columns pass by.
inline int64_t int8_rows_in_cache(const Int8Inputs& x, int64_t tile) {
  constexpr int64_t kChunkBytes = 512 << 10;
  return std::max(kChunkBytes / (x.blocks * kInt8Block) / tile * tile, tile);
}

struct RowRange {
  int64_t begin, end;
};
void int8_vnni_rows(const Int8Product& args, const Int8Inputs& x, RowRange rows, int64_t begin,
                    int64_t end);

}  // namespace heed::kernels
