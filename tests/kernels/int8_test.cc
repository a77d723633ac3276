// Int8 matrices: quantising, packing, rows and products, at every instruction set.
#include "kernels/matmul/int8/int8.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "base/parallel.h"
#include "base/random.h"
#include "support/kernel_buffer.h"

namespace heed::testing {
namespace {

std::vector<float> normal(int64_t count, uint64_t stream) {
  const RandomStream random{7, stream};
  std::vector<float> values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = random.normal(i);
  }
  return values;
}

struct Quantized {
  Quantized(const std::vector<float>& x, int64_t rows, int64_t columns)
      : values(x.size()), scales(static_cast<size_t>(rows * kernels::int8_blocks(columns))) {
    view = {rows, columns, values.data(), scales.data()};
    kernels::int8_quantize(x.data(), view);
  }

  std::vector<float> floats() const {
    std::vector<float> x(values.size());
    kernels::int8_dequantize(view, x.data());
    return x;
  }

  std::vector<int8_t> values;
  std::vector<bf16> scales;
  kernels::Int8Values view{};
};

struct Packed {
  Packed(const std::vector<float>& w, int64_t rows, int64_t columns)
      : bytes(kernels::Int8Matrix::bytes(rows, columns)), matrix(bytes.data(), rows, columns) {
    kernels::int8_pack(w.data(), rows, columns, bytes.data());
  }

