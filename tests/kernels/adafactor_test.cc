// Steps of Adafactor against the paper's formulas in double, at every instruction set.
#include "kernels/optimizer/adafactor.h"

#include <gtest/gtest.h>

#include "base/parallel.h"
#include "kernels/reference/adafactor.h"
#include "support/kernel_buffer.h"

namespace heed::testing {
namespace {

// The arrays of one matrix, each at its own odd offset.
struct Arrays {
  Arrays(int64_t rows, int64_t columns)
      : rows(rows),
        columns(columns),
        w(rows * columns, DType::f32, 1),
        m(rows * columns, DType::f32, 3),
        g(rows * columns, DType::f32, 2),
        row(rows, DType::f32, 5),
        column(columns, DType::f32, 7),
        narrow(rows * columns, DType::bf16, 3) {
    w.fill(81);
  }
  kernels::Adafactor args(int step, bool momentum) {
    return {.rows = rows,
            .columns = columns,
            .w = w.data<float>(),
            .g = g.data<float>(),
            .narrow = narrow.data<bf16>(),
            .m = momentum ? m.data<float>() : nullptr,
            .row = row.data<float>(),
            .column = column.data<float>(),
            .lr = 1e-2F,
            .beta1 = 0.9F,
            .beta2 = static_cast<float>(1.0 - std::pow(step, -0.8)),
            .weight_decay = 0.1F,
            .grad_scale = 0.5F};
  }
  int64_t rows, columns;
  Buffer w, m, g, row, column, narrow;
};

void check_steps(int64_t rows, int64_t columns, bool momentum) {
  Arrays arrays(rows, columns);
  reference::AdafactorState<double> expected{arrays.w.values(), arrays.m.values(),
                                             arrays.row.values(), arrays.column.values()};
  for (int step = 1; step <= 4; ++step) {
    // A large gradient at the end, so that the update is clipped.
    arrays.g.fill(static_cast<uint64_t>(90 + step), step == 4 ? 5.0 : 0.1);
    const kernels::Adafactor args = arrays.args(step, momentum);
    kernels::adafactor(args);
    reference::adafactor(args, expected, arrays.g.values());
    expect_close(arrays.w, expected.w, {.absolute = 2e-6, .relative = 2e-6});
    expect_close(arrays.m, expected.m, {.absolute = 1e-7, .relative = 1e-5});
    std::vector<double> row_means = expected.row;
    std::vector<double> column_means = expected.column;
    for (double& value : row_means) {
      value /= static_cast<double>(columns);
    }
    for (double& value : column_means) {
      value /= static_cast<double>(rows);
    }
    expect_close(arrays.row, row_means, {.absolute = 0, .relative = 1e-5});
    expect_close(arrays.column, column_means, {.absolute = 0, .relative = 1e-5});
    EXPECT_TRUE(arrays.narrow.guards_intact());
    for (int64_t i = 0; i < arrays.w.size(); ++i) {
      const auto rounded = bf16(static_cast<float>(arrays.w.get(i)));
      ASSERT_EQ(arrays.narrow.get(i), static_cast<double>(static_cast<float>(rounded))) << i;
    }
  }
}

TEST(Adafactor, Steps) {
  for_each_isa([] {
    for (const auto& [rows, columns] : std::vector<std::pair<int64_t, int64_t>>{
             {1, 1}, {1, 33}, {1, 40001}, {7, 1}, {3, 17}, {37, 65}, {130, 301}, {1030, 33}}) {
      for (const bool momentum : {false, true}) {
        SCOPED_TRACE(::testing::Message() << rows << " x " << columns << " momentum " << momentum);
        check_steps(rows, columns, momentum);
      }
    }
  });
}

// By hand: sums of rows 5 and 25, of columns 10 and 20, of all 30, so v = {5/3, 10/3, 25/3, 50/3}
// and u^2 = {0.6, 1.2, 1.08, 0.96}, whose mean is 0.96.
TEST(Adafactor, FirstStepByHand) {
  for (const float clip : {1.0F, 0.5F}) {
    std::vector<float> w(4), row(2), column(2);
    const std::vector<float> g = {1, -2, 3, 4};
    kernels::adafactor({.rows = 2,
                        .columns = 2,
                        .w = w.data(),
                        .g = g.data(),
                        .row = row.data(),
                        .column = column.data(),
                        .lr = 1.0F,
                        .beta2 = 0.0F,
                        .clip = clip});
    const double factor = clip == 1.0F ? 1.0 : 0.5 / std::sqrt(0.96);
    EXPECT_NEAR(w[0], -std::sqrt(0.6) * factor, 1e-6);
    EXPECT_NEAR(w[1], std::sqrt(1.2) * factor, 1e-6);
    EXPECT_NEAR(w[2], -std::sqrt(1.08) * factor, 1e-6);
    EXPECT_NEAR(w[3], -std::sqrt(0.96) * factor, 1e-6);
    EXPECT_FLOAT_EQ(row[0], 2.5F);
    EXPECT_FLOAT_EQ(column[1], 10.0F);
  }
}

TEST(Adafactor, ZeroGradientsMoveNothing) {
  Arrays arrays(5, 19);
  const std::vector<double> before = arrays.w.values();
  kernels::Adafactor args = arrays.args(1, false);
  args.weight_decay = 0;
  kernels::adafactor(args);
  EXPECT_EQ(arrays.w.values(), before);
}

TEST(Adafactor, DoesNotDependOnThreads) {
  std::vector<double> weights[2];
  const int threads = num_threads();
  for (const int run : {0, 1}) {
    set_num_threads(run == 0 ? 1 : 3);
    Arrays arrays(301, 257);
    for (int step = 1; step <= 3; ++step) {
      arrays.g.fill(static_cast<uint64_t>(90 + step), 0.1);
      kernels::adafactor(arrays.args(step, true));
    }
    weights[run] = arrays.w.values();
  }
  set_num_threads(threads);
  EXPECT_EQ(weights[0], weights[1]);
}

}  // namespace
}  // namespace heed::testing
