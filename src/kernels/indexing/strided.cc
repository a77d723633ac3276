#include "kernels/indexing/strided.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/indexing/strided.cc"
#include <hwy/foreach_target.h>
// Must come after foreach_target.h.
#include <hwy/highway.h>

#include <cassert>

#include "base/parallel.h"
#include "kernels/reduction/row_sum-inl.h"

#ifndef HEED_KERNELS_STRIDED_ONCE_
#define HEED_KERNELS_STRIDED_ONCE_
namespace heed::strided {

// Walks the outer axes of a copy in row-major order.
struct Odometer {
  const kernels::StridedCopy* args;
  int axes;
  kernels::StridedCopy::Extents at = {};
  int64_t from = 0;
  int64_t to = 0;

  Odometer(const kernels::StridedCopy& copy, int outer_axes, int64_t position)
      : args(&copy), axes(outer_axes) {
    for (int a = axes - 1; a >= 0; --a) {
      const size_t i = static_cast<size_t>(a);
      at[i] = position % copy.extents[i];
      position /= copy.extents[i];
      from += at[i] * copy.from_strides[i];
      to += at[i] * copy.to_strides[i];
    }
  }

  void next() {
    for (int a = axes - 1; a >= 0; --a) {
      const size_t i = static_cast<size_t>(a);
      from += args->from_strides[i];
      to += args->to_strides[i];
      if (++at[i] < args->extents[i]) {
        return;
      }
      from -= at[i] * args->from_strides[i];
      to -= at[i] * args->to_strides[i];
      at[i] = 0;
    }
  }
};

constexpr int64_t kTile = 64;

}  // namespace heed::strided
#endif  // HEED_KERNELS_STRIDED_ONCE_

HWY_BEFORE_NAMESPACE();
namespace heed {
namespace HWY_NAMESPACE {

template <typename T>
inline constexpr bool kIsFloat = std::is_same_v<T, float> || std::is_same_v<T, bf16>;

// to[i] (+)= from[i], both dense.
template <typename From, typename To>
HWY_INLINE void put_row(size_t n, const From* from, To* to, bool accumulate) {
  if constexpr (kIsFloat<From>) {
    if (accumulate) {
      map(
          n, to, [](FloatVec x, FloatVec y) { return hn::Add(x, y); }, from, to);
    } else {
      map(
          n, to, [](FloatVec x) { return x; }, from);
    }
  } else {
    (void)accumulate;
    std::memcpy(to, from, n * sizeof(To));
  }
}

template <typename From, typename To>
HWY_INLINE void put_one(From from, To* to, bool accumulate) {
  if constexpr (kIsFloat<From>) {
    const float old = accumulate ? static_cast<float>(*to) : 0.0F;
    *to = static_cast<To>(static_cast<float>(from) + old);
  } else {
    (void)accumulate;
    *to = from;
  }
}

// Rows [begin, end) of the outer axes; the last axis is the inner loop.
template <typename From, typename To>
void copy_rows(const kernels::StridedCopy& args, int64_t begin, int64_t end) {
  const size_t last = static_cast<size_t>(args.rank - 1);
  const int64_t n = args.extents[last];
  const int64_t from_step = args.from_strides[last];
  const int64_t to_step = args.to_strides[last];
  const From* from = static_cast<const From*>(args.from.data);
  To* to = static_cast<To*>(args.to.data);
  strided::Odometer row(args, args.rank - 1, begin);
  for (int64_t r = begin; r < end; ++r, row.next()) {
    if (from_step == 1 && to_step == 1) {
      put_row(static_cast<size_t>(n), from + row.from, to + row.to, args.accumulate);
      continue;
    }
    for (int64_t i = 0; i < n; ++i) {
      put_one(from[row.from + i * from_step], to + row.to + i * to_step, args.accumulate);
    }
  }
}

// out[c * kTile + r] = in[r * ld + c] for a block of as many rows and columns as a vector of 128
// bits has lanes: log2 stages of perfect shuffles.
template <typename T>
HWY_INLINE void transpose_block(const T* in, int64_t ld, T* out) {
  constexpr size_t kLanes = 16 / sizeof(T);
  const hn::Full128<T> tag;
  hn::Vec<hn::Full128<T>> rows[kLanes];
  hn::Vec<hn::Full128<T>> next[kLanes];
  for (size_t r = 0; r < kLanes; ++r) {
    rows[r] = hn::LoadU(tag, in + static_cast<int64_t>(r) * ld);
  }
  for (size_t stage = 1; stage < kLanes; stage *= 2) {
    for (size_t r = 0; r < kLanes / 2; ++r) {
      next[2 * r] = hn::InterleaveLower(tag, rows[r], rows[r + kLanes / 2]);
      next[2 * r + 1] = hn::InterleaveUpper(tag, rows[r], rows[r + kLanes / 2]);
    }
    for (size_t r = 0; r < kLanes; ++r) {
      rows[r] = next[r];
    }
  }
  for (size_t r = 0; r < kLanes; ++r) {
    hn::StoreU(rows[r], tag, out + r * strided::kTile);
  }
}

// out[c * kTile + r] = in[r * ld + c] for r < rows, c < columns.
template <typename T>
HWY_INLINE void transpose_tile(const T* in, int64_t ld, int64_t rows, int64_t columns, T* out) {
  constexpr int64_t kLanes = 16 / sizeof(T);
  const int64_t whole_rows = rows / kLanes * kLanes;
  const int64_t whole_columns = columns / kLanes * kLanes;
  for (int64_t r = 0; r < whole_rows; r += kLanes) {
    for (int64_t c = 0; c < whole_columns; c += kLanes) {
      transpose_block(in + r * ld + c, ld, out + c * strided::kTile + r);
    }
  }
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = r < whole_rows ? whole_columns : 0; c < columns; ++c) {
      out[c * strided::kTile + r] = in[r * ld + c];
    }
  }
}

