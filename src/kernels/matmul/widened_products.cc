#include "kernels/matmul/widened_products.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/matmul/widened_products.cc"
#include <hwy/foreach_target.h>
// Must come after foreach_target.h.
#include <hwy/highway.h>

#include <algorithm>

#include "base/parallel.h"
#include "base/scratch.h"
#include "kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed {
namespace HWY_NAMESPACE {

// The layout of a panel: see panels-inl.h, which is for AVX-512 alone.
inline constexpr int64_t kPanel = 32;        // columns
inline constexpr int64_t kTileColumns = 16;  // a panel's step is two tiles
inline constexpr int64_t kPairs = 16;        // of k in a step: the rows of a tile
inline constexpr int64_t kTile = 512;        // elements
inline constexpr int64_t kStepElements = 2 * kTile;
inline constexpr int64_t kVectors = 2;  // of columns worked on together
inline constexpr int64_t kMostRows = HWY_TARGET <= HWY_AVX3 ? 12 : 5;

// Pairs of bf16 as two vectors of f32: the even k and the odd k of each column.
struct WidePair {
  FloatVec even;
  FloatVec odd;
};
HWY_INLINE WidePair widen_pairs(const bf16* p) {
  const hn::RebindToUnsigned<FloatTag> words;
  const auto bits = hn::LoadU(words, reinterpret_cast<const uint32_t*>(p));
  return {hn::BitCast(FloatTag(), hn::ShiftLeft<16>(bits)),
          hn::BitCast(FloatTag(), hn::And(bits, hn::Set(words, 0xFFFF0000U)))};
}

// sums[r] = rows of x times kVectors vectors of columns from `column` of a panel on.
template <int64_t rows>
HWY_INLINE void multiply_columns(const float* x, int64_t ldx, const bf16* panel, int64_t steps,
                                 int64_t column, FloatVec (&sums)[rows][kVectors]) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(FloatTag()));
  for (auto& row : sums) {
    for (FloatVec& sum : row) {
      sum = zero();
    }
  }
  // Where each vector of columns begins: two neighbours, or one in each tile with 16 lanes.
  const int64_t first = column / kTileColumns * kTile + column % kTileColumns * 2;
  const int64_t second =
      (column + lanes) / kTileColumns * kTile + (column + lanes) % kTileColumns * 2;
  for (int64_t step = 0; step < steps; ++step, panel += kStepElements, x += 2 * kPairs) {
    HWY_UNROLL(2)
    for (int64_t pair = 0; pair < kPairs; ++pair) {
      const bf16* row = panel + pair * 2 * kTileColumns;
      const WidePair b[kVectors] = {widen_pairs(row + first), widen_pairs(row + second)};
      for (int64_t r = 0; r < rows; ++r) {
        const FloatVec even = set(x[r * ldx + 2 * pair]);
        const FloatVec odd = set(x[r * ldx + 2 * pair + 1]);
        for (int64_t v = 0; v < kVectors; ++v) {
          sums[r][v] = hn::MulAdd(odd, b[v].odd, hn::MulAdd(even, b[v].even, sums[r][v]));
        }
      }
    }
  }
}

// sums = a lone row times a whole panel, which is read as it lies: see dot_products.cc.
HWY_INLINE void multiply_row(const float* x, const bf16* panel, int64_t steps, float* sums) {
  constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(FloatTag()));
  constexpr int64_t kTileVectors = kTileColumns / kLanes;
  FloatVec totals[2][kTileVectors];
  for (auto& tile : totals) {
    for (FloatVec& total : tile) {
      total = zero();
    }
  }
  for (int64_t step = 0; step < steps; ++step, x += 2 * kPairs) {
    for (auto& tile : totals) {
      for (int64_t pair = 0; pair < kPairs; ++pair) {
        const FloatVec even = set(x[2 * pair]);
        const FloatVec odd = set(x[2 * pair + 1]);
        for (FloatVec& total : tile) {
          const WidePair b = widen_pairs(panel);
          total = hn::MulAdd(odd, b.odd, hn::MulAdd(even, b.even, total));
          panel += 2 * kLanes;
        }
      }
    }
  }
  for (const auto& tile : totals) {
    for (const FloatVec& total : tile) {
      store(total, sums);
      sums += kLanes;
    }
  }
}

