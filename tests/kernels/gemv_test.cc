// A few rows times a transposed matrix, column sums and conversions, at every instruction set.
#include "kernels/matmul/gemv.h"

#include <gtest/gtest.h>

#include "base/parallel.h"
#include "kernels/copy.h"
#include "kernels/reduction/column_sum.h"
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

struct Matrix {
  int64_t rows, columns;
};
constexpr Matrix kMatrices[] = {{1, 1}, {7, 3}, {17, 33}, {100, 31}, {33, 513}, {700, 65}};

TEST(ColumnSum, Sums) {
  for_each_isa([] {
    for (const Matrix& e : kMatrices) {
      for (const DType dtype : kFloatTypes) {
        for (const DType to : kFloatTypes) {
          for (const bool accumulate : {false, true}) {
            SCOPED_TRACE(::testing::Message() << e.rows << "x" << e.columns);
            const Buffer x = Buffer(e.rows * e.columns, dtype, 3).fill(131);
            Buffer y = Buffer(e.columns, to, 1).fill(132);
            std::vector<double> expected = y.values();
            for (int64_t c = 0; c < e.columns; ++c) {
              double& value = expected[static_cast<size_t>(c)];
              value = accumulate ? value : 0.0;
              for (int64_t r = 0; r < e.rows; ++r) {
                value += x.get(r * e.columns + c);
              }
            }
            kernels::column_sum({.rows = e.rows,
                                 .columns = e.columns,
                                 .x = x.in(),
                                 .out = y.out(),
                                 .accumulate = accumulate});
            expect_close(y, expected, {.absolute = 3e-5, .relative = 2e-6});
          }
        }
      }
    }
  });
}

TEST(Copy, ConvertsAndAdds) {
  for_each_isa([] {
    for (const DType from : kFloatTypes) {
      for (const DType to : kFloatTypes) {
        for (const int64_t n : kLengths) {
          for (const bool accumulate : {false, true}) {
            SCOPED_TRACE(::testing::Message() << "n " << n << " accumulate " << accumulate);
            const Buffer x = Buffer(n, from, 3).fill(141);
            Buffer y = Buffer(n, to, 1).fill(142);
            std::vector<double> expected = y.values();
            for (int64_t i = 0; i < n; ++i) {
              double& value = expected[static_cast<size_t>(i)];
              value = (accumulate ? value : 0.0) - 1.5 * x.get(i);
            }
            kernels::copy(
                {.n = n, .from = x.in(), .to = y.out(), .scale = -1.5F, .accumulate = accumulate});
            expect_close(y, expected);
          }
        }
      }
    }
  });
}

// Ties go to even, as the scalar conversion has it; infinities and NaN stay what they are.
TEST(Copy, RoundsToBf16AsTheScalarDoes) {
  const uint32_t words[] = {0x3F800000, 0x3F808000, 0x3F818000, 0x3F807FFF, 0x3F808001, 0x7F7FFFFF,
                            0x7F800000, 0xFF800000, 0x00000001, 0x80000000, 0x7FC00000, 0xFFC00000,
                            0x0000FFFF, 0x3F80FFFF, 0xBF808000, 0xBF818000, 0x7F7F7FFF};
  const int64_t n = static_cast<int64_t>(std::size(words));
  Buffer x(n);
  std::memcpy(x.raw(), words, sizeof(words));
  for_each_isa([&] {
    Buffer y(n, DType::bf16);
    kernels::copy({.n = n, .from = x.in(), .to = y.out()});
    for (int64_t i = 0; i < n; ++i) {
      EXPECT_EQ(y.data<bf16>()[i].bits, bf16(x.data<float>()[i]).bits) << std::hex << words[i];
    }
  });
}

}  // namespace
}  // namespace heed::testing