// The last two axes swap places: the one before the last is dense in `from`, the last is dense in
// `to`. Tasks are tiles, so that both sides are read and written by whole cache lines.
template <typename From, typename To>
void copy_tiles(const kernels::StridedCopy& args, int64_t begin, int64_t end) {
  // Floats are moved as integers of their size: the shuffles know no bf16.
  using Word = std::conditional_t<sizeof(From) == 4, uint32_t,
                                  std::conditional_t<sizeof(From) == 2, uint16_t, uint8_t>>;
  const size_t a = static_cast<size_t>(args.rank - 2);
  const size_t b = a + 1;
  const int64_t tiles_a = (args.extents[a] + strided::kTile - 1) / strided::kTile;
  const int64_t tiles_b = (args.extents[b] + strided::kTile - 1) / strided::kTile;
  HWY_ALIGN From tile[strided::kTile * strided::kTile];
  for (int64_t task = begin; task < end; ++task) {
    const strided::Odometer outer(args, args.rank - 2, task / (tiles_a * tiles_b));
    const int64_t at_a = task % tiles_a * strided::kTile;
    const int64_t at_b = task / tiles_a % tiles_b * strided::kTile;
    const int64_t size_a = std::min(strided::kTile, args.extents[a] - at_a);
    const int64_t size_b = std::min(strided::kTile, args.extents[b] - at_b);
    const From* from =
        static_cast<const From*>(args.from.data) + outer.from + at_a + at_b * args.from_strides[b];
    To* to = static_cast<To*>(args.to.data) + outer.to + at_a * args.to_strides[a] + at_b;
    transpose_tile(reinterpret_cast<const Word*>(from), args.from_strides[b], size_b, size_a,
                   reinterpret_cast<Word*>(tile));
    for (int64_t r = 0; r < size_a; ++r) {
      put_row(static_cast<size_t>(size_b), tile + r * strided::kTile, to + r * args.to_strides[a],
              args.accumulate);
    }
  }
}

void strided_copy_part(const kernels::StridedCopy& args, bool tiles, int64_t begin, int64_t end) {
  const auto run = [&](auto* from, auto* to) {
    using From = std::remove_pointer_t<decltype(from)>;
    using To = std::remove_pointer_t<decltype(to)>;
    tiles ? copy_tiles<From, To>(args, begin, end) : copy_rows<From, To>(args, begin, end);
  };
  if (args.accumulate || args.from.dtype != args.to.dtype) {
    with_types(args.from.dtype, args.to.dtype, run);
  } else if (size_of(args.to.dtype) == 4) {
    run(static_cast<uint32_t*>(nullptr), static_cast<uint32_t*>(nullptr));
  } else if (size_of(args.to.dtype) == 2) {
    run(static_cast<uint16_t*>(nullptr), static_cast<uint16_t*>(nullptr));
  } else {
    run(static_cast<uint8_t*>(nullptr), static_cast<uint8_t*>(nullptr));
  }
}

