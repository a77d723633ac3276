#include "kernels/reduction/axis_reduction.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/reduction/axis_reduction.cc"
#include <hwy/foreach_target.h>
// Must come after foreach_target.h.
#include <hwy/highway.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "base/parallel.h"
#include "base/scratch.h"
#include "kernels/block-inl.h"

#ifndef HEED_KERNELS_REDUCTION_AXIS_REDUCTION_ROWS_
#define HEED_KERNELS_REDUCTION_AXIS_REDUCTION_ROWS_
namespace heed::kernels {

// Rows [begin, end) that start at `at` and lie `stride` apart.
struct Rows {
  int64_t at, stride, begin, end;
};

}  // namespace heed::kernels
#endif  // HEED_KERNELS_REDUCTION_AXIS_REDUCTION_ROWS_

HWY_BEFORE_NAMESPACE();
namespace heed {
namespace HWY_NAMESPACE {

// Sum of x[at, at + n), read as one run.
double run_sum(kernels::In x, int64_t at, int64_t n) {
  float buffer[kBlock];
  double total = 0.0;
  for (int64_t i = 0; i < n; i += kBlock) {
    const size_t length = static_cast<size_t>(std::min(kBlock, n - i));
    total += static_cast<double>(reduce(
        length, [](FloatVec v) { return v; }, widen(x, at + i, length, buffer)));
  }
  return total;
}

// Sums rows [begin, end) of `width` columns, `stride` apart: 64 rows in f32, then in double.
void strip_sum(kernels::In x, kernels::Rows rows, size_t width, double* total) {
  constexpr int64_t kRows = 64;
  float partial[kBlock];
  float buffer[kBlock];
  std::fill_n(total, width, 0.0);
  for (int64_t first = rows.begin; first < rows.end; first += kRows) {
    std::fill_n(partial, width, 0.0F);
    for (int64_t row = first; row < std::min(rows.end, first + kRows); ++row) {
      map(
          width, partial, [](FloatVec s, FloatVec v) { return hn::Add(s, v); }, partial,
          widen(x, rows.at + row * rows.stride, width, buffer));
    }
    for (size_t i = 0; i < width; ++i) {
      total[i] += static_cast<double>(partial[i]);
    }
  }
}

void put_floats(kernels::Out out, int64_t at, size_t n, const float* values, bool accumulate) {
  put(out, at, n, values, accumulate);
}

// Rows [begin, end) of all outer * n rows of the result.
void spread_rows(const kernels::AxisSpread& args, int64_t begin, int64_t end) {
  const FloatVec scale = set(args.scale);
  float results[kBlock];
  float buffer[kBlock];
  if (args.inner == 1) {  // whole rows of one number each
    for (int64_t i = begin; i < end;) {
      const int64_t outer = i / args.n;
      const int64_t length = std::min({kBlock, end - i, (outer + 1) * args.n - i});
      std::fill_n(results, length, args.scale * *widen(args.x, outer, 1, buffer));
      put(args.y, i, static_cast<size_t>(length), results, args.accumulate);
      i += length;
    }
    return;
  }
  for (int64_t row = begin; row < end; ++row) {
    for (int64_t column = 0; column < args.inner; column += kBlock) {
      const size_t width = static_cast<size_t>(std::min(kBlock, args.inner - column));
      const float* x = widen(args.x, row / args.n * args.inner + column, width, buffer);
      map(
          width, results, [&](FloatVec v) { return hn::Mul(v, scale); }, x);
      put(args.y, row * args.inner + column, width, results, args.accumulate);
    }
  }
}

using IndexTag = hn::RebindToSigned<FloatTag>;

HWY_INLINE auto beats(FloatVec challenger, FloatVec best) {
  return hn::Or(hn::Gt(challenger, best), hn::AndNot(hn::IsNaN(best), hn::IsNaN(challenger)));
}

// The first maximum of x[at, at + n): lanes keep their own, then they are compared.
void run_max(kernels::In x, int64_t at, int64_t n, float* value, int32_t* index) {
  const IndexTag d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  float buffer[kBlock];
  const float first = *widen(x, at, 1, buffer);
  FloatVec best = set(first);
  auto best_index = hn::Zero(d);
  for (int64_t i = 0; i < n; i += kBlock) {
    const int64_t length = std::min(kBlock, n - i);
    const float* values = widen(x, at + i, static_cast<size_t>(length), buffer);
    for (int64_t j = 0; j < length; j += lanes) {
      FloatVec v = best;  // lanes past the end challenge nobody
      if (j + lanes <= length) {
        v = load(values + j);
      } else {
        const size_t rest = static_cast<size_t>(length - j);
        v = hn::IfThenElse(hn::FirstN(FloatTag(), rest), load_n(values + j, rest), best);
      }
      const auto wins = beats(v, best);
      best = hn::IfThenElse(wins, v, best);
      best_index = hn::IfThenElse(hn::RebindMask(d, wins), hn::Iota(d, static_cast<int32_t>(i + j)),
                                  best_index);
    }
  }
  HWY_ALIGN float lane_values[HWY_MAX_BYTES / sizeof(float)];
  HWY_ALIGN int32_t lane_indices[HWY_MAX_BYTES / sizeof(int32_t)];
  store(best, lane_values);
  hn::StoreU(best_index, d, lane_indices);
  *value = lane_values[0];
  *index = lane_indices[0];
  for (int64_t lane = 1; lane < lanes; ++lane) {
    const float v = lane_values[lane];
    const bool same = v == *value || (std::isnan(v) && std::isnan(*value));
    if (v > *value || (std::isnan(v) && !std::isnan(*value)) ||
        (same && lane_indices[lane] < *index)) {
      *value = v;
      *index = lane_indices[lane];
    }
  }
}

// `width` columns from `at` on: values and positions of their first maxima.
void strip_max(const kernels::AxisMax& args, int64_t at, size_t width, float* values,
               int32_t* index) {
  const IndexTag d;
  const size_t lanes = hn::Lanes(d);
  float buffer[kBlock];
  std::copy_n(widen(args.x, at, width, buffer), width, values);
  std::fill_n(index, width, 0);
  for (int64_t row = 1; row < args.n; ++row) {
    const float* x = widen(args.x, at + row * args.inner, width, buffer);
    const auto here = hn::Set(d, static_cast<int32_t>(row));
    size_t i = 0;
    for (; i + lanes <= width; i += lanes) {
      const FloatVec v = load(x + i);
      const FloatVec best = load(values + i);
      const auto wins = beats(v, best);
      store(hn::IfThenElse(wins, v, best), values + i);
      hn::StoreU(hn::IfThenElse(hn::RebindMask(d, wins), here, hn::LoadU(d, index + i)), d,
                 index + i);
    }
    for (; i < width; ++i) {
      if (x[i] > values[i] || (std::isnan(x[i]) && !std::isnan(values[i]))) {
        values[i] = x[i];
        index[i] = static_cast<int32_t>(row);
      }
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace heed
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed {
HWY_EXPORT(run_sum);
HWY_EXPORT(strip_sum);
HWY_EXPORT(put_floats);
HWY_EXPORT(spread_rows);
HWY_EXPORT(run_max);
HWY_EXPORT(strip_max);

namespace kernels {
namespace {

// All below depend on the sizes alone, never on the number of threads.
constexpr int64_t kRun = 65536;  // elements of a long row that are summed as one piece
constexpr int64_t kStrip = 128;  // columns side by side; at most a block
constexpr int64_t kRows = 2048;  // rows that are summed as one piece

int64_t pieces(int64_t count, int64_t size) {
  return std::max<int64_t>(1, (count + size - 1) / size);
}

// y[at, at + n) (+)= scale * sums
void put_sums(const AxisSum& args, int64_t at, int64_t n, const double* sums) {
  float values[kStrip];
  for (int64_t i = 0; i < n; i += kStrip) {
    const int64_t width = std::min(kStrip, n - i);
    for (int64_t j = 0; j < width; ++j) {
      values[j] = static_cast<float>(sums[i + j] * static_cast<double>(args.scale));
    }
    HWY_DYNAMIC_DISPATCH(put_floats)
    (args.y, at + i, static_cast<size_t>(width), values, args.accumulate);
  }
}

// Adds up groups of `count` rows of `width` in order, in place: group g goes to row g.
void combine(int64_t groups, int64_t count, int64_t width, double* partial) {
  for (int64_t group = 0; group < groups; ++group) {
    for (int64_t i = 0; i < width; ++i) {
      double total = 0.0;
      for (int64_t piece = 0; piece < count; ++piece) {
        total += partial[(group * count + piece) * width + i];
      }
      partial[group * width + i] = total;
    }
  }
}

void sum_rows(const AxisSum& args) {
  thread_local Scratch scratch;
  const int64_t runs = pieces(args.n, kRun);
  double* partial = scratch.get<double>(static_cast<size_t>(args.outer * runs));
  parallel_rows(args.outer * runs, std::min(args.n, kRun), [&](int64_t begin, int64_t end) {
    for (int64_t task = begin; task < end; ++task) {
      const int64_t from = task % runs * kRun;
      partial[task] = HWY_DYNAMIC_DISPATCH(run_sum)(args.x, task / runs * args.n + from,
                                                    std::min(kRun, args.n - from));
    }
  });
  if (runs > 1) {
    combine(args.outer, runs, 1, partial);
  }
  put_sums(args, 0, args.outer, partial);
}

// How many rows are taken as one: a few columns would leave most of a vector idle.
int64_t rows_at_once(const AxisSum& args) {
  const int64_t rows = args.inner > 64 ? 1 : kStrip / std::max<int64_t>(args.inner, 1);
  return args.n >= 32 * rows ? rows : 1;
}

// Sums of wide rows to sums of columns, in place, with the rows that made no wide one.
void fold_columns(const AxisSum& args, int64_t fold, double* sums) {
  double rest[kStrip];
  for (int64_t outer = 0; outer < args.outer; ++outer) {
    const double* wide = sums + outer * fold * args.inner;
    const int64_t at = outer * args.n * args.inner;
    HWY_DYNAMIC_DISPATCH(strip_sum)
    (args.x, {.at = at, .stride = args.inner, .begin = args.n - args.n % fold, .end = args.n},
     static_cast<size_t>(args.inner), rest);
    for (int64_t i = 0; i < args.inner; ++i) {
      double total = rest[i];
      for (int64_t j = 0; j < fold; ++j) {
        total += wide[j * args.inner + i];
      }
      sums[outer * args.inner + i] = total;
    }
  }
}

// Tasks are strips of columns, cut into pieces of rows where the result is small.
void sum_columns(const AxisSum& args) {
  thread_local Scratch scratch;
  const int64_t fold = rows_at_once(args);
  const int64_t width = args.inner * fold;
  const int64_t n = args.n / fold;
  const int64_t chunks = args.outer * width <= 16384 ? pieces(n, kRows) : 1;
  const int64_t strips = pieces(width, kStrip);
  const int64_t rows = (n + chunks - 1) / chunks;
  double* partial = scratch.get<double>(static_cast<size_t>(args.outer * chunks * width));
  const int64_t work = rows * std::min(kStrip, width);
  parallel_rows(args.outer * chunks * strips, work, [&](int64_t begin, int64_t end) {
    for (int64_t task = begin; task < end; ++task) {
      const int64_t column = task % strips * kStrip;
      const int64_t chunk = task / strips;  // of outer * chunks
      const int64_t first = chunk % chunks * rows;
      HWY_DYNAMIC_DISPATCH(strip_sum)
      (args.x,
       {.at = chunk / chunks * args.n * args.inner + column,
        .stride = width,
        .begin = first,
        .end = std::min(n, first + rows)},
       static_cast<size_t>(std::min(kStrip, width - column)), partial + chunk * width + column);
    }
  });
  if (chunks > 1) {
    combine(args.outer, chunks, width, partial);
  }
  if (fold > 1) {
    fold_columns(args, fold, partial);
  }
  put_sums(args, 0, args.outer * args.inner, partial);
}

void max_rows(const AxisMax& args) {
  thread_local Scratch scratch;
  float* values = scratch.get<float>(static_cast<size_t>(args.outer));
  parallel_rows(args.outer, args.n, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      HWY_DYNAMIC_DISPATCH(run_max)
      (args.x, row * args.n, args.n, values + row, args.index + row);
    }
  });
  HWY_DYNAMIC_DISPATCH(put_floats)
  (args.y, 0, static_cast<size_t>(args.outer), values, false);
}

template <typename T>
void scatter(const AxisScatter& args) {
  const T* x = static_cast<const T*>(args.x.data);
  const auto put_at = [&](int64_t at, T value) {
    const auto add = [&](auto* y) {
      using Y = std::remove_pointer_t<decltype(y)>;
      const float old = args.accumulate ? static_cast<float>(y[at]) : 0.0F;
      y[at] = Y(old + static_cast<float>(value));
    };
    if (args.y.dtype == DType::f32) {
      add(static_cast<float*>(args.y.data));
    } else {
      add(static_cast<bf16*>(args.y.data));
    }
  };
  for (int64_t i = 0; i < args.outer * args.inner; ++i) {
    put_at((i / args.inner * args.n + args.index[i]) * args.inner + i % args.inner, x[i]);
  }
}

}  // namespace

void axis_sum(const AxisSum& args) {
  if (args.inner == 1) {
    sum_rows(args);
  } else {
    sum_columns(args);
  }
}

void axis_spread(const AxisSpread& args) {
  parallel_rows(args.outer * args.n, args.inner, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(spread_rows)(args, begin, end);
  });
}

void axis_max(const AxisMax& args) {
  if (args.inner == 1) {
    max_rows(args);
    return;
  }
  const int64_t strips = pieces(args.inner, kStrip);
  const int64_t work = args.n * std::min(kStrip, args.inner);
  parallel_rows(args.outer * strips, work, [&](int64_t begin, int64_t end) {
    float values[kStrip];
    for (int64_t task = begin; task < end; ++task) {
      const int64_t column = task % strips * kStrip;
      const size_t width = static_cast<size_t>(std::min(kStrip, args.inner - column));
      const int64_t to = task / strips * args.inner + column;
      HWY_DYNAMIC_DISPATCH(strip_max)
      (args, task / strips * args.n * args.inner + column, width, values, args.index + to);
      HWY_DYNAMIC_DISPATCH(put_floats)(args.y, to, width, values, false);
    }
  });
}

void axis_scatter(const AxisScatter& args) {
  if (!args.accumulate) {
    const int64_t n = args.outer * args.n * args.inner;
    std::memset(args.y.data, 0, static_cast<size_t>(n) * size_of(args.y.dtype));
  }
  if (args.x.dtype == DType::f32) {
    scatter<float>(args);
  } else {
    scatter<bf16>(args);
  }
}

}  // namespace kernels
}  // namespace heed
#endif  // HWY_ONCE
