// bf16 products, packing and transposition against references in double, on each instruction set
// that has its own kernels for all of them.
#include "kernels/matmul/panels.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

namespace heed::panels {
namespace {

// Elements around the live part of an array, to notice writes outside of it.
constexpr uint16_t kGuardBits = 0x4242;

class PanelsTest : public ::testing::TestWithParam<Isa> {
 protected:
  void SetUp() override {
    if (allowed_isa() < GetParam()) {
      GTEST_SKIP() << "no " << name_of(GetParam()) << " here";
    }
    set_max_isa(GetParam());
  }
  void TearDown() override { set_max_isa(before_); }

 private:
  const Isa before_ = max_isa();
};

INSTANTIATE_TEST_SUITE_P(Isas, PanelsTest, ::testing::Values(Isa::bf16, Isa::amx),
                         [](const auto& isa) { return std::string(name_of(isa.param)); });

// A rows x cols matrix whose rows are ld apart, `offset` elements into its memory, which ends
// exactly where the last row does: reading past it trips the address sanitizer.
template <typename T>
class Matrix {
 public:
  Matrix(int64_t rows, int64_t cols, int64_t extra_ld = 0, int64_t offset = 0)
      : rows_(rows), cols_(cols), ld_(cols + extra_ld), offset_(offset) {
    const int64_t last = rows == 0 ? 0 : (rows - 1) * ld_ + cols;
    memory_.resize(static_cast<size_t>(offset + last));
    std::memset(static_cast<void*>(memory_.data()), 0x42, memory_.size() * sizeof(T));
  }

  T* data() { return memory_.data() + offset_; }
  const T* data() const { return memory_.data() + offset_; }
  int64_t ld() const { return ld_; }
  int64_t rows() const { return rows_; }
  int64_t cols() const { return cols_; }
  T& at(int64_t r, int64_t c) { return memory_[static_cast<size_t>(offset_ + r * ld_ + c)]; }
  double value(int64_t r, int64_t c) const {
    return static_cast<double>(
        static_cast<float>(memory_[static_cast<size_t>(offset_ + r * ld_ + c)]));
  }

  void fill(std::mt19937& random) {
    std::uniform_real_distribution<float> uniform(-1.0F, 1.0F);
    for (int64_t r = 0; r < rows_; ++r) {
      for (int64_t c = 0; c < cols_; ++c) {
        at(r, c) = T(uniform(random));
      }
    }
  }

  // Whether the bytes between rows still hold the guard.
  bool gaps_intact() const {
    T guard;
    std::memset(static_cast<void*>(&guard), kGuardBits & 0xFF, sizeof(T));
    for (int64_t r = 0; r + 1 < rows_; ++r) {
      for (int64_t c = cols_; c < ld_; ++c) {
        if (std::memcmp(data() + r * ld_ + c, &guard, sizeof(T)) != 0) {
          return false;
        }
      }
    }
    return true;
  }