  std::vector<std::byte> bytes;
  kernels::Int8Matrix matrix;
};

// What the product promises, by its definition: integers of x and w summed a block at a time.
std::vector<double> reference(const std::vector<float>& x, int64_t m, const Quantized& w) {
  const int64_t k = w.view.columns;
  const std::vector<float> weights = w.floats();
  std::vector<double> y;
  for (int64_t row = 0; row < m; ++row) {
    std::vector<double> rounded(static_cast<size_t>(k));
    for (int64_t first = 0; first < k; first += kernels::kInt8Block) {
      const int64_t last = std::min(k, first + kernels::kInt8Block);
      float most = 0.0F;
      for (int64_t i = first; i < last; ++i) {
        most = std::max(most, std::abs(x[static_cast<size_t>(row * k + i)]));
      }
      for (int64_t i = first; i < last && most > 0.0F; ++i) {
        rounded[static_cast<size_t>(i)] =
            std::nearbyint(x[static_cast<size_t>(row * k + i)] * (127.0F / most)) * (most / 127.0);
      }
    }
    for (int64_t n = 0; n < w.view.rows; ++n) {
      double sum = 0.0;
      for (int64_t i = 0; i < k; ++i) {
        sum += rounded[static_cast<size_t>(i)] * weights[static_cast<size_t>(n * k + i)];
      }
      y.push_back(sum);
    }
  }
  return y;
}

std::vector<float> product(const std::vector<float>& x, int64_t m, const Packed& w,
                           const float* bias = nullptr) {
  std::vector<float> y(static_cast<size_t>(m * w.matrix.rows), -1.0F);
  kernels::int8_product({.m = m,
                         .x = {x.data(), DType::f32},
                         .w = w.matrix,
                         .y = {y.data(), DType::f32},
                         .ldx = w.matrix.columns,
                         .ldy = w.matrix.rows,
                         .bias = bias});
  return y;
}

TEST(Int8, RoundsToAHalfStepOfItsBlock) {
  constexpr int64_t kRows = 5;
  constexpr int64_t kColumns = 150;
  const std::vector<float> x = normal(kRows * kColumns, 1);
  const Quantized q(x, kRows, kColumns);
  const std::vector<float> back = q.floats();
  for (int64_t i = 0; i < kRows * kColumns; ++i) {
    const int64_t block = i / kColumns * kernels::int8_blocks(kColumns) + i % kColumns / 64;
    const auto step = static_cast<float>(q.scales[static_cast<size_t>(block)]);
    const auto at = static_cast<size_t>(i);
    EXPECT_GT(step, 0.0F);
    EXPECT_NEAR(back[at], x[at], 0.76F * step) << at;  // a quarter more for the rounded scale
  }
}

TEST(Int8, QuantisingAgainChangesNothing) {
  const std::vector<float> x = normal(40 * 200, 2);
  const Quantized once(x, 40, 200);
  const Quantized twice(once.floats(), 40, 200);
  EXPECT_EQ(once.values, twice.values);
  EXPECT_EQ(once.floats(), twice.floats());
}

TEST(Int8, ZerosStayZeros) {
  const std::vector<float> zeros(3 * 70, 0.0F);
  EXPECT_EQ(Quantized(zeros, 3, 70).floats(), zeros);
  const Packed packed(zeros, 3, 70);
  EXPECT_EQ(product(normal(2 * 70, 3), 2, packed), std::vector<float>(6, 0.0F));
}

TEST(Int8, RowsOfThePackedMatrixAreTheQuantisedOnes) {
  constexpr int64_t kRows = 37;
  constexpr int64_t kColumns = 130;
  const std::vector<float> w = normal(kRows * kColumns, 4);
  const Packed packed(w, kRows, kColumns);
  std::vector<float> rows(w.size());
  for (int64_t r = 0; r < kRows; ++r) {
    kernels::int8_row(packed.matrix, r, 1.0F, rows.data() + r * kColumns);
  }
  EXPECT_EQ(rows, Quantized(w, kRows, kColumns).floats());
}

TEST(Int8, ProductsOfAllSizes) {
  for_each_isa([] {
    for (const int64_t m : {1, 2, 5, 6, 7, 13, 32, 71}) {
      for (const auto& [n, k] :
           {std::pair<int64_t, int64_t>{1, 1}, {16, 64}, {33, 70}, {50, 257}}) {
        SCOPED_TRACE(::testing::Message() << m << " x " << n << " x " << k);
        const std::vector<float> x = normal(m * k, 5);
        const std::vector<float> w = normal(n * k, 6);
        const std::vector<double> expected = reference(x, m, Quantized(w, n, k));
        const std::vector<float> y = product(x, m, Packed(w, n, k));
        for (size_t i = 0; i < y.size(); ++i) {
          ASSERT_NEAR(y[i], expected[i], 1e-4 * std::sqrt(static_cast<double>(k))) << i;
        }
      }
    }
  });
}

TEST(Int8, IsCloseToTheProductOfFloats) {
  constexpr int64_t kSize = 768;
  const std::vector<float> x = normal(3 * kSize, 7);
  const std::vector<float> w = normal(64 * kSize, 8);
  const std::vector<float> y = product(x, 3, Packed(w, 64, kSize));
  double error = 0.0;
  double size = 0.0;
  for (int64_t r = 0; r < 3; ++r) {
    for (int64_t n = 0; n < 64; ++n) {
      double exact = 0.0;
      for (int64_t i = 0; i < kSize; ++i) {
        exact += static_cast<double>(x[static_cast<size_t>(r * kSize + i)]) *
                 static_cast<double>(w[static_cast<size_t>(n * kSize + i)]);
      }
      const double difference = static_cast<double>(y[static_cast<size_t>(r * 64 + n)]) - exact;
      error += difference * difference;
      size += exact * exact;
    }
  }
  EXPECT_LT(std::sqrt(error / size), 0.01);
}

TEST(Int8, ARowGivesTheSameBitsInAnyCompany) {
  for_each_isa([] {
    constexpr int64_t kRows = 39;  // two tiles, six more and one more
    constexpr int64_t k = 320;
    constexpr int64_t n = 71;
    const std::vector<float> x = normal(kRows * k, 9);
    const Packed w(normal(n * k, 10), n, k);
    const std::vector<float> together = product(x, kRows, w);
    for (int64_t r = 0; r < kRows; ++r) {
      const std::vector<float> alone = product({x.begin() + r * k, x.begin() + (r + 1) * k}, 1, w);
      ASSERT_TRUE(std::equal(alone.begin(), alone.end(), together.begin() + r * n)) << r;
    }
  });
}

TEST(Int8, BiasAndNarrowOperands) {
  for_each_isa([] {
    constexpr int64_t k = 100;
    constexpr int64_t n = 20;
    const std::vector<float> x = normal(2 * k, 11);
    const std::vector<float> bias = normal(n, 12);
    const Packed w(normal(n * k, 13), n, k);
    std::vector<bf16> narrow;
    std::vector<float> rounded;
    for (const float value : x) {
      narrow.emplace_back(value);
      rounded.push_back(static_cast<float>(narrow.back()));
    }
    std::vector<bf16> y(2 * n);
    kernels::int8_product({.m = 2,
                           .x = {narrow.data(), DType::bf16},
                           .w = w.matrix,
                           .y = {y.data(), DType::bf16},
                           .ldx = k,
                           .ldy = n,
                           .bias = bias.data()});
    const std::vector<float> expected = product(rounded, 2, w, bias.data());
    for (size_t i = 0; i < y.size(); ++i) {
      EXPECT_EQ(static_cast<float>(y[i]), static_cast<float>(bf16(expected[i])));
    }
  });
}

TEST(Int8, WhatIsNoNumberSpoilsItsOwnRowAlone) {
  for_each_isa([] {
    constexpr int64_t k = 128;
    const Packed w(normal(17 * k, 14), 17, k);
    for (const float bad :
         {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
      std::vector<float> x = normal(3 * k, 15);
      x[k + 70] = bad;
      const std::vector<float> y = product(x, 3, w);
      for (size_t i = 0; i < y.size(); ++i) {
        EXPECT_EQ(std::isnan(y[i]), i / 17 == 1) << i;
      }
    }
  });
}

}  // namespace
}  // namespace heed::testing
