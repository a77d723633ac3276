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
// A single row takes the rows of w one after the other: memory that is read as it lies comes twice
// as fast as four streams side by side (Zen 4).
inline constexpr size_t kColumns = kQuad;
inline constexpr int64_t kTileRows = HWY_TARGET <= HWY_AVX3 ? 6 : 2;

// The sums of the products of x and w, lane by lane.
template <typename T>
HWY_INLINE FloatVec lane_products(const T* x, const T* w, size_t k) {
  const size_t lanes = hn::Lanes(FloatTag());
  FloatVec sum = zero();
  size_t i = 0;
  for (; i + lanes <= k; i += lanes) {
    sum = hn::MulAdd(load(x + i), load(w + i), sum);
  }
  if (i < k) {
    sum = hn::MulAdd(load_n(x + i, k - i), load_n(w + i, k - i), sum);
  }
  return sum;
}

// out[c] = x . w row c, in the order of dots().
template <typename T>
HWY_INLINE void dots_of_one(const T* x, const T* const* w, size_t k, float* out) {
  FloatVec sums[kColumns];
  for (size_t c = 0; c < kColumns; ++c) {
    sums[c] = lane_products(x, w[c], k);
  }
  hn::StoreU(sums_of_four(sums), QuadTag(), out);
}

// out[r][c] = x row r . w row c. Fewer than four columns: the last one again.
template <int64_t rows, typename T>
HWY_INLINE void dots(const T* x, int64_t ldx, const T* const* w, size_t k, float (*out)[kColumns]) {
  const size_t lanes = hn::Lanes(FloatTag());
  FloatVec sums[rows][kColumns];
  for (int64_t r = 0; r < rows; ++r) {
    for (size_t c = 0; c < kColumns; ++c) {
      sums[r][c] = zero();
    }
  }
  size_t i = 0;
  for (; i + lanes <= k; i += lanes) {
    FloatVec weights[kColumns];
    HWY_UNROLL(4)
    for (size_t c = 0; c < kColumns; ++c) {
      weights[c] = load(w[c] + i);
    }
    HWY_UNROLL(6)
    for (int64_t r = 0; r < rows; ++r) {
      const FloatVec v = load(x + r * ldx + i);
      for (size_t c = 0; c < kColumns; ++c) {
        sums[r][c] = hn::MulAdd(v, weights[c], sums[r][c]);
      }
    }
  }
  if (i < k) {
    for (int64_t r = 0; r < rows; ++r) {
      const FloatVec v = load_n(x + r * ldx + i, k - i);
      for (size_t c = 0; c < kColumns; ++c) {
        sums[r][c] = hn::MulAdd(v, load_n(w[c] + i, k - i), sums[r][c]);
      }
    }
  }
  for (int64_t r = 0; r < rows; ++r) {
    hn::StoreU(sums_of_four(sums[r]), QuadTag(), out[r]);
  }
}

template <int64_t rows, typename T, typename TY>
HWY_INLINE void tile(const kernels::Gemv& args, int64_t row, int64_t column, int64_t columns) {
  const T* x = static_cast<const T*>(args.x.data) + row * args.ldx;
  const T* base = static_cast<const T*>(args.w.data);
  const T* w[kColumns];
  for (int64_t c = 0; c < static_cast<int64_t>(kColumns); ++c) {
    w[c] = base + (column + std::min(c, columns - 1)) * args.ldw;
  }
  HWY_ALIGN float out[rows][kColumns];
  if constexpr (rows == 1) {
    dots_of_one(x, w, static_cast<size_t>(args.k), out[0]);
  } else {
    dots<rows>(x, args.ldx, w, static_cast<size_t>(args.k), out);
  }
  for (int64_t r = 0; r < rows; ++r) {
    TY* y = static_cast<TY*>(args.y.data) + (row + r) * args.ldy + column;
    for (int64_t c = 0; c < columns; ++c) {
      float value = out[r][c] + (args.bias == nullptr ? 0.0F : args.bias[column + c]) +
                    (args.accumulate ? static_cast<float>(y[c]) : 0.0F);
      value = args.relu && value < 0.0F ? 0.0F : value;
      y[c] = TY(value);
    }
  }
}

// `left` rows, fewer than a whole tile: found by counting down.
template <int64_t rows, typename T, typename TY>
HWY_INLINE void last_tile(const kernels::Gemv& args, int64_t row, int64_t column, int64_t columns) {
  if (args.m - row == rows) {
    tile<rows, T, TY>(args, row, column, columns);
  } else if constexpr (rows > 1) {
    last_tile<rows - 1, T, TY>(args, row, column, columns);
  }
}

// Rows in blocks that stay in the second-level cache while all columns pass by.
template <typename T, typename TY>
void gemv_rows(const kernels::Gemv& args, int64_t begin, int64_t end) {
  constexpr int64_t kBlockBytes = 256 << 10;
  const int64_t fitting = kBlockBytes / (static_cast<int64_t>(sizeof(T)) * args.k + 1);
  const int64_t block = std::max<int64_t>(1, fitting / kTileRows) * kTileRows;
  for (int64_t first = 0; first < args.m; first += block) {
    const int64_t last = std::min(args.m, first + block);
    for (int64_t n = begin; n < end; n += kColumns) {
      const int64_t columns = std::min<int64_t>(kColumns, end - n);
      int64_t row = first;
      for (; row + kTileRows <= last; row += kTileRows) {
        tile<kTileRows, T, TY>(args, row, n, columns);
      }
      if (row < last) {
        last_tile<kTileRows, T, TY>(args, row, n, columns);
      }
    }
  }
}

void gemv(const kernels::Gemv& args, int64_t begin, int64_t end) {
  with_type(args.x.dtype, [&](auto* type) {
    with_type(args.y.dtype, [&](auto* y_type) {
      gemv_rows<std::remove_pointer_t<decltype(type)>, std::remove_pointer_t<decltype(y_type)>>(
          args, begin, end);
    });
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
