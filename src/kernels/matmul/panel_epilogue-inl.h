// Internal to the bf16 products: what happens to a finished 32 x 32 block of f32 sums on its way to
// C (bias, activation, accumulation, rounding), in AVX-512. Inlined into callers compiled for
// AVX-512 with bf16; no state, no allocation. The approximations are good to about 1e-6 relative,
// far below bf16.
#pragma once

#include <cstdint>

#include "kernels/elementwise/functions.h"
#include "kernels/matmul/panels-inl.h"
#include "tensor/dtype.h"

namespace heed::panels {

// 2^x with x bounded to +-100: activations are flat beyond, and subnormal results would each cost a
// microcode assist of a hundred cycles. Chebyshev interpolation of 2^f on [-1/2, 1/2].
HEED_BF16_INLINE __m512 exp2_approx(__m512 x) {
  const __m512 bounded =
      _mm512_max_ps(_mm512_min_ps(x, _mm512_set1_ps(100.0F)), _mm512_set1_ps(-100.0F));
  const __m512 whole = _mm512_roundscale_ps(bounded, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  const __m512 f = _mm512_sub_ps(bounded, whole);
  __m512 p = _mm512_set1_ps(0.0013390863F);
  p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(0.009676032F));
  p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(0.05550357F));
  p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(0.24022107F));
  p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(0.6931472F));
  p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(1.0000001F));
  return _mm512_scalef_ps(p, whole);
}

// 1 / x by one Newton step, for x in [1, 2^101]: a full division would cost more than the rest of
// an activation.
HEED_BF16_INLINE __m512 reciprocal(__m512 x) {
  const __m512 estimate = _mm512_rcp14_ps(x);
  const __m512 error = _mm512_fnmadd_ps(x, estimate, _mm512_set1_ps(1.0F));
  return _mm512_fmadd_ps(error, estimate, estimate);
}

// x * share, for shares that are nothing but rounding below -100: there x is bounded, or a huge one
// would make something of it. NaN, as the second operand, passes through.
HEED_BF16_INLINE __m512 share_of(__m512 x, __m512 share) {
  return _mm512_mul_ps(_mm512_max_ps(_mm512_set1_ps(-100.0F), x), share);
}

// x * sigmoid(2 u) with u = sqrt(2 / pi) (x + 0.044715 x^3), which equals the form with tanh.
HEED_BF16_INLINE __m512 gelu_tanh(__m512 x) {
  constexpr float kLinear = -2.3022082F;  // -2 sqrt(2 / pi) log2(e)
  constexpr float kCubic = -0.10294324F;  // kLinear * 0.044715
  const __m512 square = _mm512_mul_ps(x, x);
  const __m512 exponent =
      _mm512_mul_ps(x, _mm512_fmadd_ps(square, _mm512_set1_ps(kCubic), _mm512_set1_ps(kLinear)));
  return share_of(x, reciprocal(_mm512_add_ps(_mm512_set1_ps(1.0F), exp2_approx(exponent))));
}

// x * Phi(x). The lower tail Phi(-a) = exp(-a^2 / 2) t P(t), t = 1 / (1 + 0.3 a), keeps its
// relative precision where 1 + erf would cancel; P interpolates at Chebyshev points for a in [0,
// 14], of which [0, 11] is used: Phi(-11) is 2e-28.
HEED_BF16_INLINE __m512 gelu(__m512 x) {
  const __m512 a = _mm512_min_ps(_mm512_abs_ps(x), _mm512_set1_ps(11.0F));
  const __m512 one = _mm512_set1_ps(1.0F);
  const __m512 t = reciprocal(_mm512_fmadd_ps(a, _mm512_set1_ps(0.3F), one));
  __m512 p = _mm512_set1_ps(0.03741848F);
  p = _mm512_fmadd_ps(p, t, _mm512_set1_ps(-0.16431852F));
  p = _mm512_fmadd_ps(p, t, _mm512_set1_ps(0.21831545F));
  p = _mm512_fmadd_ps(p, t, _mm512_set1_ps(-0.064374305F));
  p = _mm512_fmadd_ps(p, t, _mm512_set1_ps(0.13402115F));
  p = _mm512_fmadd_ps(p, t, _mm512_set1_ps(0.09832777F));
  p = _mm512_fmadd_ps(p, t, _mm512_set1_ps(0.12099556F));
  p = _mm512_fmadd_ps(p, t, _mm512_set1_ps(0.11961444F));
  const __m512 exponent = _mm512_mul_ps(_mm512_mul_ps(a, a), _mm512_set1_ps(-0.72134752F));
  const __m512 tail = _mm512_mul_ps(_mm512_mul_ps(p, t), exp2_approx(exponent));
  const __mmask16 negative = _mm512_movepi32_mask(_mm512_castps_si512(x));
  return share_of(x, _mm512_mask_mov_ps(_mm512_sub_ps(one, tail), negative, tail));
}

