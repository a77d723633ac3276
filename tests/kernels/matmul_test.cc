#include "kernels/matmul/matmul.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "kernels/cpu.h"
#include "kernels/matmul/frozen.h"
#include "kernels/reference/reference.h"
#include "ops/operands.h"
#include "tensor/tensor.h"

namespace heed {
namespace {

std::vector<float> random_floats(int64_t count, uint64_t stream) {
  const RandomStream random{1, stream};
  std::vector<float> values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(bf16(random.normal(i)));  // exact in both dtypes
  }
  return values;
}

// x w^T, as linear() computes it.
std::vector<float> times_transpose(const Tensor& x, const Tensor& w, DType dtype) {
  const Tensor y = Tensor::empty({x.dim(0), w.dim(0)}, dtype);
  kernels::matmul({.m = x.dim(0),
                   .n = w.dim(0),
                   .k = w.dim(1),
                   .a = in(x),
                   .b = in(w),
                   .c = out(y),
                   .transpose_b = true});
  return y.to_vector();
}

struct Product {
  int64_t m, n, k;
  bool ta, tb;
};

class MatmulTest : public ::testing::TestWithParam<Product> {
 protected:
  const Isa before_ = max_isa();
  void TearDown() override { set_max_isa(before_); }
};

// Our AMX path, oneDNN's bf16 path and the widened one, and f32, with bias, activation and
// addition.
TEST_P(MatmulTest, AgreesWithTheReference) {
  const auto [m, n, k, ta, tb] = GetParam();
  const std::vector<float> a = random_floats(m * k, 1);
  const std::vector<float> b = random_floats(k * n, 2);
  const std::vector<float> bias = random_floats(n, 3);
  const std::vector<double> da(a.begin(), a.end());
  const std::vector<double> db(b.begin(), b.end());
  const std::vector<double> expected = reference::matmul<double>(
      {.m = m, .n = n, .k = k, .transpose_a = ta, .transpose_b = tb}, da, db);
  for (const Isa isa : usable_isas()) {
    set_max_isa(isa);
    for (const DType dtype : {DType::f32, DType::bf16}) {
      const Tensor ta_values = Tensor::from(a, {m * k}, dtype);
      const Tensor tb_values = Tensor::from(b, {k * n}, dtype);
      const Tensor c = Tensor::full({m, n}, 1.0F, dtype);
      kernels::matmul({.m = m,
                       .n = n,
                       .k = k,
                       .a = {ta_values.raw(), dtype},
                       .b = {tb_values.raw(), dtype},
                       .c = {c.raw(), dtype},
                       .transpose_a = ta,
                       .transpose_b = tb,
                       .accumulate = true,
                       .bias = bias.data()});
      const std::vector<float> got = c.to_vector();
      const double tolerance = (dtype == DType::f32 ? 1e-5 : 1e-2) * std::sqrt(double(k) + 1);
      for (int64_t i = 0; i < m * n; ++i) {
        const double value = expected[i] + bias[i % n] + 1.0;
        ASSERT_NEAR(got[i], value, tolerance + (dtype == DType::f32 ? 0.0 : std::abs(value) / 128))
            << name_of(isa) << " " << name_of(dtype) << " at " << i;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, MatmulTest,
    ::testing::Values(Product{1, 33, 17, false, true}, Product{1, 40, 64, false, false},
                      Product{3, 5, 7, true, false}, Product{65, 70, 33, false, true},
                      Product{100, 64, 96, false, false}, Product{64, 48, 130, true, false},
                      Product{50, 20, 31, true, true}));

// Rows of one product, each multiplied alone, a few at a time and all together.
TEST(Matmul, FrozenWeightsGiveARowTheSameBitsInAnyBatch) {
  const int64_t rows = 70;
  const int64_t n = 77;
  const int64_t k = 1100;  // more than one block of k
  const Isa before = max_isa();
  for (const Isa isa : usable_isas()) {
    set_max_isa(isa);
    for (const DType dtype : {DType::f32, DType::bf16}) {
      const Tensor x = Tensor::from(random_floats(rows * k, 1), {rows, k}, dtype);
      Tensor w = Tensor::from(random_floats(n * k, 2), {n, k}, dtype);
      kernels::FrozenWeight frozen(true);
      w.set_frozen(&frozen);
      const auto product = [&](int64_t first, int64_t count) {
        return times_transpose(x.rows(first, first + count), w, dtype);
      };
      const std::vector<float> all = product(0, rows);
      for (const int64_t count : {1, 2, 5, 12, 13, 31, 33, 64}) {
        for (const int64_t first : {int64_t{0}, int64_t{3}}) {
          const std::vector<float> part = product(first, count);
          const auto begin = all.begin() + first * n;
          const auto differs = std::mismatch(part.begin(), part.end(), begin);
          const auto at = differs.first - part.begin();
          ASSERT_EQ(at, std::ssize(part))
              << name_of(isa) << " " << name_of(dtype) << " " << count << " rows from " << first
              << ": row " << at / n << " column " << at % n << " is " << *differs.first
              << ", expected " << *differs.second;
        }
      }
    }
  }
  set_max_isa(before);
}

// Only products with a frozen matrix, and only in the scope; each row as it is alone.
TEST(Matmul, RoughProductsAreThoseOfIntegers) {
  const int64_t rows = 9;
  const int64_t n = 40;
  const int64_t k = 130;
  const Isa before = max_isa();
  for (const Isa isa : usable_isas()) {
    set_max_isa(isa);
    for (const DType dtype : {DType::f32, DType::bf16}) {
      const Tensor x = Tensor::from(random_floats(rows * k, 1), {rows, k}, dtype);
      Tensor w = Tensor::from(random_floats(n * k, 2), {n, k}, dtype);
      kernels::FrozenWeight frozen(true);
      const auto product = [&](int64_t first, int64_t count) {
        return times_transpose(x.rows(first, first + count), w, DType::f32);
      };
      const std::vector<float> exact = product(0, rows);
      const kernels::RoughProducts rough;
      EXPECT_EQ(product(0, rows), exact) << "the matrix may change";
      w.set_frozen(&frozen);
      const std::vector<float> all = product(0, rows);
      EXPECT_NE(all, exact);
      for (size_t i = 0; i < all.size(); ++i) {
        ASSERT_NEAR(all[i], exact[i], 0.05 * std::sqrt(double(k))) << name_of(isa);
      }
      const std::vector<float> top = times_transpose(x, w.rows(0, 16), DType::f32);
      const std::vector<float> bottom = times_transpose(x, w.rows(16, n), DType::f32);
      EXPECT_EQ(top.front(), all.front()) << name_of(isa);
      EXPECT_EQ(bottom.front(), all[16]) << "other rows of the same matrix";
      const std::vector<float> one = product(4, 1);
      EXPECT_TRUE(std::equal(one.begin(), one.end(), all.begin() + 4 * n)) << name_of(isa);
    }
  }
  set_max_isa(before);
}

TEST(Matmul, EmptySumIsTheBias) {
  const std::vector<float> bias{1, 2, 3};
  const Tensor c = Tensor::full({2, 3}, 9.0F);
  kernels::matmul({.m = 2,
                   .n = 3,
                   .k = 0,
                   .a = {c.raw(), DType::f32},
                   .b = {c.raw(), DType::f32},
                   .c = {c.raw(), DType::f32},
                   .bias = bias.data()});
  EXPECT_EQ(c.to_vector(), (std::vector<float>{1, 2, 3, 1, 2, 3}));
}

}  // namespace
}  // namespace heed
