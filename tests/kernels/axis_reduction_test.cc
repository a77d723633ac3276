// Sums and maxima along an axis against the reference, at every instruction set.
#include "kernels/reduction/axis_reduction.h"

#include <gtest/gtest.h>

#include "base/parallel.h"
#include "kernels/reference/axis_reduction.h"
#include "support/kernel_buffer.h"

namespace heed::testing {
namespace {

struct Extent {
  int64_t outer, n, inner;
  int64_t size() const { return outer * n * inner; }
  int64_t columns() const { return outer * inner; }
};
std::ostream& operator<<(std::ostream& out, const Extent& e) {
  return out << e.outer << "x" << e.n << "x" << e.inner;
}
constexpr Extent kExtents[] = {{1, 1, 1},    {3, 7, 1},      {2, 17, 1},    {1, 100, 1},
                               {70, 513, 1}, {1, 140000, 1}, {2, 70001, 1}, {1, 7, 3},
                               {3, 17, 33},  {2, 5000, 9},   {3, 2001, 2},  {1, 4100, 64},
                               {1, 65, 300}, {40, 33, 129}};

TEST(Reduction, Sum) {
  for_each_isa([] {
    for (const Extent& e : kExtents) {
      for (const DType dtype : kFloatTypes) {
        for (const bool accumulate : {false, true}) {
          SCOPED_TRACE(::testing::Message() << e << " accumulate " << accumulate);
          const Buffer x = Buffer(e.size(), dtype, 3).fill(61, 1.0, 0.5);
          Buffer y = Buffer(e.columns(), DType::f32, 1).fill(62);
          std::vector<double> expected = reference::axis_sum<double>(x.values(), e.n, e.inner);
          for (int64_t i = 0; i < e.columns(); ++i) {
            double& value = expected[static_cast<size_t>(i)];
            value = 0.25 * value + (accumulate ? y.get(i) : 0.0);
          }
          kernels::axis_sum({.outer = e.outer,
                             .n = e.n,
                             .inner = e.inner,
                             .x = x.in(),
                             .y = y.out(),
                             .scale = 0.25F,
                             .accumulate = accumulate});
          expect_close(y, expected, {.absolute = 1e-5, .relative = 5e-7});
        }
      }
    }
  });
}

TEST(Reduction, SumDoesNotDependOnThreads) {
  const int threads = num_threads();
  for (const Extent& e : kExtents) {
    const Buffer x = Buffer(e.size()).fill(63);
    Buffer one(e.columns());
    Buffer three(e.columns());
    set_num_threads(1);
    kernels::axis_sum({.outer = e.outer, .n = e.n, .inner = e.inner, .x = x.in(), .y = one.out()});
    set_num_threads(3);
    kernels::axis_sum(
        {.outer = e.outer, .n = e.n, .inner = e.inner, .x = x.in(), .y = three.out()});
    set_num_threads(threads);
    EXPECT_EQ(one.values(), three.values()) << e;
  }
}

TEST(Reduction, Spread) {
  for_each_isa([] {
    for (const Extent& e : kExtents) {
      for (const DType dtype : kFloatTypes) {
        for (const bool accumulate : {false, true}) {
          SCOPED_TRACE(::testing::Message() << e << " accumulate " << accumulate);
          const Buffer x = Buffer(e.columns(), dtype, 3).fill(64);
          Buffer y = Buffer(e.size(), dtype, 1).fill(65);
          std::vector<double> expected = y.values();
          for (int64_t i = 0; i < e.size(); ++i) {
            double& value = expected[static_cast<size_t>(i)];
            value = (accumulate ? value : 0.0) +
                    0.5 * x.get(i / (e.n * e.inner) * e.inner + i % e.inner);
          }
          kernels::axis_spread({.outer = e.outer,
                                .n = e.n,
                                .inner = e.inner,
                                .x = x.in(),
                                .y = y.out(),
                                .scale = 0.5F,
                                .accumulate = accumulate});
          expect_close(y, expected);
        }
      }
    }
  });
}

// Few distinct values, so that there are ties everywhere.
TEST(Reduction, FirstMaximum) {
  for_each_isa([] {
    for (const Extent& e : kExtents) {
      for (const DType dtype : kFloatTypes) {
        SCOPED_TRACE(::testing::Message() << e);
        Buffer x = Buffer(e.size(), dtype, 3).fill(66, 3.0, -20.0);
        for (int64_t i = 0; i < e.size(); ++i) {
          x.set(i, std::round(x.get(i)));
        }
        Buffer y(e.columns(), dtype, 1);
        std::vector<int32_t> index(static_cast<size_t>(e.columns()));
        kernels::axis_max({.outer = e.outer,
                           .n = e.n,
                           .inner = e.inner,
                           .x = x.in(),
                           .y = y.out(),
                           .index = index.data()});
        const std::vector<double> values = x.values();
        EXPECT_EQ(y.values(), reference::axis_max<double>(values, e.n, e.inner));
        const std::vector<int64_t> expected = reference::axis_argmax<double>(values, e.n, e.inner);
        EXPECT_TRUE(std::equal(index.begin(), index.end(), expected.begin(), expected.end()));
      }
    }
  });
}

TEST(Reduction, NanIsTheMaximum) {
  for_each_isa([] {
    for (const int64_t inner : {1, 20}) {
      Buffer x = Buffer(50 * inner).fill(67);
      x.set(33 * inner, NAN);
      x.set(40 * inner, NAN);
      Buffer y(inner);
      std::vector<int32_t> index(static_cast<size_t>(inner));
      kernels::axis_max(
          {.outer = 1, .n = 50, .inner = inner, .x = x.in(), .y = y.out(), .index = index.data()});
      EXPECT_TRUE(std::isnan(y.get(0)));
      EXPECT_EQ(index[0], 33);
    }
  });
}

TEST(Reduction, Scatter) {
  for (const DType dtype : kFloatTypes) {
    for (const bool accumulate : {false, true}) {
      const Extent e{2, 5, 3};
      const Buffer x = Buffer(e.columns(), dtype).fill(68);
      const std::vector<int32_t> index = {0, 4, 2, 1, 1, 3};
      Buffer y = Buffer(e.size(), DType::f32).fill(69);
      std::vector<double> expected = accumulate ? y.values() : std::vector<double>(30, 0.0);
      for (int64_t i = 0; i < 6; ++i) {
        const int64_t row = i / 3 * 5 + index[static_cast<size_t>(i)];
        expected[static_cast<size_t>(row * 3 + i % 3)] += x.get(i);
      }
      kernels::axis_scatter({.outer = 2,
                             .n = 5,
                             .inner = 3,
                             .x = x.in(),
                             .index = index.data(),
                             .y = y.out(),
                             .accumulate = accumulate});
      expect_close(y, expected);
    }
  }
}

}  // namespace
}  // namespace heed::testing