HEED_BF16_INLINE __m512 apply(Activation activation, __m512 x) {
  if (activation == Activation::relu) {
    return _mm512_max_ps(_mm512_setzero_ps(), x);  // NaN, as the second operand, passes through
  }
  return activation == Activation::gelu ? gelu(x) : gelu_tanh(x);  // gemm() refuses the others
}

// 32 consecutive values of a row of C.
struct RowVectors {
  __m512 low;
  __m512 high;
};

HEED_BF16_INLINE void store_row(const RowVectors& v, __mmask32 mask, float* to) {
  _mm512_mask_storeu_ps(to, static_cast<__mmask16>(mask), v.low);
  _mm512_mask_storeu_ps(to + 16, static_cast<__mmask16>(mask >> 16), v.high);
}

HEED_BF16_INLINE void store_row(const RowVectors& v, __mmask32 mask, bf16* to) {
  _mm512_mask_storeu_epi16(to, mask, (__m512i)_mm512_cvtne2ps_pbh(v.high, v.low));
}

HEED_BF16_INLINE RowVectors load_row(const float* from, __mmask32 mask) {
  return {_mm512_maskz_loadu_ps(static_cast<__mmask16>(mask), from),
          _mm512_maskz_loadu_ps(static_cast<__mmask16>(mask >> 16), from + 16)};
}

HEED_BF16_INLINE __m512 widen(__m256i values) {
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(values), 16));
}

HEED_BF16_INLINE RowVectors load_row(const bf16* from, __mmask32 mask) {
  const __m512i both = _mm512_maskz_loadu_epi16(mask, from);
  return {widen(_mm512_castsi512_si256(both)), widen(_mm512_extracti64x4_epi64(both, 1))};
}

HEED_BF16_INLINE RowVectors add(const RowVectors& a, const RowVectors& b) {
  return {_mm512_add_ps(a.low, b.low), _mm512_add_ps(a.high, b.high)};
}

// Where finished blocks go.
struct Epilogue {
  void* c;
  int64_t ldc;
  bool c_is_f32;
  bool accumulate;
  const float* bias;
  Activation activation;
  bf16* pre_activation;
};

// Carries rows of sums, 32 floats each, to C as T; `mask` tells which columns exist.
template <typename T, bool kPlain>
HEED_BF16_INLINE void finish_rows_as(const Epilogue& e, const float* sums, int64_t count,
                                     int64_t at, const float* bias, __mmask32 mask) {
  T* to = static_cast<T*>(e.c) + at;
  for (; count > 0; --count, sums += kPanel, to += e.ldc, at += e.ldc) {
    RowVectors v = {_mm512_load_ps(sums), _mm512_load_ps(sums + 16)};
    if constexpr (!kPlain) {
      if (bias != nullptr) {
        v = add(v, load_row(bias, mask));
      }
      if (e.pre_activation != nullptr) {
        store_row(v, mask, e.pre_activation + at);
      }
      if (e.activation != Activation::none) {
        v = {apply(e.activation, v.low), apply(e.activation, v.high)};
      }
      if (e.accumulate) {
        v = add(v, load_row(to, mask));
      }
    }
    store_row(v, mask, to);
  }
}

HEED_BF16_INLINE void finish_block_rows(const Epilogue& e, const float* sums, int64_t row,
                                        int64_t count, int64_t column, __mmask32 mask) {
  const int64_t at = row * e.ldc + column;
  const float* bias = e.bias == nullptr ? nullptr : e.bias + column;
  const bool plain = bias == nullptr && e.pre_activation == nullptr &&
                     e.activation == Activation::none && !e.accumulate;
  if (plain && e.c_is_f32) {
    finish_rows_as<float, true>(e, sums, count, at, bias, mask);
  } else if (plain) {
    finish_rows_as<bf16, true>(e, sums, count, at, bias, mask);
  } else if (e.c_is_f32) {
    finish_rows_as<float, false>(e, sums, count, at, bias, mask);
  } else {
    finish_rows_as<bf16, false>(e, sums, count, at, bias, mask);
  }
}

}  // namespace heed::panels