 private:
  int64_t rows_, cols_, ld_, offset_;
  std::vector<T> memory_;
};

double activated(Activation function, double x) { return kernels::row_of(function).value(x); }

struct Case {
  int64_t M, N, K;
  bool a_transposed = false, b_transposed = false;
  bool packed = false, c_is_f32 = false, accumulate = false, bias = false, pre = false;
  Activation activation = Activation::none;
  int64_t extra_ld = 0, offset = 0;
};

std::ostream& operator<<(std::ostream& out, const Case& c) {
  return out << c.M << "x" << c.N << "x" << c.K << " ta " << c.a_transposed << " tb "
             << c.b_transposed << " packed " << c.packed << " f32 " << c.c_is_f32 << " acc "
             << c.accumulate << " bias " << c.bias << " pre " << c.pre << " act "
             << static_cast<int>(c.activation) << " ld+" << c.extra_ld << " offset " << c.offset;
}

std::vector<bf16> pack(const Matrix<bf16>& b, bool transposed) {
  const int64_t K = transposed ? b.cols() : b.rows();
  const int64_t N = transposed ? b.rows() : b.cols();
  std::vector<bf16> packed(packed_size(K, N));
  (transposed ? pack_b_transposed : pack_b)(b.data(), b.ld(), K, N, packed.data());
  return packed;
}

struct Operands {
  Operands(const Case& c, std::mt19937& random)
      : transposed_a(c.a_transposed),
        transposed_b(c.b_transposed),
        a(c.a_transposed ? c.K : c.M, c.a_transposed ? c.M : c.K, c.extra_ld, c.offset),
        b(c.b_transposed ? c.N : c.K, c.b_transposed ? c.K : c.N, 2 * c.extra_ld, c.offset),
        bias(1, c.N, 0, c.offset) {
    a.fill(random);
    b.fill(random);
    bias.fill(random);
  }
  double product(int64_t row, int64_t column, int64_t K) const {
    double sum = 0.0;
    for (int64_t k = 0; k < K; ++k) {
      sum += (transposed_a ? a.value(k, row) : a.value(row, k)) *
             (transposed_b ? b.value(column, k) : b.value(k, column));
    }
    return sum;
  }
  bool transposed_a, transposed_b;
  Matrix<bf16> a, b;
  Matrix<float> bias;
};

// f32 sums of K products of values below 1, then perhaps one rounding to bf16.
double tolerance(int64_t K, bool f32, double expected) {
  return 2e-6 * (1.0 + std::sqrt(static_cast<double>(K))) +
         (f32 ? 2e-6 : 1.0 / 256.0) * std::abs(expected);
}

template <typename T>
void check_gemm(const Case& c, uint32_t seed) {
  std::mt19937 random(seed);
  const Operands in(c, random);
  Matrix<T> result(c.M, c.N, c.extra_ld, c.offset);
  Matrix<bf16> pre(c.M, c.N, c.extra_ld, c.offset);
  result.fill(random);
  const Matrix<T> before = result;
  std::vector<bf16> packed = c.packed ? pack(in.b, c.b_transposed) : std::vector<bf16>();
  gemm({.M = c.M,
        .N = c.N,
        .K = c.K,
        .a = in.a.data(),
        .lda = in.a.ld(),
        .a_transposed = c.a_transposed,
        .b = c.packed ? nullptr : in.b.data(),
        .ldb = in.b.ld(),
        .b_transposed = c.b_transposed,
        .b_packed = c.packed ? packed.data() : nullptr,
        .c = result.data(),
        .ldc = result.ld(),
        .c_is_f32 = c.c_is_f32,
        .accumulate = c.accumulate,
        .bias = c.bias ? in.bias.data() : nullptr,
        .activation = c.activation,
        .pre_activation = c.pre ? pre.data() : nullptr});
  EXPECT_TRUE(result.gaps_intact()) << c;
  EXPECT_TRUE(pre.gaps_intact()) << c;
  for (int64_t i = 0; i < c.M; ++i) {
    for (int64_t j = 0; j < c.N; ++j) {
      const double sum = in.product(i, j, c.K) + (c.bias ? in.bias.value(0, j) : 0.0);
      const double expected =
          activated(c.activation, sum) + (c.accumulate ? before.value(i, j) : 0.0);
      ASSERT_NEAR(result.value(i, j), expected, tolerance(c.K, c.c_is_f32, expected))
          << c << " at " << i << "," << j;
      if (c.pre) {
        ASSERT_NEAR(pre.value(i, j), sum, tolerance(c.K, false, sum)) << c << " pre at " << i;
      }
    }
  }
}

void check_gemm(const Case& c, uint32_t seed) {
  if (c.c_is_f32) {
    check_gemm<float>(c, seed);
  } else {
    check_gemm<bf16>(c, seed);
  }
}

TEST_P(PanelsTest, GemmOfOddShapesInAllTranspositions) {
  const int64_t sizes[] = {1, 3, 16, 17, 32, 33, 63, 100};
  uint32_t seed = 0;
  for (const int64_t M : sizes) {
    for (const int64_t N : sizes) {
      for (const int64_t K : sizes) {
        ++seed;
        check_gemm({.M = M,
                    .N = N,
                    .K = K,
                    .a_transposed = (seed & 1) != 0,
                    .b_transposed = (seed & 2) != 0,
                    .packed = seed % 5 == 0,
                    .c_is_f32 = seed % 3 == 0,
                    .extra_ld = seed % 4,
                    .offset = seed % 3},
                   seed);
      }
    }
  }
}

TEST_P(PanelsTest, GemmOfRandomCases) {
  std::mt19937 random(7);
  const auto below = [&](int64_t n) { return static_cast<int64_t>(random() % n); };
  for (uint32_t i = 0; i < 300; ++i) {
    check_gemm({.M = 1 + below(150),
                .N = 1 + below(150),
                .K = 1 + below(300),
                .a_transposed = below(2) != 0,
                .b_transposed = below(2) != 0,
                .packed = below(4) == 0,
                .c_is_f32 = below(2) != 0,
                .accumulate = below(2) != 0,
                .bias = below(2) != 0,
                .pre = below(3) == 0,
                .activation = static_cast<Activation>(below(4)),
                .extra_ld = below(2) * below(40),
                .offset = below(2) * below(9)},
               i);
  }
}

// Large enough for several threads, blocks of B and blocks of K.
TEST_P(PanelsTest, GemmOfBlockedShapes) {
  const Case cases[] = {
      {.M = 200, .N = 1500, .K = 600, .b_transposed = true, .bias = true},
      {.M = 70, .N = 90, .K = 7001, .c_is_f32 = true},
      {.M = 70, .N = 90, .K = 7001, .b_transposed = true, .packed = true, .accumulate = true},
      {.M = 500, .N = 700, .K = 1030, .a_transposed = true, .c_is_f32 = true, .accumulate = true},
      {.M = 45, .N = 600, .K = 4097, .a_transposed = true, .b_transposed = true, .extra_ld = 5},
  };
  for (const Case& c : cases) {
    check_gemm(c, 3);
  }
}

// A product by 1 is exact, so the activation alone is judged.
TEST_P(PanelsTest, ActivationsArePrecise) {
  constexpr int64_t kCount = 2048;
  Matrix<bf16> a(kCount, 1);
  Matrix<bf16> b(1, 1);
  Matrix<float> c(kCount, 1);
  b.at(0, 0) = bf16(1.0F);
  for (int64_t i = 0; i < kCount; ++i) {
    a.at(i, 0) = bf16(static_cast<float>(i - kCount / 2) * (16.0F / kCount));
  }
  for (const Activation activation : {Activation::relu, Activation::gelu, Activation::gelu_tanh}) {
    gemm({.M = kCount,
          .N = 1,
          .K = 1,
          .a = a.data(),
          .lda = 1,
          .b = b.data(),
          .ldb = 1,
          .c = c.data(),
          .ldc = 1,
          .c_is_f32 = true,
          .activation = activation});
    for (int64_t i = 0; i < kCount; ++i) {
      const double expected = activated(activation, a.value(i, 0));
      ASSERT_NEAR(c.value(i, 0), expected, 5e-6 * std::abs(expected) + 1e-30) << a.value(i, 0);
    }
  }
}

// What rounding leaves of gelu far below zero does not grow with its argument.
TEST_P(PanelsTest, ActivationsOfHugeNegativeSumsAreNothing) {
  const std::vector<float> sums = {-105.0F, -1e10F, -1e30F, -3e38F};
  const int64_t count = static_cast<int64_t>(sums.size());
  Matrix<bf16> a(count, 1);
  Matrix<bf16> b(1, 1);
  Matrix<float> c(count, 1);
  b.at(0, 0) = bf16(1.0F);
  for (int64_t i = 0; i < count; ++i) {
    a.at(i, 0) = bf16(sums[static_cast<size_t>(i)]);
  }
  for (const Activation activation : {Activation::relu, Activation::gelu, Activation::gelu_tanh}) {
    gemm({.M = count,
          .N = 1,
          .K = 1,
          .a = a.data(),
          .lda = 1,
          .b = b.data(),
          .ldb = 1,
          .c = c.data(),
          .ldc = 1,
          .c_is_f32 = true,
          .activation = activation});
    for (int64_t i = 0; i < count; ++i) {
      EXPECT_NEAR(c.value(i, 0), 0.0, 1e-20) << a.value(i, 0);
    }
  }
}

TEST_P(PanelsTest, NoDepthStillWritesC) {
  std::vector<float> c(6, 5.0F);
  const std::vector<float> bias = {1.0F, 2.0F, 3.0F};
  gemm({.M = 2, .N = 3, .K = 0, .c = c.data(), .ldc = 3, .c_is_f32 = true, .bias = bias.data()});
  EXPECT_EQ(c, (std::vector<float>{1, 2, 3, 1, 2, 3}));
}

TEST_P(PanelsTest, ARowsBitsDoNotDependOnTheOthersNorOnThreads) {
  constexpr int64_t kRows = 150;
  constexpr int64_t kColumns = 333;
  constexpr int64_t kDepth = 5003;
  std::mt19937 random(11);
  Matrix<bf16> a(kRows, kDepth);
  Matrix<bf16> b(kColumns, kDepth);
  a.fill(random);
  b.fill(random);
  const std::vector<bf16> packed = pack(b, true);
  const auto product = [&](int64_t row, int64_t rows, bool use_packed) {
    std::vector<float> c(static_cast<size_t>(rows * kColumns));
    gemm({.M = rows,
          .N = kColumns,
          .K = kDepth,
          .a = a.data() + row * kDepth,
          .lda = kDepth,
          .b = b.data(),
          .ldb = kDepth,
          .b_transposed = true,
          .b_packed = use_packed ? packed.data() : nullptr,
          .c = c.data(),
          .ldc = kColumns,
          .c_is_f32 = true});
    return c;
  };
  const std::vector<float> all = product(0, kRows, false);
  EXPECT_EQ(all, product(0, kRows, true));
  for (const int64_t row : {0, 31, 32, 149}) {
    for (const bool use_packed : {false, true}) {  // on tiles, or the way of single rows
      const std::vector<float> alone = product(row, 1, use_packed);
      EXPECT_TRUE(std::equal(alone.begin(), alone.end(), all.begin() + row * kColumns))
          << row << (use_packed ? " packed" : "");
    }
  }
  const int threads = omp_get_max_threads();
  omp_set_num_threads(threads == 1 ? 3 : 1);
  EXPECT_EQ(all, product(0, kRows, false));
  omp_set_num_threads(threads);
}

TEST_P(PanelsTest, BlockGemm) {
  std::mt19937 random(5);
  for (const int64_t M : {1, 17, 32, 64, 77}) {
    for (const int64_t N : {1, 16, 33, 64}) {
      for (const int64_t K : {1, 31, 32, 64, 100, 700}) {
        for (const bool accumulate : {false, true}) {
          const Case shape = {.M = M,
                              .N = N,
                              .K = K,
                              .b_transposed = accumulate,
                              .extra_ld = M % 5,
                              .offset = N % 3};
          const Operands in(shape, random);
          Matrix<float> c(M, N, shape.extra_ld, shape.offset);
          c.fill(random);
          const Matrix<float> before = c;
          const std::vector<bf16> packed = pack(in.b, shape.b_transposed);
          {
            const BlockScope scope;
            block_gemm(
                {M, N, K, in.a.data(), in.a.ld(), packed.data(), c.data(), c.ld(), accumulate});
          }
          EXPECT_TRUE(c.gaps_intact()) << shape;
          for (int64_t i = 0; i < M; ++i) {
            for (int64_t j = 0; j < N; ++j) {
              const double expected = in.product(i, j, K) + (accumulate ? before.value(i, j) : 0.0);
              ASSERT_NEAR(c.value(i, j), expected, tolerance(K, true, expected)) << shape;
            }
          }
        }
      }
    }
  }
}

TEST_P(PanelsTest, Transpose) {
  std::mt19937 random(9);
  for (const int64_t rows : {1, 7, 31, 32, 33, 64, 100}) {
    for (const int64_t cols : {1, 7, 8, 9, 32, 65, 100}) {
      Matrix<bf16> src(rows, cols, rows % 3, cols % 2);
      Matrix<bf16> out(cols, rows, cols % 4, rows % 3);
      src.fill(random);
      transpose(src.data(), src.ld(), rows, cols, out.data(), out.ld());
      EXPECT_TRUE(out.gaps_intact());
      for (int64_t r = 0; r < rows; ++r) {
        for (int64_t c = 0; c < cols; ++c) {
          ASSERT_EQ(out.at(c, r).bits, src.at(r, c).bits) << rows << "x" << cols;
        }
      }
    }
  }
}

// The padding has to be zero whatever was in the memory, or NaN bits there would reach the sums.
TEST_P(PanelsTest, PackedPaddingIsZero) {
  std::mt19937 random(13);
  Matrix<bf16> b(33, 40);
  b.fill(random);
  for (const bool transposed : {false, true}) {
    std::vector<bf16> packed(packed_size(40, 40) + packed_size(33, 40), bf16(NAN));
    const int64_t K = transposed ? 40 : 33;
    const int64_t N = transposed ? 33 : 40;
    (transposed ? pack_b_transposed : pack_b)(b.data(), b.ld(), K, N, packed.data());
    const auto live = packed.begin() + static_cast<int64_t>(packed_size(K, N));
    EXPECT_EQ(33 * 40,
              std::count_if(packed.begin(), live, [](bf16 v) { return (v.bits & 0x7FFF) != 0; }));
    EXPECT_TRUE(std::isnan(static_cast<float>(*live)));
  }
}

}  // namespace
}  // namespace heed::panels
