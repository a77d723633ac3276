#include "kernels/optimizer/adafactor.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/optimizer/adafactor.cc"
#include <hwy/foreach_target.h>
// Must come after foreach_target.h.
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>

#include "base/parallel.h"
#include "base/scratch.h"
#include "kernels/optimizer/each_vector-inl.h"
#include "kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed {
namespace HWY_NAMESPACE {

// Rows [begin, end): updates their `row` and sums g^2 into column_sums[columns].
void adafactor_squares(const kernels::Adafactor& args, int64_t begin, int64_t end,
                       float* column_sums) {
  std::fill_n(column_sums, args.columns, 0.0F);
  const FloatVec scale = set(args.grad_scale);
  for (int64_t i = begin; i < end; ++i) {
    const float* g = args.g + i * args.columns;
    FloatVec total = zero();
    each_vector(0, args.columns, [&](const auto& get, const auto& keep, int64_t j) {
      const FloatVec scaled = hn::Mul(get(g + j), scale);
      const FloatVec square = hn::Mul(scaled, scaled);
      total = hn::Add(total, square);
      keep(hn::Add(get(column_sums + j), square), column_sums + j);
    });
    const float mean = sum(total) / static_cast<float>(args.columns) + args.epsilon;
    args.row[i] = args.beta2 * args.row[i] + (1.0F - args.beta2) * mean;
  }
}

// The sum of u^2 in one row, before clipping.
double adafactor_row_norm(const kernels::Adafactor& args, int64_t i, float row_factor,
                          const float* column_factor) {
  const FloatVec factor = set(args.grad_scale * row_factor);
  return static_cast<double>(reduce(
      static_cast<size_t>(args.columns),
      [&](FloatVec g, FloatVec column) {
        const FloatVec u = hn::Mul(hn::Mul(g, factor), column);
        return hn::Mul(u, u);
      },
      args.g + i * args.columns, column_factor));
}

// w and m of one row; `rate` is the learning rate after clipping.
void adafactor_row(const kernels::Adafactor& args, int64_t i, float row_factor,
                   const float* column_factor, float rate) {
  const int64_t at = i * args.columns;
  const FloatVec factor = set(args.grad_scale * row_factor);
  const FloatVec rates = set(rate);
  const FloatVec shrink = set(1.0F - args.lr * args.weight_decay);
  const FloatVec beta1 = set(args.beta1);
  const FloatVec rest1 = set(1.0F - args.beta1);
  each_vector(0, args.columns, [&](const auto& get, const auto& keep, int64_t j) {
    const FloatVec u = hn::Mul(hn::Mul(get(args.g + at + j), factor), get(column_factor + j));
    FloatVec change = hn::Mul(rates, u);
    if (args.m != nullptr) {
      change = hn::MulAdd(beta1, get(args.m + at + j), hn::Mul(rest1, change));
      keep(change, args.m + at + j);
    }
    const FloatVec w = hn::MulSub(get(args.w + at + j), shrink, change);
    keep(w, args.w + at + j);
    if (args.narrow != nullptr) {
      keep(w, args.narrow + at + j);
    }
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace heed
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed {
HWY_EXPORT(adafactor_squares);
HWY_EXPORT(adafactor_row_norm);
HWY_EXPORT(adafactor_row);

namespace kernels {
namespace {

// Updates row and column; each of a fixed number of pieces of rows has its own column sums.
void update_moments(const Adafactor& args) {
  thread_local Scratch scratch;
  const int64_t chunks = fixed_chunks(args.rows);
  float* sums = scratch.get<float>(static_cast<size_t>(chunks * args.columns));
  parallel_rows(chunks, args.rows * args.columns / chunks, [&](int64_t begin, int64_t end) {
    for (int64_t chunk = begin; chunk < end; ++chunk) {
      HWY_DYNAMIC_DISPATCH(adafactor_squares)
      (args, args.rows * chunk / chunks, args.rows * (chunk + 1) / chunks,
       sums + chunk * args.columns);
    }
  });
  for (int64_t j = 0; j < args.columns; ++j) {
    double total = 0.0;
    for (int64_t chunk = 0; chunk < chunks; ++chunk) {
      total += static_cast<double>(sums[chunk * args.columns + j]);
    }
    const float mean = static_cast<float>(total / static_cast<double>(args.rows)) + args.epsilon;
    args.column[j] = args.beta2 * args.column[j] + (1.0F - args.beta2) * mean;
  }
}

// 1 / sqrt(row_i column_j / mean of row) as the product of a factor of the row and one of the
// column: row_i column_j itself may be too small for f32.
struct Factors {
  float* row;
  float* column;
};

Factors factors_of(const Adafactor& args) {
  thread_local Scratch scratch;
  float* row = scratch.get<float>(static_cast<size_t>(args.rows + args.columns));
  float* column = row + args.rows;
  double mean = 0.0;
  for (int64_t i = 0; i < args.rows; ++i) {
    mean += static_cast<double>(args.row[i]);
  }
  mean /= static_cast<double>(args.rows);
  for (int64_t i = 0; i < args.rows; ++i) {
    row[i] = static_cast<float>(std::sqrt(mean / static_cast<double>(args.row[i])));
  }
  for (int64_t j = 0; j < args.columns; ++j) {
    column[j] = 1.0F / std::sqrt(args.column[j]);
  }
  return {row, column};
}

double rms_of_update(const Adafactor& args, const Factors& factors) {
  thread_local Scratch scratch;
  double* norms = scratch.get<double>(static_cast<size_t>(args.rows));
  parallel_rows(args.rows, args.columns, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      norms[i] = HWY_DYNAMIC_DISPATCH(adafactor_row_norm)(args, i, factors.row[i], factors.column);
    }
  });
  double total = 0.0;
  for (int64_t i = 0; i < args.rows; ++i) {
    total += norms[i];
  }
  return std::sqrt(total / static_cast<double>(args.rows * args.columns));
}

}  // namespace

void adafactor(const Adafactor& args) {
  if (args.rows * args.columns == 0) {
    return;
  }
  update_moments(args);
  const Factors factors = factors_of(args);
  const double excess = rms_of_update(args, factors) / static_cast<double>(args.clip);
  const auto rate = static_cast<float>(static_cast<double>(args.lr) / std::max(1.0, excess));
  parallel_rows(args.rows, args.columns, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      HWY_DYNAMIC_DISPATCH(adafactor_row)(args, i, factors.row[i], factors.column, rate);
    }
  });
}

}  // namespace kernels
}  // namespace heed
#endif  // HWY_ONCE
