// Every row of the table of pointwise functions: that its parts agree with each other, and that the
// vector code holds at extreme arguments, at every instruction set.
#include "kernels/elementwise/functions.h"

#include <gtest/gtest.h>

#include <limits>
#include <set>
#include <string>

#include "kernels/elementwise/pointwise.h"
#include "support/kernel_buffer.h"

namespace heed::testing {
namespace {

using kernels::BinaryRow;
using kernels::Domain;
using kernels::Saved;
using kernels::UnaryRow;

constexpr double kInf = std::numeric_limits<double>::infinity();

bool in_domain(Domain domain, double x) {
  return domain == Domain::all || (domain == Domain::positive ? x > 0.25 : std::abs(x) > 0.25);
}

// f(x - 2h) - 8 f(x - h) + 8 f(x + h) - f(x + 2h), over 12 h
template <typename F>
double slope(const F& f, double x) {
  const double h = 1e-3;
  return (f(x - 2 * h) - 8 * f(x - h) + 8 * f(x + h) - f(x + 2 * h)) / (12 * h);
}

// A function beyond the range of f32 is infinite there.
double as_float(double value) { return static_cast<double>(static_cast<float>(value)); }

TEST(Functions, RowsAreInTheOrderOfTheEnumeratorsAndHaveNamesOfTheirOwn) {
  std::set<std::string> names;
  ASSERT_EQ(kernels::unary_rows().size(), static_cast<size_t>(Unary::kCount));
  ASSERT_EQ(kernels::binary_rows().size(), static_cast<size_t>(Binary::kCount));
  for (const UnaryRow& row : kernels::unary_rows()) {
    EXPECT_EQ(&kernels::row_of(row.function), &row);
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
  }
  for (const BinaryRow& row : kernels::binary_rows()) {
    EXPECT_EQ(&kernels::row_of(row.function), &row);
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
  }
}

TEST(Functions, ReferenceDerivativesAreDifferencesOfTheReferenceValues) {
  for (const UnaryRow& row : kernels::unary_rows()) {
    for (double x = -6.03; x < 6; x += 0.17) {
      if (in_domain(row.domain, x)) {
        EXPECT_NEAR(row.derivative(x), slope(row.value, x), 1e-7) << row.name << " at " << x;
      }
    }
  }
  for (const BinaryRow& row : kernels::binary_rows()) {
    for (double a = -4.03; a < 4; a += 0.37) {
      for (double b = -4.1; b < 4; b += 0.41) {
        if (!in_domain(row.domain_b, b) || (row.compares && std::abs(a - b) < 0.01)) {
          continue;
        }
        const auto of_a = [&](double v) { return row.value(v, b); };
        const auto of_b = [&](double v) { return row.value(a, v); };
        EXPECT_NEAR(row.da(a, b), slope(of_a, a), 1e-7) << row.name << " at " << a << ", " << b;
        EXPECT_NEAR(row.db(a, b), slope(of_b, b), 1e-7) << row.name << " at " << a << ", " << b;
      }
    }
  }
}

// A partial derivative that claims not to read an operand does not depend on it.
TEST(Functions, PartialDerivativesReadWhatTheySay) {
  for (const BinaryRow& row : kernels::binary_rows()) {
    const auto varies = [](const auto& f) { return f(0.7) != f(1.9); };
    EXPECT_TRUE(row.reads_da.a || !varies([&](double a) { return row.da(a, 1.3); })) << row.name;
    EXPECT_TRUE(row.reads_da.b || !varies([&](double b) { return row.da(1.3, b); })) << row.name;
    EXPECT_TRUE(row.reads_db.a || !varies([&](double a) { return row.db(a, 1.3); })) << row.name;
    EXPECT_TRUE(row.reads_db.b || !varies([&](double b) { return row.db(1.3, b); })) << row.name;
  }
}

const std::vector<double> kExtremes = {-13.2, -14,  -20,  -87.9, -88.1, -100,  -104,  -104.1, -178,
                                       -200,  -500, -1e4, -1e10, -1e30, -3e38, -kInf, 13.2,   14,
                                       20,    87.9, 88.1, 100,   104,   104.1, 178,   200,    500,
                                       1e4,   1e10, 1e30, 3e38,  kInf,  NAN};

Buffer extremes() {
  Buffer x(static_cast<int64_t>(kExtremes.size()));
  for (int64_t i = 0; i < x.size(); ++i) {
    x.set(i, kExtremes[static_cast<size_t>(i)]);
  }
  return x;
}

TEST(Functions, UnaryValuesAtExtremeArguments) {
  const Buffer x = extremes();
  for_each_isa([&] {
    for (const UnaryRow& row : kernels::unary_rows()) {
      SCOPED_TRACE(row.name);
      Buffer y(x.size());
      kernels::unary({.n = x.size(), .function = row.function, .x = x.in(), .y = y.out()});
      for (int64_t i = 0; i < x.size(); ++i) {
        const double expected = as_float(row.value(x.get(i)));
        EXPECT_TRUE(Tolerance{}.covers(y.get(i), expected, DType::f32))
            << "at " << x.get(i) << " " << y.get(i) << ", expected " << expected;
      }
    }
  });
}

TEST(Functions, UnaryDerivativesAtExtremeArguments) {
  const Buffer x = extremes();
  Buffer dy(x.size());
  for (int64_t i = 0; i < x.size(); ++i) {
    dy.set(i, 1.0);
  }
  for_each_isa([&] {
    for (const UnaryRow& row : kernels::unary_rows()) {
      SCOPED_TRACE(row.name);
      Buffer saved = x;
      for (int64_t i = 0; i < x.size() && row.saved == Saved::value; ++i) {
        saved.set(i, row.value(x.get(i)));
      }
      Buffer dx(x.size());
      kernels::unary_backward({.n = x.size(),
                               .function = row.function,
                               .saved = saved.in(),
                               .dy = dy.in(),
                               .dx = dx.out()});
      for (int64_t i = 0; i < x.size(); ++i) {
        const double at = x.get(i);
        const double expected = as_float(row.derivative(at));
        // Derivatives at NaN, and where the function itself has no value, may be anything.
        if (!std::isnan(at) && !std::isnan(row.value(at))) {
          EXPECT_TRUE(Tolerance{}.covers(dx.get(i), expected, DType::f32))
              << "at " << at << " " << dx.get(i) << ", expected " << expected;
        }
      }
    }
  });
}

// Where the value is 0 to the last bit, nothing is left that a large factor could bring back.
TEST(Functions, SharesOfVeryNegativeArgumentsAreExactlyZero) {
  Buffer x(4);
  for (int64_t i = 0; i < 4; ++i) {
    x.set(i, std::vector<double>{-105, -1e30, -3e38, -kInf}[static_cast<size_t>(i)]);
  }
  for_each_isa([&] {
    for (const Unary function :
         {Unary::gelu, Unary::gelu_tanh, Unary::sigmoid, Unary::silu, Unary::mish}) {
      Buffer y(4);
      kernels::unary({.n = 4, .function = function, .x = x.in(), .y = y.out()});
      EXPECT_EQ(y.values(), std::vector<double>(4, 0.0)) << kernels::row_of(function).name;
    }
  });
}

// Every pair of extreme operands, and of each with 1.
TEST(Functions, BinaryValuesAndDerivativesAtExtremeArguments) {
  std::vector<std::pair<double, double>> pairs;
  std::vector<double> points = kExtremes;
  points.push_back(1.0);
  for (const double a : points) {
    for (const double b : points) {
      pairs.emplace_back(a, b);
    }
  }
  const int64_t n = static_cast<int64_t>(pairs.size());
  Buffer a(n);
  Buffer b(n);
  Buffer dy(n);
  for (int64_t i = 0; i < n; ++i) {
    a.set(i, pairs[static_cast<size_t>(i)].first);
    b.set(i, pairs[static_cast<size_t>(i)].second);
    dy.set(i, 1.0);
  }
  for_each_isa([&] {
    for (const BinaryRow& row : kernels::binary_rows()) {
      SCOPED_TRACE(row.name);
      Buffer y(n);
      Buffer da(n);
      Buffer db(n);
      kernels::binary(
          {.n = n, .function = row.function, .a = a.in(), .b = {b.in(), n}, .y = y.out()});
      for (const bool first : {true, false}) {
        kernels::binary_backward({.n = n,
                                  .function = row.function,
                                  .first = first,
                                  .a = a.in(),
                                  .b = {b.in(), n},
                                  .dy = dy.in(),
                                  .out = first ? da.out() : db.out()});
      }
      for (int64_t i = 0; i < n; ++i) {
        const double v = a.get(i);
        const double w = b.get(i);
        const auto check = [&](const Buffer& ours, auto f, const char* what) {
          // f32 holds nothing below 1e-37 exactly: times infinity that may be anything, and times a
          // large number it is off by as much more.
          if (std::isinf(w) && std::abs(f(v, 1.0)) < 1e-37) {
            return;
          }
          const Tolerance tolerance{.absolute = 1e-6 + (std::isinf(w) ? 0.0 : 1e-36 * std::abs(w))};
          EXPECT_TRUE(tolerance.covers(ours.get(i), as_float(f(v, w)), DType::f32))
              << what << " at " << v << ", " << w << " is " << ours.get(i) << ", expected "
              << f(v, w);
        };
        check(y, row.value, "value");
        if (!std::isnan(v) && !std::isnan(w)) {
          check(da, row.da, "da");
          check(db, row.db, "db");
        }
      }
    }
  });
}

}  // namespace
}  // namespace heed::testing
