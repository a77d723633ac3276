// Steps of SM3 against the paper's formulas in double, at every instruction set.
#include "kernels/optimizer/sm3.h"

#include <gtest/gtest.h>

#include "base/parallel.h"
#include "kernels/reference/sm3.h"
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
  kernels::Sm3 args(bool momentum) {
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
            .weight_decay = 0.1F,
            .grad_scale = 0.5F};
  }
  int64_t rows, columns;
  Buffer w, m, g, row, column, narrow;
};

void check_steps(int64_t rows, int64_t columns, bool momentum) {
  Arrays arrays(rows, columns);
  reference::Sm3State<double> expected{arrays.w.values(), arrays.m.values(), arrays.row.values(),
                                       arrays.column.values()};
  for (int step = 1; step <= 4; ++step) {
    arrays.g.fill(static_cast<uint64_t>(90 + step), 0.1);
    arrays.g.set(0, 0.0);  // stays 0 / 0 where there is one row or one column
    const kernels::Sm3 args = arrays.args(momentum);
    kernels::sm3(args);
    reference::sm3(args, expected, arrays.g.values());
    expect_close(arrays.w, expected.w, {.absolute = 1e-6, .relative = 1e-6});
    expect_close(arrays.m, expected.m, {.absolute = 1e-6, .relative = 1e-6});
    expect_close(arrays.row, expected.row, {.absolute = 0, .relative = 1e-6});
    expect_close(arrays.column, expected.column, {.absolute = 0, .relative = 1e-6});
    EXPECT_TRUE(arrays.narrow.guards_intact());
    for (int64_t i = 0; i < arrays.w.size(); ++i) {
      const auto rounded = bf16(static_cast<float>(arrays.w.get(i)));
      ASSERT_EQ(arrays.narrow.get(i), static_cast<double>(static_cast<float>(rounded))) << i;
    }
  }
}

TEST(Sm3, Steps) {
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

// By hand: after the first step rows hold {4, 16} and columns {9, 16}; the second adds 1 to the
// smaller of the two.
TEST(Sm3, TwoStepsByHand) {
  std::vector<float> w(4), row(2), column(2);
  std::vector<float> g = {1, -2, 3, 4};
  const kernels::Sm3 args{.rows = 2,
                          .columns = 2,
                          .w = w.data(),
                          .g = g.data(),
                          .row = row.data(),
                          .column = column.data(),
                          .lr = 1.0F};
  kernels::sm3(args);
  EXPECT_EQ(w, (std::vector<float>{-1, 1, -1, -1}));
  EXPECT_EQ(row, (std::vector<float>{4, 16}));
  EXPECT_EQ(column, (std::vector<float>{9, 16}));
  g = {1, 1, 1, 1};
  kernels::sm3(args);
  EXPECT_EQ(row, (std::vector<float>{5, 17}));
  EXPECT_EQ(column, (std::vector<float>{10, 17}));
  EXPECT_NEAR(w[0], -1 - 1 / std::sqrt(5.0), 1e-6);
  EXPECT_NEAR(w[1], 1 - 1 / std::sqrt(5.0), 1e-6);
  EXPECT_NEAR(w[2], -1 - 1 / std::sqrt(10.0), 1e-6);
  EXPECT_NEAR(w[3], -1 - 1 / std::sqrt(17.0), 1e-6);
}

TEST(Sm3, DoesNotDependOnThreads) {
  std::vector<double> weights[2];
  const int threads = num_threads();
  for (const int run : {0, 1}) {
    set_num_threads(run == 0 ? 1 : 3);
    Arrays arrays(301, 257);
    for (int step = 1; step <= 3; ++step) {
      arrays.g.fill(static_cast<uint64_t>(90 + step), 0.1);
      kernels::sm3(arrays.args(true));
    }
    weights[run] = arrays.w.values();
  }
  set_num_threads(threads);
  EXPECT_EQ(weights[0], weights[1]);
}

}  // namespace
}  // namespace heed::testing