// Columns [begin, end) of one outer index.
void fold_columns(const kernels::FoldAxis& args, int64_t outer, int64_t begin, int64_t end) {
  with_types(args.x.dtype, args.out.dtype, [&](auto* from, auto* to) {
    using From = std::remove_pointer_t<decltype(from)>;
    using To = std::remove_pointer_t<decltype(to)>;
    const From* x = static_cast<const From*>(args.x.data) + outer * args.extent * args.inner;
    To* out = static_cast<To*>(args.out.data) + outer * args.inner;
    if (args.inner == 1) {
      const float total = reduce(
          static_cast<size_t>(args.extent), [](FloatVec v) { return v; }, x);
      *out = static_cast<To>(total + (args.accumulate ? static_cast<float>(*out) : 0.0F));
    } else {
      const auto row = [&](int64_t r) { return WeightedRow<From>{x + r * args.inner + begin}; };
      sum_rows<From>(args.extent, row, static_cast<size_t>(end - begin), out + begin,
                     args.accumulate);
    }
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace heed
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed {
HWY_EXPORT(strided_copy_part);
HWY_EXPORT(fold_columns);

namespace kernels {
namespace {

// Drops axes of one element and merges neighbours that lie dense on both sides; the rank is at
// least one afterwards. False if there is nothing to copy.
bool simplify(StridedCopy& args) {
  StridedCopy result = args;
  result.rank = 0;
  for (size_t a = 0; a < static_cast<size_t>(args.rank); ++a) {
    if (args.extents[a] == 0) {
      return false;
    }
    if (args.extents[a] == 1) {
      continue;
    }
    const size_t last = static_cast<size_t>(result.rank) - 1;
    if (result.rank > 0 && result.from_strides[last] == args.from_strides[a] * args.extents[a] &&
        result.to_strides[last] == args.to_strides[a] * args.extents[a]) {
      result.extents[last] *= args.extents[a];
      result.from_strides[last] = args.from_strides[a];
      result.to_strides[last] = args.to_strides[a];
      continue;
    }
    result.extents[last + 1] = args.extents[a];
    result.from_strides[last + 1] = args.from_strides[a];
    result.to_strides[last + 1] = args.to_strides[a];
    ++result.rank;
  }
  if (result.rank == 0) {
    result.rank = 1;
    result.extents[0] = result.from_strides[0] = result.to_strides[0] = 1;
  }
  args = result;
  return true;
}

// Brings the axis that is dense in `from` before the last one, which is dense in `to`. False if
// the copy has no such pair, or one too short for tiles.
bool arrange_tiles(StridedCopy& args) {
  constexpr int64_t kWorthTiling = 4;
  const size_t last = static_cast<size_t>(args.rank - 1);
  if (args.rank < 2 || args.to_strides[last] != 1 || args.from_strides[last] <= 1 ||
      args.extents[last] < kWorthTiling) {
    return false;
  }
  for (size_t a = 0; a < last; ++a) {
    if (args.from_strides[a] == 1 && args.extents[a] >= kWorthTiling) {
      for (size_t i = a; i + 1 < last; ++i) {
        std::swap(args.extents[i], args.extents[i + 1]);
        std::swap(args.from_strides[i], args.from_strides[i + 1]);
        std::swap(args.to_strides[i], args.to_strides[i + 1]);
      }
      return true;
    }
  }
  return false;
}

}  // namespace

void strided_copy(StridedCopy args) {
  assert(args.rank <= StridedCopy::kMaxRank);
  if (!simplify(args)) {
    return;
  }
  const bool tiles = arrange_tiles(args);
  const size_t last = static_cast<size_t>(args.rank - 1);
  int64_t tasks = 1;
  for (size_t a = 0; a < (tiles ? last - 1 : last); ++a) {
    tasks *= args.extents[a];
  }
  int64_t work = args.extents[last];
  if (tiles) {
    const auto count = [&](size_t a) {
      return (args.extents[a] + strided::kTile - 1) / strided::kTile;
    };
    tasks *= count(last - 1) * count(last);
    work = strided::kTile * strided::kTile;
  } else if (args.rank == 1) {
    // One long row: split into pieces.
    parallel_for(args.extents[0], kParallelGrain, [&](int64_t begin, int64_t end) {
      StridedCopy part = args;
      part.extents[0] = end - begin;
      part.from.data =
          static_cast<const std::byte*>(args.from.data) +
          begin * args.from_strides[0] * static_cast<int64_t>(size_of(args.from.dtype));
      part.to.data = static_cast<std::byte*>(args.to.data) +
                     begin * args.to_strides[0] * static_cast<int64_t>(size_of(args.to.dtype));
      HWY_DYNAMIC_DISPATCH(strided_copy_part)(part, false, 0, 1);
    });
    return;
  }
  parallel_rows(tasks, work, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(strided_copy_part)(args, tiles, begin, end);
  });
}

void fold_axis(const FoldAxis& args) {
  constexpr int64_t kColumns = 256;
  const int64_t pieces = (args.inner + kColumns - 1) / kColumns;
  parallel_rows(args.outer * pieces, args.extent * std::min(args.inner, kColumns),
                [&](int64_t begin, int64_t end) {
                  for (int64_t task = begin; task < end; ++task) {
                    const int64_t first = task % pieces * kColumns;
                    HWY_DYNAMIC_DISPATCH(fold_columns)
                    (args, task / pieces, first, std::min(first + kColumns, args.inner));
                  }
                });
}

}  // namespace kernels
}  // namespace heed
#endif  // HWY_ONCE
