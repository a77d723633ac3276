// Softmax along the last and along inner axes against the reference, at every instruction set.
#include "kernels/reduction/softmax.h"

#include <gtest/gtest.h>

#include <limits>

#include "base/parallel.h"
#include "kernels/reference/softmax.h"
#include "support/kernel_buffer.h"

namespace heed::testing {
namespace {

constexpr double kNothing = -std::numeric_limits<double>::infinity();

struct Extent {
  int64_t outer, n, inner;
  int64_t size() const { return outer * n * inner; }
};
std::ostream& operator<<(std::ostream& out, const Extent& e) {
  return out << e.outer << "x" << e.n << "x" << e.inner;
}
constexpr Extent kExtents[] = {{3, 1, 1},     {5, 7, 1}, {2, 17, 1},  {3, 513, 1}, {2, 33000, 1},
                               {300, 100, 1}, {1, 5, 3}, {3, 17, 33}, {2, 9, 300}, {40, 33, 40}};

// Spread wide, with masked elements and one row without any other.
Buffer logits(const Extent& e, DType dtype) {
  Buffer x = Buffer(e.size(), dtype, 3).fill(51, 5.0);
  for (int64_t i = 0; i < e.size(); i += 5) {
    x.set(i, e.n > 1 ? kNothing : x.get(i));
  }
  for (int64_t i = 0; i < e.n; ++i) {
    x.set(i * e.inner, kNothing);
  }
  return x;
}

TEST(Softmax, Values) {
  for_each_isa([] {
    for (const Extent& e : kExtents) {
      for (const DType dtype : kFloatTypes) {
        for (const bool log : {false, true}) {
          SCOPED_TRACE(::testing::Message() << e << " log " << log);
          const Buffer x = logits(e, dtype);
          Buffer y(e.size(), dtype, 1);
          kernels::softmax({.outer = e.outer,
                            .n = e.n,
                            .inner = e.inner,
                            .x = x.in(),
                            .y = y.out(),
                            .log = log});
          const std::vector<double> expected =
              reference::softmax<double>(x.values(), e.n, e.inner, log);
          expect_close(y, expected, {.absolute = log ? 4e-6 : 1e-9, .relative = 4e-6});
        }
      }
    }
  });
}

// softmax: y (dy - sum(y dy)); logarithm: dy - exp(y) sum(dy), column by column.
std::vector<double> slopes(const Extent& e, bool log, const Buffer& y, const Buffer& dy) {
  std::vector<double> result(static_cast<size_t>(e.size()));
  for (int64_t column = 0; column < e.outer * e.inner; ++column) {
    const auto at = [&](int64_t i) {
      return (column / e.inner * e.n + i) * e.inner + column % e.inner;
    };
    double total = 0;
    for (int64_t i = 0; i < e.n; ++i) {
      total += (log ? 1.0 : y.get(at(i))) * dy.get(at(i));
    }
    for (int64_t i = 0; i < e.n; ++i) {
      const double g = dy.get(at(i));
      result[static_cast<size_t>(at(i))] =
          log ? g - std::exp(y.get(at(i))) * total : y.get(at(i)) * (g - total);
    }
  }
  return result;
}

TEST(Softmax, Backward) {
  for_each_isa([] {
    for (const Extent& e : kExtents) {
      for (const DType dtype : kFloatTypes) {
        for (const bool log : {false, true}) {
          for (const bool accumulate : {false, true}) {
            SCOPED_TRACE(::testing::Message() << e << " log " << log);
            Buffer y(e.size(), dtype, 5);
            const std::vector<double> values =
                reference::softmax<double>(logits(e, dtype).values(), e.n, e.inner, log);
            for (int64_t i = 0; i < e.size(); ++i) {
              y.set(i, values[static_cast<size_t>(i)]);
            }
            const Buffer dy = Buffer(e.size(), dtype, 1).fill(52);
            Buffer dx = Buffer(e.size(), dtype, 2).fill(53);
            std::vector<double> expected = slopes(e, log, y, dy);
            for (int64_t i = 0; i < e.size() && accumulate; ++i) {
              expected[static_cast<size_t>(i)] += dx.get(i);
            }
            kernels::softmax_backward({.outer = e.outer,
                                       .n = e.n,
                                       .inner = e.inner,
                                       .y = y.in(),
                                       .dy = dy.in(),
                                       .dx = dx.out(),
                                       .log = log,
                                       .accumulate = accumulate});
            expect_close(dx, expected, {.absolute = 1e-5, .relative = 1e-5});
          }
        }
      }
    }
  });
}

TEST(Softmax, NanReachesTheWholeRow) {
  for_each_isa([] {
    for (const int64_t inner : {1, 3}) {
      Buffer x = Buffer(2 * 20 * inner).fill(1);
      x.set(7 * inner, NAN);
      Buffer y(x.size());
      kernels::softmax({.outer = 2, .n = 20, .inner = inner, .x = x.in(), .y = y.out()});
      for (int64_t i = 0; i < 20; ++i) {
        EXPECT_TRUE(std::isnan(y.get(i * inner)));
        EXPECT_FALSE(std::isnan(y.get((20 + i) * inner)));
      }
    }
  });
}

}  // namespace
}  // namespace heed::testing
