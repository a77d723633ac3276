// Products by rows at every instruction set: every number of rows is right, and the bits of a row
// depend on nothing but itself.
#include <gtest/gtest.h>

#include <bit>

#include "base/parallel.h"
#include "kernels/matmul/gemv.h"
#include "support/kernel_buffer.h"

namespace heed::testing {
namespace {

struct Extent {
  int64_t m, n, k;
};

// Operands of one product at odd addresses, rows further apart than they are long.
struct Operands {
  explicit Operands(const Extent& extent)
      : e(extent),
        ldx(e.k + 3),
        ldw(e.k + 5),
        x((e.m - 1) * ldx + e.k, DType::f32, 1),
        w((e.n - 1) * ldw + e.k, DType::f32, 3),
        bias(e.n, DType::f32, 5) {
    x.fill(11);
    w.fill(12);
    bias.fill(13);
  }

  kernels::Gemv args(Buffer& y, int64_t ldy) {
    return {.m = e.m,
            .n = e.n,
            .k = e.k,
            .x = x.in(),
            .w = w.in(),
            .y = y.out(),
            .ldx = ldx,
            .ldw = ldw,
            .ldy = ldy,
            .bias = bias.data<float>()};
  }

  Extent e;
  int64_t ldx, ldw;
  Buffer x, w, bias;
};

void check_product(const Extent& e, bool relu) {
  Operands operands(e);
  const int64_t ldy = e.n + 2;
  Buffer y = Buffer((e.m - 1) * ldy + e.n, DType::f32, 9).fill(14);
  std::vector<double> expected = y.values();  // gaps between rows stay as they are
  for (int64_t row = 0; row < e.m; ++row) {
    for (int64_t column = 0; column < e.n; ++column) {
      double sum = operands.bias.get(column);
      for (int64_t i = 0; i < e.k; ++i) {
        sum += operands.x.get(row * operands.ldx + i) * operands.w.get(column * operands.ldw + i);
      }
      expected[static_cast<size_t>(row * ldy + column)] = relu ? std::max(sum, 0.0) : sum;
    }
  }
  kernels::Gemv args = operands.args(y, ldy);
  args.relu = relu;
  kernels::gemv(args);
  const double size = std::sqrt(static_cast<double>(e.k));
  expect_close(y, expected, {.absolute = 3e-6 * (1 + size), .relative = 2e-6});
}

TEST(GemvRows, EveryNumberOfRows) {
  for_each_isa([] {
    for (int64_t m = 1; m <= 30; ++m) {
      SCOPED_TRACE(::testing::Message() << m << " rows");
      check_product({m, 45, 19}, m % 3 == 0);
    }
  });
}

// More rows than fit into the cache at once, and a last tile of every size.
TEST(GemvRows, RowsInBlocks) {
  for_each_isa([] {
    for (int64_t m = 125; m <= 131; ++m) {
      check_product({m, 9, 600}, true);
    }
  });
}

// The bits of rows [first, first + count), computed as a product of their own.
std::vector<uint32_t> bits_of_rows(Operands& operands, int64_t first, int64_t count) {
  const int64_t n = operands.e.n;
  Buffer y(count * n);
  kernels::Gemv args = operands.args(y, n);
  args.m = count;
  args.x.data = operands.x.data<float>() + first * operands.ldx;
  kernels::gemv(args);
  std::vector<uint32_t> bits;
  for (const float value : std::span(y.data<float>(), static_cast<size_t>(count * n))) {
    bits.push_back(std::bit_cast<uint32_t>(value));
  }
  return bits;
}

TEST(GemvRows, DoNotDependOnTheirCompany) {
  constexpr int64_t kRows = 30;
  constexpr int64_t kColumns = 77;
  for_each_isa([] {
    Operands operands({kRows, kColumns, 131});
    const std::vector<uint32_t> together = bits_of_rows(operands, 0, kRows);
    for (int64_t first = 0; first < kRows; ++first) {
      for (int64_t count = 1; first + count <= kRows; ++count) {
        const std::vector<uint32_t> apart = bits_of_rows(operands, first, count);
        ASSERT_TRUE(std::equal(apart.begin(), apart.end(), together.begin() + first * kColumns))
            << count << " rows from " << first;
      }
    }
  });
}

TEST(GemvRows, ThreadsChangeNothing) {
  const int before = num_threads();
  for_each_isa([] {
    Operands operands({13, 701, 257});  // enough work for several threads
    set_num_threads(1);
    const std::vector<uint32_t> alone = bits_of_rows(operands, 0, 13);
    for (const int threads : {2, 3, 5}) {
      set_num_threads(threads);
      EXPECT_EQ(bits_of_rows(operands, 0, 13), alone) << threads << " threads";
    }
  });
  set_num_threads(before);
}

}  // namespace
}  // namespace heed::testing
