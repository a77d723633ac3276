// One row times a packed matrix, which is bound by the memory that the matrix comes from: AVX-512
// in place of tiles, with the very sums of amx_gemm.cc. A tile instruction adds the even and the
// odd values of a step's k apart from each other, each product fused into its sum, then both to the
// total; subnormal numbers are zero.
#include <algorithm>
#include <cstddef>

#include "base/parallel.h"
#include "kernels/matmul/amx/amx_row-inl.h"
#include "kernels/matmul/amx/amx_tile-inl.h"

namespace heed::amx {
namespace {

// Subnormal numbers are zero in its scope.
class FlushSubnormals {
 public:
  FlushSubnormals() : old_(_mm_getcsr()) { _mm_setcsr(old_ | 0x8040U); }
  ~FlushSubnormals() { _mm_setcsr(old_); }
  FlushSubnormals(const FlushSubnormals&) = delete;
  FlushSubnormals& operator=(const FlushSubnormals&) = delete;

 private:
  unsigned old_;
};

constexpr int64_t kAhead = 4 * kStepElements;  // elements asked for ahead

struct Sums {
  __m512 even;
  __m512 odd;
};

// A pair of k: weights of 16 columns, the even one in the lower half of each lane.
HEED_AMX_INLINE void add_pair(const bf16* weights, __m512 even, __m512 odd, Sums& sums) {
  const __m512i pair = _mm512_loadu_si512(weights);
  sums.even = _mm512_fmadd_ps(_mm512_castsi512_ps(_mm512_slli_epi32(pair, 16)), even, sums.even);
  const __m512i high = _mm512_and_si512(pair, _mm512_set1_epi32(static_cast<int>(0xFFFF0000U)));
  sums.odd = _mm512_fmadd_ps(_mm512_castsi512_ps(high), odd, sums.odd);
}

// x is widened to f32 and padded with zeros to whole steps; `total` gets 32 columns.
HEED_AMX_TARGET void multiply_panel(const float* x, const bf16* panel, int64_t steps,
                                    float* total) {
  __m512 left = _mm512_setzero_ps();
  __m512 right = _mm512_setzero_ps();
  for (int64_t step = 0; step < steps; ++step, panel += kStepElements, x += kStep) {
    Sums a{_mm512_setzero_ps(), _mm512_setzero_ps()};
    Sums b = a;
#pragma GCC unroll 16
    for (int64_t pair = 0; pair < kStep / 2; ++pair) {
      const __m512 even = _mm512_set1_ps(x[2 * pair]);
      const __m512 odd = _mm512_set1_ps(x[2 * pair + 1]);
      const bf16* weights = panel + pair * kStep;
      _mm_prefetch(weights + kAhead, _MM_HINT_T0);
      _mm_prefetch(weights + kTileElements + kAhead, _MM_HINT_T0);
      add_pair(weights, even, odd, a);
      add_pair(weights + kTileElements, even, odd, b);
    }
    left = _mm512_add_ps(left, _mm512_add_ps(a.even, a.odd));
    right = _mm512_add_ps(right, _mm512_add_ps(b.even, b.odd));
  }
  _mm512_store_ps(total, left);
  _mm512_store_ps(total + 16, right);
}

HEED_AMX_TARGET void multiply_panels(const Gemm& args, const float* x, int64_t begin, int64_t end) {
  const FlushSubnormals flush;
  const Epilogue epilogue{args.c,    args.ldc,        args.c_is_f32,      args.accumulate,
                          args.bias, args.activation, args.pre_activation};
  const int64_t steps = ceil_div(args.K, kStep);
  for (int64_t panel = begin; panel < end; ++panel) {
    alignas(64) float total[kPanel];
    multiply_panel(x, args.b_packed + panel * steps * kStepElements, steps, total);
    const int64_t column = panel * kPanel;
    finish_block_rows(epilogue, total, 0, 1, column, mask_of(std::min(kPanel, args.N - column)));
  }
}

}  // namespace

void row_gemm(const panels::Gemm& args) {
  static thread_local HugeScratch scratch;
  const int64_t padded = ceil_div(args.K, kStep) * kStep;
  auto* x = static_cast<float*>(scratch.get(static_cast<size_t>(padded) * sizeof(float)));
  for (int64_t i = 0; i < padded; ++i) {
    x[i] = i < args.K ? static_cast<float>(args.a[args.a_transposed ? i * args.lda : i]) : 0.0F;
  }
  parallel_rows(ceil_div(args.N, kPanel), kPanel * args.K,
                [&](int64_t begin, int64_t end) { multiply_panels(args, x, begin, end); });
}

}  // namespace heed::amx
