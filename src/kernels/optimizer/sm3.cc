#include "kernels/optimizer/sm3.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/optimizer/sm3.cc"
#include <hwy/foreach_target.h>
// Must come after foreach_target.h.
#include <hwy/highway.h>

#include <algorithm>

#include "base/parallel.h"
#include "base/scratch.h"
#include "kernels/optimizer/each_vector-inl.h"
#include "kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed {
namespace HWY_NAMESPACE {

// Rows [begin, end); the largest nu of each column goes to column_max[columns], since other rows
// still need the old `column`.
void sm3_rows(const kernels::Sm3& args, int64_t begin, int64_t end, float* column_max) {
  std::fill_n(column_max, args.columns, 0.0F);
  const FloatVec scale = set(args.grad_scale);
  const FloatVec rate = set(args.lr);
  const FloatVec shrink = set(1.0F - args.lr * args.weight_decay);
  const FloatVec beta1 = set(args.beta1);
  const FloatVec rest1 = set(1.0F - args.beta1);
  for (int64_t i = begin; i < end; ++i) {
    const int64_t at = i * args.columns;
    const FloatVec row = set(args.row[i]);
    FloatVec top = zero();
    each_vector(0, args.columns, [&](const auto& get, const auto& keep, int64_t j) {
      const FloatVec g = hn::Mul(get(args.g + at + j), scale);
      const FloatVec nu = hn::MulAdd(g, g, hn::Min(row, get(args.column + j)));
      top = hn::Max(top, nu);
      keep(hn::Max(get(column_max + j), nu), column_max + j);
      FloatVec u = hn::IfThenElseZero(hn::Gt(nu, zero()), hn::Div(g, hn::Sqrt(nu)));
      if (args.m != nullptr) {
        u = hn::MulAdd(beta1, get(args.m + at + j), hn::Mul(rest1, u));
        keep(u, args.m + at + j);
      }
      const FloatVec w = hn::NegMulAdd(rate, u, hn::Mul(get(args.w + at + j), shrink));
      keep(w, args.w + at + j);
      if (args.narrow != nullptr) {
        keep(w, args.narrow + at + j);
      }
    });
    args.row[i] = max(top);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace heed
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed {
HWY_EXPORT(sm3_rows);

namespace kernels {

void sm3(const Sm3& args) {
  if (args.rows * args.columns == 0) {
    return;
  }
  thread_local Scratch scratch;
  const int64_t chunks = fixed_chunks(args.rows);
  float* tops = scratch.get<float>(static_cast<size_t>(chunks * args.columns));
  parallel_rows(chunks, args.rows * args.columns / chunks, [&](int64_t begin, int64_t end) {
    for (int64_t chunk = begin; chunk < end; ++chunk) {
      HWY_DYNAMIC_DISPATCH(sm3_rows)
      (args, args.rows * chunk / chunks, args.rows * (chunk + 1) / chunks,
       tops + chunk * args.columns);
    }
  });
  std::copy_n(tops, args.columns, args.column);
  for (int64_t chunk = 1; chunk < chunks; ++chunk) {
    for (int64_t j = 0; j < args.columns; ++j) {
      args.column[j] = std::max(args.column[j], tops[chunk * args.columns + j]);
    }
  }
}

}  // namespace kernels
}  // namespace heed
#endif  // HWY_ONCE
