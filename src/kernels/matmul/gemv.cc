#include "kernels/matmul/gemv.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/matmul/gemv.cc"
#include <hwy/foreach_target.h>
// Must come after foreach_target.h.
#include <hwy/highway.h>

#include "base/parallel.h"
#include "kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed {
namespace HWY_NAMESPACE {

// A tile of rows of x times four rows of w keeps one vector of sums for each product in registers.
// The first tile that meets rows of w has to fetch them, and memory that is read as it lies comes
// twice as fast as four streams side by side (Zen 4). So one row of x takes the rows of w one after
// the other, and several ask for what lies behind these four in advance, in its order, into the
// second-level cache: then six rows take the time of one if w comes from memory. Other tiles find w
// in the cache.
inline constexpr size_t kColumns = kQuad;
inline constexpr size_t kAheadBytes = 8 << 10;
inline constexpr int64_t kTileRows = HWY_TARGET <= HWY_AVX3 ? 6 : 2;

// sums[r][c] for the columns from `first` to `last`, lane by lane: x row r . w row c. With `ahead`,
// which needs all four columns, fetches as much of w as it reads, further on.
template <int64_t rows, size_t first, size_t last, bool ahead = false, typename T>
HWY_INLINE void lane_products(const T* x, int64_t ldx, const T* const* w, size_t k,
                              FloatVec (*sums)[kColumns]) {
  const size_t lanes = hn::Lanes(FloatTag());
  size_t i = 0;
  for (; i + lanes <= k; i += lanes) {
    FloatVec weights[kColumns];
    HWY_UNROLL(4)
    for (size_t c = first; c < last; ++c) {
      weights[c] = load(w[c] + i);
      if constexpr (ahead) {
        constexpr int kIntoSecondLevel = 2;
        __builtin_prefetch(w[0] + kAheadBytes / sizeof(T) + i * kColumns + c * lanes, 0,
                           kIntoSecondLevel);
      }
    }
    HWY_UNROLL(6)
    for (int64_t r = 0; r < rows; ++r) {
      const FloatVec v = load(x + r * ldx + i);
      for (size_t c = first; c < last; ++c) {
        sums[r][c] = hn::MulAdd(v, weights[c], sums[r][c]);
      }
    }
  }
  if (i < k) {
    for (int64_t r = 0; r < rows; ++r) {
      const FloatVec v = load_n(x + r * ldx + i, k - i);
      for (size_t c = first; c < last; ++c) {
        sums[r][c] = hn::MulAdd(v, load_n(w[c] + i, k - i), sums[r][c]);
      }
    }
  }
}

// out[r][c] = x row r . w row c, with the same bits whether w is read in order or side by side.
// Fewer than four columns: the last one again.
template <int64_t rows, bool first, typename T>
HWY_INLINE void dots(const T* x, int64_t ldx, const T* const* w, size_t k, float (*out)[kColumns]) {
  FloatVec sums[rows][kColumns];
  for (int64_t r = 0; r < rows; ++r) {
    for (size_t c = 0; c < kColumns; ++c) {
      sums[r][c] = zero();
    }
  }
  if constexpr (first && rows == 1) {
    lane_products<rows, 0, 1>(x, ldx, w, k, sums);
    lane_products<rows, 1, 2>(x, ldx, w, k, sums);
    lane_products<rows, 2, 3>(x, ldx, w, k, sums);
    lane_products<rows, 3, 4>(x, ldx, w, k, sums);
  } else {
    lane_products<rows, 0, kColumns, first>(x, ldx, w, k, sums);
  }
  for (int64_t r = 0; r < rows; ++r) {
    hn::StoreU(sums_of_four(sums[r]), QuadTag(), out[r]);
  }
}

// The sums of a row of a tile, on their way to y.
template <typename TY>
HWY_INLINE void finish(const kernels::Gemv& args, const float* sums, int64_t row, int64_t column,
                       int64_t columns) {
  TY* y = static_cast<TY*>(args.y.data) + row * args.ldy + column;
  for (int64_t c = 0; c < columns; ++c) {
    float value = sums[c] + (args.bias == nullptr ? 0.0F : args.bias[column + c]) +
                  (args.accumulate ? static_cast<float>(y[c]) : 0.0F);
    value = args.relu && value < 0.0F ? 0.0F : value;
    y[c] = TY(value);
  }
}

template <int64_t rows, bool first, typename T>
HWY_INLINE void tile(const kernels::Gemv& args, int64_t row, int64_t column, int64_t columns) {
  const T* x = static_cast<const T*>(args.x.data) + row * args.ldx;
  const T* base = static_cast<const T*>(args.w.data);
  const T* w[kColumns];
  for (int64_t c = 0; c < static_cast<int64_t>(kColumns); ++c) {
    w[c] = base + (column + std::min(c, columns - 1)) * args.ldw;
  }
  HWY_ALIGN float out[rows][kColumns];
  dots<rows, first>(x, args.ldx, w, static_cast<size_t>(args.k), out);
  for (int64_t r = 0; r < rows; ++r) {
    if (args.y.dtype == DType::f32) {
      finish<float>(args, out[r], row + r, column, columns);
    } else {
      finish<bf16>(args, out[r], row + r, column, columns);
    }
  }
}

// At most a whole tile of `left` rows: found by counting down.
template <int64_t rows, bool first, typename T>
HWY_INLINE void tile_of(int64_t left, const kernels::Gemv& args, int64_t row, int64_t column,
                        int64_t columns) {
  if (left >= rows) {
    tile<rows, first, T>(args, row, column, columns);
  } else if constexpr (rows > 1) {
    tile_of<rows - 1, first, T>(left, args, row, column, columns);
  }
}

// Rows in blocks that stay in the second-level cache while all columns pass by.
template <typename T>
void gemv_rows(const kernels::Gemv& args, int64_t begin, int64_t end) {
  constexpr int64_t kBlockBytes = 256 << 10;
  const int64_t fitting = kBlockBytes / (static_cast<int64_t>(sizeof(T)) * args.k + 1);
  const int64_t block = std::max<int64_t>(1, fitting / kTileRows) * kTileRows;
  for (int64_t first = 0; first < args.m; first += block) {
    const int64_t last = std::min(args.m, first + block);
    for (int64_t n = begin; n < end; n += kColumns) {
      const int64_t columns = std::min<int64_t>(kColumns, end - n);
      tile_of<kTileRows, true, T>(last - first, args, first, n, columns);
      for (int64_t row = first + kTileRows; row < last; row += kTileRows) {
        tile_of<kTileRows, false, T>(last - row, args, row, n, columns);
      }
    }
  }
}

void gemv(const kernels::Gemv& args, int64_t begin, int64_t end) {
  with_type(args.x.dtype, [&](auto* type) {
    gemv_rows<std::remove_pointer_t<decltype(type)>>(args, begin, end);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace heed
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed {
HWY_EXPORT(gemv);

namespace kernels {

void gemv(const Gemv& args) {
  const int64_t grain = std::max<int64_t>(4, kParallelGrain / std::max<int64_t>(1, args.k));
  parallel_for(args.n, grain, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(heed::gemv)(args, begin, end);
  });
}

}  // namespace kernels
}  // namespace heed
#endif  // HWY_ONCE
