// Sums of a matrix's columns, at every instruction set.
#include "kernels/reduction/column_sum.h"

#include <gtest/gtest.h>

#include "support/kernel_buffer.h"

namespace heed::testing {
namespace {

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

}  // namespace
}  // namespace heed::testing
