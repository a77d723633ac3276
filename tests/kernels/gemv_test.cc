// A few rows times a transposed matrix, at every instruction set.
#include "kernels/matmul/gemv.h"

#include <gtest/gtest.h>

#include "base/parallel.h"
#include "support/kernel_buffer.h"

namespace heed::testing {
namespace {

struct Extent {
  int64_t m, n, k, extra;  // extra: distance between rows beyond their length
};

void check_gemv(const Extent& e, DType dtype, DType y_type, bool accumulate, bool with_bias) {
  const int64_t ldx = e.k + e.extra;
  const int64_t ldw = e.k + 2 * e.extra;
  const int64_t ldy = e.n + e.extra;
  const Buffer x = Buffer((e.m - 1) * ldx + e.k, dtype, 1).fill(121);
  const Buffer w = Buffer((e.n - 1) * ldw + e.k, dtype, 3).fill(122);
  Buffer bias = Buffer(e.n, DType::f32, 2).fill(123);
  Buffer y = Buffer((e.m - 1) * ldy + e.n, y_type, 5).fill(124);
  std::vector<double> expected = y.values();  // gaps between rows stay as they are
  for (int64_t row = 0; row < e.m; ++row) {
    for (int64_t column = 0; column < e.n; ++column) {
      double& value = expected[static_cast<size_t>(row * ldy + column)];
      value = (accumulate ? value : 0.0) + (with_bias ? bias.get(column) : 0.0);
      for (int64_t i = 0; i < e.k; ++i) {
        value += x.get(row * ldx + i) * w.get(column * ldw + i);
      }
    }
  }
  kernels::gemv({.m = e.m,
                 .n = e.n,
                 .k = e.k,
                 .x = x.in(),
                 .w = w.in(),
                 .y = y.out(),
                 .ldx = ldx,
                 .ldw = ldw,
                 .ldy = ldy,
                 .bias = with_bias ? bias.data<float>() : nullptr,
                 .accumulate = accumulate});
  const double size = std::sqrt(static_cast<double>(e.k));
  expect_close(y, expected, {.absolute = 1e-6 * (1 + size), .relative = 1e-6});
}

TEST(Gemv, Products) {
  constexpr Extent kExtents[] = {{1, 1, 1, 0},    {1, 7, 17, 0},    {2, 5, 33, 3},
                                 {3, 33, 100, 1}, {1, 100, 513, 5}, {4, 513, 64, 0}};
  for_each_isa([&] {
    for (const Extent& e : kExtents) {
      for (const DType dtype : kFloatTypes) {
        for (const DType y_type : kFloatTypes) {
          for (const bool accumulate : {false, true}) {
            SCOPED_TRACE(::testing::Message() << e.m << "x" << e.n << "x" << e.k);
            check_gemv(e, dtype, y_type, accumulate, !accumulate);
            check_gemv(e, dtype, y_type, accumulate, accumulate);
          }
        }
      }
    }
  });
}

}  // namespace
}  // namespace heed::testing
