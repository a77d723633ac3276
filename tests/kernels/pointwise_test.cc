// Functions of one, two and three operands against the reference, at every instruction set.
#include "kernels/elementwise/pointwise.h"

#include <gtest/gtest.h>

#include <limits>

#include "kernels/reference/pointwise.h"
#include "support/kernel_buffer.h"

namespace heed::testing {
namespace {

using kernels::BinaryRow;
using kernels::Domain;
using kernels::Saved;
using kernels::UnaryRow;

// Off poles and kinks at zero, and positive where the function is defined nowhere else.
Buffer& move_into(Domain domain, Buffer& x) {
  for (int64_t i = 0; i < x.size() && domain != Domain::all; ++i) {
    const double size = std::abs(x.get(i)) + 0.25;
    x.set(i, domain == Domain::positive ? size : std::copysign(size, x.get(i)));
  }
  return x;
}

// Activations are off by as much as their exponentials; the others keep their relative precision.
double tolerance(const UnaryRow& row) { return row.function < Unary::exp ? 1e-6 : 2e-7; }

Buffer argument(Domain domain, int64_t n, DType dtype) {
  Buffer x = Buffer(n, dtype, 3).fill(11, 2.0);
  return move_into(domain, x);
}

TEST(Pointwise, Unary) {
  for_each_isa([] {
    for (const UnaryRow& row : kernels::unary_rows()) {
      for (const DType dtype : kFloatTypes) {
        for (const int64_t n : kLengths) {
          SCOPED_TRACE(::testing::Message() << row.name << " n " << n);
          const Buffer x = argument(row.domain, n, dtype);
          Buffer y(n, dtype, 1);
          kernels::unary({.n = n, .function = row.function, .x = x.in(), .y = y.out()});
          std::vector<double> expected;
          for (const double value : x.values()) {
            expected.push_back(row.value(value));
          }
          expect_close(y, expected, {.absolute = tolerance(row), .relative = 2e-6});
        }
      }
    }
  });
}

TEST(Pointwise, UnaryInPlace) {
  for_each_isa([] {
    for (const DType dtype : kFloatTypes) {
      const Buffer x = argument(Domain::all, 1030, dtype);
      Buffer y = x;
      kernels::unary({.n = 1030, .function = Unary::relu, .x = y.in(), .y = y.out()});
      for (int64_t i = 0; i < 1030; ++i) {
        EXPECT_EQ(y.get(i), std::max(x.get(i), 0.0));
      }
    }
  });
}

TEST(Pointwise, UnaryAtTheEdges) {
  const double inf = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<double> points = {0,   -0.0, 1e-30, -1e-30, 1e30, -1e30, 88.72, 88.73,
                                      200, -103, -150,  -1000,  inf,  -inf,  nan,   1e-40};
  Buffer x(static_cast<int64_t>(points.size()));
  for (int64_t i = 0; i < x.size(); ++i) {
    x.set(i, points[static_cast<size_t>(i)]);
  }
  for_each_isa([&] {
    for (const UnaryRow& row : kernels::unary_rows()) {
      if (row.function < Unary::exp || row.function == Unary::sin || row.function == Unary::cos) {
        continue;  // their errors are absolute: functions_test.cc
      }
      SCOPED_TRACE(row.name);
      Buffer y(x.size());
      kernels::unary({.n = x.size(), .function = row.function, .x = x.in(), .y = y.out()});
      std::vector<double> expected;
      for (const double value : x.values()) {
        expected.push_back(static_cast<double>(static_cast<float>(row.value(value))));
      }
      expect_close(y, expected, {.absolute = 1e-38, .relative = 1e-6});
    }
  });
}

TEST(Pointwise, UnaryBackward) {
  for_each_isa([] {
    for (const UnaryRow& row : kernels::unary_rows()) {
      for (const DType dtype : kFloatTypes) {
        for (const DType to : kFloatTypes) {
          for (const bool accumulate : {false, true}) {
            const int64_t n = 1030;
            SCOPED_TRACE(::testing::Message() << row.name << " " << accumulate);
            const Buffer x = argument(row.domain, n, dtype);
            Buffer saved = x;
            for (int64_t i = 0; i < n && row.saved == Saved::value; ++i) {
              saved.set(i, row.value(x.get(i)));
            }
            const Buffer dy = Buffer(n, dtype, 5).fill(12);
            Buffer dx = Buffer(n, to, 2).fill(13);
            std::vector<double> expected = dx.values();
            for (int64_t i = 0; i < n; ++i) {
              double& e = expected[static_cast<size_t>(i)];
              e = (accumulate ? e : 0.0) + 0.5 * dy.get(i) * row.derivative(x.get(i));
            }
            kernels::unary_backward({.n = n,
                                     .function = row.function,
                                     .saved = saved.in(),
                                     .dy = dy.in(),
                                     .dx = dx.out(),
                                     .scale = 0.5F,
                                     .accumulate = accumulate});
            // What is saved of bf16 is rounded; its cube enters rsqrt's derivative.
            const double relative = dtype == DType::bf16 && row.saved == Saved::value ? 0.02 : 5e-6;
            expect_close(dx, expected, {.absolute = relative, .relative = relative});
          }
        }
      }
    }
  });
}

// Lengths and periods that end inside vectors, tiles and blocks.
struct Extent {
  int64_t n, period;
};
constexpr Extent kExtents[] = {{1, 1},      {17, 17},    {33, 1},       {21, 3},    {100, 100},
                               {1030, 103}, {1030, 515}, {40000, 800},  {40001, 1}, {39999, 3},
                               {1536, 512}, {600, 600},  {40001, 40001}};

TEST(Pointwise, Binary) {
  for_each_isa([] {
    for (const BinaryRow& row : kernels::binary_rows()) {
      for (const DType dtype : kFloatTypes) {
        for (const DType b_type : kFloatTypes) {
          for (const Extent e : kExtents) {
            SCOPED_TRACE(::testing::Message()
                         << row.name << " n " << e.n << " period " << e.period);
            const Buffer a = Buffer(e.n, dtype, 3).fill(21);
            Buffer b = Buffer(e.period, b_type, 1).fill(22);
            move_into(row.domain_b, b);
            Buffer y(e.n, dtype, 7);
            kernels::binary({.n = e.n,
                             .function = row.function,
                             .a = a.in(),
                             .b = {b.in(), e.period},
                             .y = y.out()});
            expect_close(y, reference::binary<double>(row.function, a.values(), b.values()));
          }
        }
      }
    }
  });
}

void check_binary_backward(const BinaryRow& row, bool first, DType dtype, Extent e) {
  const Buffer a = Buffer(e.n, dtype, 3).fill(31);
  Buffer b = Buffer(e.period, dtype, 1).fill(32);
  for (int64_t i = 0; i < e.period; ++i) {
    b.set(i, i % 5 == 0 ? a.get(i) : b.get(i));  // some ties
  }
  move_into(row.domain_b, b);
  const Buffer dy = Buffer(e.n, dtype, 2).fill(33);
  for (const bool accumulate : {false, true}) {
    Buffer out = Buffer(e.n, DType::f32, 5).fill(34);
    std::vector<double> expected = out.values();
    for (int64_t i = 0; i < e.n; ++i) {
      double& value = expected[static_cast<size_t>(i)];
      const double slope = (first ? row.da : row.db)(a.get(i), b.get(i % e.period));
      value = (accumulate ? value : 0.0) + dy.get(i) * slope;
    }
    kernels::binary_backward({.n = e.n,
                              .function = row.function,
                              .first = first,
                              .a = a.in(),
                              .b = {b.in(), e.period},
                              .dy = dy.in(),
                              .out = out.out(),
                              .accumulate = accumulate});
    expect_close(out, expected, {.absolute = 1e-6, .relative = 1e-6});
  }
}

TEST(Pointwise, BinaryBackward) {
  for_each_isa([] {
    for (const BinaryRow& row : kernels::binary_rows()) {
      for (const bool first : {true, false}) {
        for (const DType dtype : kFloatTypes) {
          for (const Extent e : kExtents) {
            SCOPED_TRACE(::testing::Message() << row.name << " first " << first << " n " << e.n
                                              << " period " << e.period);
            check_binary_backward(row, first, dtype, e);
          }
        }
      }
    }
  });
}

TEST(Pointwise, NanWinsMaximumAndMinimum) {
  for_each_isa([] {
    for (const Binary function : {Binary::maximum, Binary::minimum}) {
      Buffer a = Buffer(40).fill(1);
      Buffer b = Buffer(40).fill(2);
      a.set(3, NAN);
      b.set(30, NAN);
      Buffer y(40);
      kernels::binary(
          {.n = 40, .function = function, .a = a.in(), .b = {b.in(), 40}, .y = y.out()});
      EXPECT_TRUE(std::isnan(y.get(3)));
      EXPECT_TRUE(std::isnan(y.get(30)));
    }
  });
}

TEST(Pointwise, Select) {
  for_each_isa([] {
    for (const DType dtype : kFloatTypes) {
      for (const Extent e : kExtents) {
        for (const int64_t mask_period : {e.n, e.period}) {
          SCOPED_TRACE(::testing::Message() << "n " << e.n << " period " << e.period);
          Buffer mask = Buffer(mask_period, DType::i8, 3);
          for (int64_t i = 0; i < mask_period; ++i) {
            mask.set(i, static_cast<double>(i % 3 - 1));  // -1, 0, 1
          }
          const Buffer a = Buffer(e.n, dtype, 1).fill(41);
          const Buffer b = Buffer(e.period, dtype, 5).fill(42);
          Buffer y = Buffer(e.n, dtype, 2);
          kernels::select({.n = e.n,
                           .mask = mask.data<int8_t>(),
                           .mask_period = mask_period,
                           .a = {a.in(), e.n},
                           .b = {b.in(), e.period},
                           .y = y.out()});
          EXPECT_EQ(y.values(), reference::select<double>(mask.values(), a.values(), b.values()));
          EXPECT_TRUE(y.guards_intact());
        }
      }
    }
  });
}

}  // namespace
}  // namespace heed::testing
