// Functions of one, two and three operands against the reference, at every instruction set.
#include "kernels/elementwise/pointwise.h"

#include <gtest/gtest.h>

#include <limits>

#include "kernels/reference/pointwise.h"
#include "support/kernel_buffer.h"

namespace heed::testing {
namespace {

using kernels::Binary;
using kernels::Unary;

constexpr Unary kUnaries[] = {Unary::exp,    Unary::log, Unary::sqrt,      Unary::rsqrt,
                              Unary::square, Unary::abs, Unary::neg,       Unary::sin,
                              Unary::cos,    Unary::erf, Unary::reciprocal};
constexpr Binary kBinaries[] = {Binary::add, Binary::sub,     Binary::mul,
                                Binary::div, Binary::maximum, Binary::minimum};

// Positive for functions that are not defined elsewhere, and away from the pole of 1 / x.
Buffer argument(Unary function, int64_t n, DType dtype) {
  Buffer x(n, dtype, 3);
  x.fill(11, 2.0);
  for (int64_t i = 0; i < n; ++i) {
    const bool positive =
        function == Unary::log || function == Unary::sqrt || function == Unary::rsqrt;
    if (positive || function == Unary::reciprocal) {
      x.set(i, std::abs(x.get(i)) + 0.25);
    }
  }
  return x;
}

TEST(Pointwise, Unary) {
  for_each_isa([] {
    for (const Unary function : kUnaries) {
      for (const DType dtype : kFloatTypes) {
        for (const int64_t n : kLengths) {
          SCOPED_TRACE(::testing::Message() << static_cast<int>(function) << " n " << n);
          const Buffer x = argument(function, n, dtype);
          Buffer y(n, dtype, 1);
          kernels::unary({.n = n, .function = function, .x = x.in(), .y = y.out()});
          std::vector<double> expected;
          for (const double value : x.values()) {
            expected.push_back(reference::unary(function, value));
          }
          expect_close(y, expected, {.absolute = 2e-7, .relative = 1e-6});
        }
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
    for (const Unary function : kUnaries) {
      if (function == Unary::sin || function == Unary::cos) {
        continue;  // not for arguments of this size
      }
      SCOPED_TRACE(static_cast<int>(function));
      Buffer y(x.size());
      kernels::unary({.n = x.size(), .function = function, .x = x.in(), .y = y.out()});
      std::vector<double> expected;
      for (const double value : x.values()) {
        expected.push_back(
            static_cast<double>(static_cast<float>(reference::unary(function, value))));
      }
      expect_close(y, expected, {.absolute = 1e-38, .relative = 1e-6});
    }
  });
}

TEST(Pointwise, UnaryBackward) {
  for_each_isa([] {
    for (const Unary function : kUnaries) {
      for (const DType dtype : kFloatTypes) {
        for (const DType to : kFloatTypes) {
          for (const bool accumulate : {false, true}) {
            const int64_t n = 1030;
            SCOPED_TRACE(::testing::Message() << static_cast<int>(function) << " " << accumulate);
            const Buffer x = argument(function, n, dtype);
            Buffer saved = x;
            for (int64_t i = 0; i < n && kernels::derives_from_output(function); ++i) {
              saved.set(i, reference::unary(function, x.get(i)));
            }
            const Buffer dy = Buffer(n, dtype, 5).fill(12);
            Buffer dx = Buffer(n, to, 2).fill(13);
            std::vector<double> expected = dx.values();
            for (int64_t i = 0; i < n; ++i) {
              double& e = expected[static_cast<size_t>(i)];
              e = (accumulate ? e : 0.0) +
                  dy.get(i) * reference::unary_derivative(function, x.get(i));
            }
            kernels::unary_backward({.n = n,
                                     .function = function,
                                     .saved = saved.in(),
                                     .dy = dy.in(),
                                     .dx = dx.out(),
                                     .accumulate = accumulate});
            // What is saved of bf16 is rounded; its cube enters rsqrt's derivative.
            const double relative = dtype == DType::bf16 ? 0.02 : 2e-6;
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
    for (const Binary function : kBinaries) {
      for (const DType dtype : kFloatTypes) {
        for (const DType b_type : kFloatTypes) {
          for (const Extent e : kExtents) {
            SCOPED_TRACE(::testing::Message()
                         << static_cast<int>(function) << " n " << e.n << " period " << e.period);
            const Buffer a = Buffer(e.n, dtype, 3).fill(21);
            Buffer b = Buffer(e.period, b_type, 1).fill(22);
            for (int64_t i = 0; i < e.period && function == Binary::div; ++i) {
              b.set(i, std::abs(b.get(i)) + 0.25);
            }
            Buffer y(e.n, dtype, 7);
            kernels::binary({.n = e.n,
                             .function = function,
                             .a = a.in(),
                             .b = {b.in(), e.period},
                             .y = y.out()});
            expect_close(y, reference::binary<double>(function, a.values(), b.values()));
          }
        }
      }
    }
  });
}

// The derivative from the definition; at equal operands a is taken.
double binary_slope(Binary function, bool first, double a, double b) {
  switch (function) {
    case Binary::mul:
      return first ? b : a;
    case Binary::div:
      return first ? 1 / b : -a / (b * b);
    case Binary::maximum:
      return (a < b) != first ? 1 : 0;
    default:
      return (a > b) != first ? 1 : 0;
  }
}

void check_binary_backward(Binary function, bool first, DType dtype, Extent e) {
  const Buffer a = Buffer(e.n, dtype, 3).fill(31);
  Buffer b = Buffer(e.period, dtype, 1).fill(32);
  for (int64_t i = 0; i < e.period; ++i) {
    b.set(i, i % 5 == 0 ? a.get(i) : b.get(i));  // some ties
    if (function == Binary::div) {
      b.set(i, std::abs(b.get(i)) + 0.25);
    }
  }
  const Buffer dy = Buffer(e.n, dtype, 2).fill(33);
  for (const bool accumulate : {false, true}) {
    Buffer out = Buffer(e.n, DType::f32, 5).fill(34);
    std::vector<double> expected = out.values();
    for (int64_t i = 0; i < e.n; ++i) {
      double& value = expected[static_cast<size_t>(i)];
      value = (accumulate ? value : 0.0) +
              dy.get(i) * binary_slope(function, first, a.get(i), b.get(i % e.period));
    }
    kernels::binary_backward({.n = e.n,
                              .function = function,
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
    for (const Binary function : {Binary::mul, Binary::div, Binary::maximum, Binary::minimum}) {
      for (const bool first : {true, false}) {
        for (const DType dtype : kFloatTypes) {
          for (const Extent e : kExtents) {
            SCOPED_TRACE(::testing::Message() << static_cast<int>(function) << " first " << first
                                              << " n " << e.n << " period " << e.period);
            check_binary_backward(function, first, dtype, e);
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