// Carries a row of up to kPanel sums to C.
template <typename T>
HWY_INLINE void finish_row(const panels::Gemm& args, const float* sums, int64_t row, int64_t column,
                           int64_t columns) {
  T* c = static_cast<T*>(args.c) + row * args.ldc + column;
  HWY_ALIGN float values[kPanel];
  const auto n = static_cast<size_t>(columns);
  const float* from = sums;
  if (args.bias != nullptr) {
    map(
        n, values, [](FloatVec s, FloatVec b) { return hn::Add(s, b); }, sums, args.bias + column);
    from = values;
  }
  if (args.accumulate) {
    map(
        n, c, [](FloatVec s, FloatVec old) { return hn::Add(s, old); }, from, c);
  } else {
    map(
        n, c, [](FloatVec s) { return s; }, from);
  }
}

template <int64_t rows>
void widened_rows(const panels::Gemm& args, const float* x, int64_t ldx, int64_t row,
                  int64_t panel) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(FloatTag()));
  const int64_t steps = (args.K + 2 * kPairs - 1) / (2 * kPairs);
  HWY_ALIGN float block[rows][kPanel];
  const bf16* b = args.b_packed + panel * steps * kStepElements;
  if constexpr (rows == 1) {
    multiply_row(x + row * ldx, b, steps, block[0]);
  }
  for (int64_t column = 0; rows > 1 && column < kPanel; column += kVectors * lanes) {
    FloatVec sums[rows][kVectors];
    multiply_columns<rows>(x + row * ldx, ldx, b, steps, column, sums);
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t v = 0; v < kVectors; ++v) {
        store(sums[r][v], block[r] + column + v * lanes);
      }
    }
  }
  const int64_t first = panel * kPanel;
  const int64_t columns = std::min(kPanel, args.N - first);
  for (int64_t r = 0; r < rows; ++r) {
    if (args.c_is_f32) {
      finish_row<float>(args, block[r], row + r, first, columns);
    } else {
      finish_row<bf16>(args, block[r], row + r, first, columns);
    }
  }
}

template <int64_t rows = kMostRows>
HWY_INLINE void some_rows(int64_t wanted, const panels::Gemm& args, const float* x, int64_t ldx,
                          int64_t row, int64_t panel) {
  if (wanted == rows) {
    widened_rows<rows>(args, x, ldx, row, panel);
  } else if constexpr (rows > 1) {
    some_rows<rows - 1>(wanted, args, x, ldx, row, panel);
  }
}

// Panels [begin, end) of C. x is A in f32, rows ldx apart, padded with zeros to whole steps.
void widened_panels(const panels::Gemm& args, const float* x, int64_t ldx, int64_t begin,
                    int64_t end) {
  constexpr int64_t kBlockBytes = 256 << 10;  // of x that stays in L2 while the panels pass
  const int64_t block = std::max(kMostRows, kBlockBytes / (4 * ldx) / kMostRows * kMostRows);
  for (int64_t first = 0; first < args.M; first += block) {
    const int64_t last = std::min(args.M, first + block);
    for (int64_t panel = begin; panel < end; ++panel) {
      for (int64_t row = first; row < last; row += kMostRows) {
        some_rows(std::min(kMostRows, last - row), args, x, ldx, row, panel);
      }
    }
  }
}

void widen_row(const bf16* from, int64_t n, int64_t padded, float* to) {
  map(
      static_cast<size_t>(n), to, [](FloatVec v) { return v; }, from);
  std::fill(to + n, to + padded, 0.0F);
}

}  // namespace HWY_NAMESPACE
}  // namespace heed
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed {
HWY_EXPORT(widened_panels);
HWY_EXPORT(widen_row);

namespace panels {

void widened_gemm(const Gemm& args) {
  thread_local Scratch scratch;
  constexpr int64_t kStep = 32;
  const int64_t padded = (args.K + kStep - 1) / kStep * kStep;
  // Rows on different sets of the first-level cache, also where K is a power of two.
  const int64_t ldx = padded + 16;
  float* x = scratch.get<float>(static_cast<size_t>(args.M * ldx));
  parallel_rows(args.M, args.K, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      HWY_DYNAMIC_DISPATCH(widen_row)(args.a + row * args.lda, args.K, padded, x + row * ldx);
    }
  });
  constexpr int64_t kPanelColumns = 32;
  parallel_rows((args.N + kPanelColumns - 1) / kPanelColumns, kPanelColumns * args.K,
                [&](int64_t begin, int64_t end) {
                  HWY_DYNAMIC_DISPATCH(widened_panels)(args, x, ldx, begin, end);
                });
}

}  // namespace panels
}  // namespace heed
#endif  // HWY_ONCE
