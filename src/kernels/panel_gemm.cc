#include "kernels/panel_gemm.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/panel_gemm.cc"
#include <hwy/foreach_target.h>
// Must come after foreach_target.h.
#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <algorithm>

#include "base/parallel.h"
#include "kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed {
namespace HWY_NAMESPACE {

// A block of rows times one panel keeps its sums in registers: rows * vectors of them, with room
// left for the panel's row of k.
inline constexpr size_t kVectors =
    static_cast<size_t>(kernels::kPanel) * sizeof(float) / HWY_MIN(HWY_MAX_BYTES, 64);
inline constexpr int64_t kRows = HWY_TARGET <= HWY_AVX3 ? 12 : HWY_TARGET <= HWY_AVX2 ? 3 : 1;
// Bytes of the panel asked for ahead: a single row is bound by memory.
inline constexpr int64_t kAhead = 4096 / sizeof(float);

HWY_INLINE void store_sums(const FloatVec* sums, const kernels::PanelGemm& g, int64_t row,
                           int64_t column) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(FloatTag()));
  for (size_t v = 0; v < kVectors; ++v) {
    const int64_t at = column + static_cast<int64_t>(v) * lanes;
    const auto count = static_cast<size_t>(std::clamp<int64_t>(g.n - at, 0, lanes));
    if (count == 0) {
      break;
    }
    const bool whole = count == static_cast<size_t>(lanes);
    FloatVec y = sums[v];
    if (g.bias != nullptr) {
      y = hn::Add(y, whole ? load(g.bias + at) : load_n(g.bias + at, count));
    }
    y = g.relu ? hn::Max(y, zero()) : y;
    float* c = g.c + row * g.ldc + at;
    if (whole) {
      store(y, c);
    } else {
      store_n(y, c, count);
    }
  }
}

template <int64_t rows>
HWY_INLINE void row_block(const kernels::PanelGemm& g, int64_t row, int64_t column) {
  const float* b = g.packed_b + column * g.k;
  const float* a = g.a + row * g.lda;
  const size_t lanes = hn::Lanes(FloatTag());
  FloatVec sums[rows][kVectors];
  for (int64_t r = 0; r < rows; ++r) {
    for (size_t v = 0; v < kVectors; ++v) {
      sums[r][v] = zero();
    }
  }
  for (int64_t i = 0; i < g.k; ++i, b += kernels::kPanel) {
    FloatVec panel[kVectors];
    HWY_UNROLL(8)
    for (size_t v = 0; v < kVectors; ++v) {
      panel[v] = load(b + v * lanes);
    }
    if (rows == 1) {
      hwy::Prefetch(b + kAhead);
      hwy::Prefetch(b + kAhead + kernels::kPanel / 2);
    }
    HWY_UNROLL(12)
    for (int64_t r = 0; r < rows; ++r) {
      const FloatVec x = hn::Set(FloatTag(), a[r * g.lda + i]);
      for (size_t v = 0; v < kVectors; ++v) {
        sums[r][v] = hn::MulAdd(x, panel[v], sums[r][v]);
      }
    }
  }
  for (int64_t r = 0; r < rows; ++r) {
    store_sums(sums[r], g, row + r, column);
  }
}

// The last few rows of the matrix: `rows` of them, found by counting down.
template <int64_t rows>
HWY_INLINE void last_rows(const kernels::PanelGemm& g, int64_t row, int64_t column) {
  if (g.m - row == rows) {
    row_block<rows>(g, row, column);
  } else if constexpr (rows > 1) {
    last_rows<rows - 1>(g, row, column);
  }
}

void PanelGemmImpl(const kernels::PanelGemm& g) {
  const int64_t panels = (g.n + kernels::kPanel - 1) / kernels::kPanel;
  const int64_t work = g.m * g.k * kernels::kPanel;  // of a panel
  parallel_for(panels, std::max<int64_t>(1, kParallelGrain * 4 / std::max<int64_t>(work, 1)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t panel = begin; panel < end; ++panel) {
                   const int64_t column = panel * kernels::kPanel;
                   int64_t row = 0;
                   for (; row + kRows <= g.m; row += kRows) {
                     row_block<kRows>(g, row, column);
                   }
                   if (row < g.m) {
                     last_rows<kRows>(g, row, column);
                   }
                 }
               });
}

}  // namespace HWY_NAMESPACE
}  // namespace heed
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed::kernels {

HWY_EXPORT(PanelGemmImpl);
void panel_gemm(const PanelGemm& args) { HWY_DYNAMIC_DISPATCH(PanelGemmImpl)(args); }

void pack_panels(const float* b, int64_t ldb, int64_t n, int64_t k, float* packed) {
  const int64_t panels = (n + kPanel - 1) / kPanel;
  parallel_for(panels, 1, [&](int64_t begin, int64_t end) {
    for (int64_t panel = begin; panel < end; ++panel) {
      for (int64_t i = 0; i < k; ++i) {
        for (int64_t j = 0; j < kPanel; ++j) {
          const int64_t row = panel * kPanel + j;
          packed[(panel * k + i) * kPanel + j] = row < n ? b[row * ldb + i] : 0.0F;
        }
      }
    }
  });
}

}  // namespace heed::kernels
#endif
