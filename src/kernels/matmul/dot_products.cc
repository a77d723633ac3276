// bf16 products on vdpbf16ps: a lane adds the products of a pair of k to its sum.
//
// Lanes are 16 columns of C. A tile of up to 12 rows and 32 columns keeps its 24 sums in registers
// while k runs: two loads of B and a broadcast pair of each row of A feed 24 instructions. Every
// sum takes the pairs of k in order, whatever the tile's size, so a row has the same bits in any
// batch.
#include "kernels/matmul/dot_products.h"

#include <algorithm>
#include <cstring>

#include "base/parallel.h"
#include "kernels/matmul/panel_gemm-inl.h"

namespace heed::panels {
namespace {

constexpr int64_t kMostRows = 12;
constexpr int64_t kPairs = kStep / 2;

// A few rows of A: a row's pairs of one step lie side by side.
struct RowsOfA {
  const bf16* data;
  int64_t row;   // elements from one row to the next
  int64_t step;  // from one step to the next
};

// A vector for each half of a panel's columns, or for the first half alone.
template <int64_t rows, int64_t halves = 2>
using Sums = __m512[rows][halves];

HEED_BF16_INLINE __m512i broadcast_pair(const bf16* a) {
  int32_t bits;
  std::memcpy(&bits, a, sizeof(bits));
  return _mm512_set1_epi32(bits);
}

HEED_BF16_INLINE __m512 dot(__m512 sum, __m512i a, __m512i b) {
  return _mm512_dpbf16_ps(sum, (__m512bh)a, (__m512bh)b);
}

// One pair of k.
template <int64_t rows, int64_t halves>
HEED_BF16_INLINE void add_pair(const bf16* a, int64_t a_row, const bf16* b,
                               Sums<rows, halves>& sums) {
  __m512i columns[halves];
#pragma GCC unroll 2
  for (int64_t h = 0; h < halves; ++h) {
    columns[h] = _mm512_loadu_si512(b + h * kTileElements);
  }
#pragma GCC unroll 12
  for (int64_t r = 0; r < rows; ++r) {
    const __m512i pair = broadcast_pair(a + r * a_row);
#pragma GCC unroll 2
    for (int64_t h = 0; h < halves; ++h) {
      sums[r][h] = dot(sums[r][h], pair, columns[h]);
    }
  }
}

// Whole steps of k.
template <int64_t rows, int64_t halves>
HEED_BF16_INLINE void add_steps(const RowsOfA& rows_of_a, const bf16* b, int64_t steps,
                                Sums<rows, halves>& sums) {
  const bf16* a = rows_of_a.data;
  for (int64_t step = 0; step < steps; ++step, a += rows_of_a.step, b += kStepElements) {
#pragma GCC unroll 16
    for (int64_t pair = 0; pair < kPairs; ++pair) {
      add_pair<rows, halves>(a + 2 * pair, rows_of_a.row, b + pair * kStep, sums);
    }
  }
}

// One step of k for the columns of one tile.
template <int64_t tile, int64_t rows>
HEED_BF16_INLINE void add_tile(const bf16* a, int64_t a_row, const bf16* b, Sums<rows>& sums) {
#pragma GCC unroll 4
  for (int64_t pair = 0; pair < kPairs; ++pair, a += 2, b += kStep) {
    const __m512i columns = _mm512_loadu_si512(b);
#pragma GCC unroll 12
    for (int64_t r = 0; r < rows; ++r) {
      sums[r][tile] = dot(sums[r][tile], broadcast_pair(a + r * a_row), columns);
    }
  }
}

// Whole steps for few rows, tile by tile: B is read as it lies, which the CPU foresees. Two streams
// side by side come from memory at a third of the speed (Zen 4).
template <int64_t rows>
HEED_BF16_INLINE void add_steps_in_order(const RowsOfA& rows_of_a, const bf16* b, int64_t steps,
                                         Sums<rows>& sums) {
  const bf16* a = rows_of_a.data;
  for (int64_t step = 0; step < steps; ++step, a += rows_of_a.step, b += kStepElements) {
    add_tile<0, rows>(a, rows_of_a.row, b, sums);
    add_tile<1, rows>(a, rows_of_a.row, b + kTileElements, sums);
  }
}

// The loops over rows are unrolled whole, or the sums would live in memory.
template <int64_t rows, int64_t halves>
HEED_BF16_INLINE void clear_sums(Sums<rows, halves>& sums) {
#pragma GCC unroll 12
  for (int64_t r = 0; r < rows; ++r) {
#pragma GCC unroll 2
    for (int64_t h = 0; h < halves; ++h) {
      sums[r][h] = _mm512_setzero_ps();
    }
  }
}

HEED_BF16_INLINE __mmask16 half_of(__mmask32 mask, int64_t half) {
  return static_cast<__mmask16>(mask >> (16 * half));
}

template <int64_t rows, int64_t halves>
HEED_BF16_INLINE void load_sums(const float* from, int64_t ld, __mmask32 mask,
                                Sums<rows, halves>& sums) {
#pragma GCC unroll 12
  for (int64_t r = 0; r < rows; ++r) {
#pragma GCC unroll 2
    for (int64_t h = 0; h < halves; ++h) {
      sums[r][h] = _mm512_maskz_loadu_ps(half_of(mask, h), from + r * ld + 16 * h);
    }
  }
}

template <int64_t rows, int64_t halves>
HEED_BF16_INLINE void store_sums(const Sums<rows, halves>& sums, float* to, int64_t ld,
                                 __mmask32 mask) {
#pragma GCC unroll 12
  for (int64_t r = 0; r < rows; ++r) {
#pragma GCC unroll 2
    for (int64_t h = 0; h < halves; ++h) {
      _mm512_mask_storeu_ps(to + r * ld + 16 * h, half_of(mask, h), sums[r][h]);
    }
  }
}

// tile<wanted>(), found by counting down.
template <int64_t rows = kMostRows, typename Tile>
void one_tile(int64_t wanted, const Tile& tile) {
  if (wanted == rows) {
    tile.template operator()<rows>();
  } else if constexpr (rows > 1) {
    one_tile<rows - 1>(wanted, tile);
  }
}

constexpr __mmask32 kWhole = ~__mmask32{0};

template <int64_t rows>
HEED_BF16_TARGET __attribute__((noinline)) void multiply_tile(const PanelProduct& product,
                                                              int64_t row) {
  Sums<rows> sums;
  if (product.from == nullptr) {
    clear_sums<rows, 2>(sums);
  } else {
    load_sums<rows, 2>(product.from + row * kPanel, kPanel, kWhole, sums);
  }
  add_steps<rows, 2>({product.a + row * kStep, kStep, kStepElements}, product.b, product.steps,
                     sums);
  store_sums<rows, 2>(sums, product.to + row * kPanel, kPanel, kWhole);
}

struct DotKernel {
  struct Scope {};
  // Measured on Zen 4 (32 KiB L1, 1 MiB L2).
  static constexpr int64_t kMaxDepth = 512;
  static constexpr int64_t kBlockOfBBytes = 1 << 19;
  static constexpr bool kBusyVectors = true;         // nothing comes along for free
  static constexpr double kCyclesPerBlock = 1024.0;  // and step
  static constexpr double kFlopsPerThread = 1e6;

  template <typename SideWork>
  HEED_AMX_INLINE static void multiply(const PanelProduct& product, const SideWork& side) {
    const int64_t tiles = ceil_div(product.rows, kMostRows);
    for (int64_t i = 0; i < tiles; ++i) {
      const int64_t row = product.rows * i / tiles;
      const int64_t rows = product.rows * (i + 1) / tiles - row;
      one_tile(rows, [&]<int64_t kRows>() HEED_BF16_TARGET { multiply_tile<kRows>(product, row); });
    }
    for (int64_t chunk = 0; chunk * kChunk < product.steps; ++chunk) {
      side.chunk(chunk);
    }
  }
};

// At most kMostRows rows times panels [begin, end) of a packed B, which is bound by the memory that
// B comes from. `a` is padded with zeros to whole steps: [steps][rows][32].
template <int64_t rows>
HEED_BF16_TARGET void few_rows(const Gemm& args, const bf16* a, int64_t begin, int64_t end) {
  const Epilogue epilogue{args.c,    args.ldc,        args.c_is_f32,      args.accumulate,
                          args.bias, args.activation, args.pre_activation};
  const int64_t steps = ceil_div(args.K, kStep);
  for (int64_t panel = begin; panel < end; ++panel) {
    Sums<rows> sums;
    clear_sums<rows, 2>(sums);
    add_steps_in_order<rows>({a, kStep, rows * kStep},
                             args.b_packed + panel * steps * kStepElements, steps, sums);
    alignas(64) float block[rows * kPanel];
    store_sums<rows, 2>(sums, block, kPanel, kWhole);
    const int64_t column = panel * kPanel;
    finish_block_rows(epilogue, block, 0, rows, column, mask_of(std::min(kPanel, args.N - column)));
  }
}

void few_rows_gemm(const Gemm& args) {
  static thread_local HugeScratch scratch;
  const int64_t steps = ceil_div(args.K, kStep);
  auto* a =
      static_cast<bf16*>(scratch.get(static_cast<size_t>(steps * args.M * kStep) * sizeof(bf16)));
  for (int64_t k = 0; k < steps * kStep; ++k) {
    for (int64_t r = 0; r < args.M; ++r) {
      const int64_t at = args.a_transposed ? k * args.lda + r : r * args.lda + k;
      a[(k / kStep * args.M + r) * kStep + k % kStep] = k < args.K ? args.a[at] : bf16(0.0F);
    }
  }
  parallel_rows(ceil_div(args.N, kPanel), kPanel * args.K, [&](int64_t begin, int64_t end) {
    one_tile(args.M, [&]<int64_t rows>() HEED_BF16_TARGET { few_rows<rows>(args, a, begin, end); });
  });
}

// A tile of a block product, A read in place: the pairs past the last whole step one by one, and a
// last single k as a pair with zero.
template <int64_t rows, int64_t halves>
HEED_BF16_TARGET __attribute__((noinline)) void block_tile(const BlockGemm& g, int64_t row,
                                                           int64_t column) {
  const __mmask32 mask = mask_of(std::min(kPanel, g.N - column));
  const int64_t steps = g.K / kStep;
  const bf16* a = g.a + row * g.lda;
  const bf16* b = g.b_packed + column / kPanel * ceil_div(g.K, kStep) * kStepElements;
  float* c = g.c + row * g.ldc + column;
  Sums<rows, halves> sums;
  if (g.accumulate) {
    load_sums<rows, halves>(c, g.ldc, mask, sums);
  } else {
    clear_sums<rows, halves>(sums);
  }
  add_steps<rows, halves>({a, g.lda, kStep}, b, steps, sums);
  a += steps * kStep;
  b += steps * kStepElements;
  for (int64_t pair = 0; pair < g.K % kStep / 2; ++pair) {
    add_pair<rows, halves>(a + 2 * pair, g.lda, b + pair * kStep, sums);
  }
  if (g.K % 2 != 0) {
    bf16 last[rows][2];
    for (int64_t r = 0; r < rows; ++r) {
      last[r][0] = a[r * g.lda + g.K % kStep - 1];
      last[r][1] = bf16(0.0F);
    }
    add_pair<rows, halves>(&last[0][0], 2, b + g.K % kStep / 2 * kStep, sums);
  }
  store_sums<rows, halves>(sums, c, g.ldc, mask);
}

}  // namespace

void dot_gemm(const Gemm& args) {
  // A B of moderate size is packed once for all threads; each would pack all of it otherwise.
  constexpr int64_t kMostShared = int64_t{8} << 20;  // elements
  constexpr int64_t kWorthSharing = 64;              // rows
  if (args.b_packed != nullptr && args.M <= kMostRows) {
    few_rows_gemm(args);
  } else if (args.b_packed == nullptr && args.M >= kWorthSharing && args.N * args.K > 0 &&
             args.N * args.K <= kMostShared && num_threads() > 1) {
    static thread_local HugeScratch scratch;
    auto* packed = static_cast<bf16*>(scratch.get(packed_size(args.K, args.N) * sizeof(bf16)));
    (args.b_transposed ? pack_b_transposed : pack_b)(args.b, args.ldb, args.K, args.N, packed);
    Gemm shared = args;
    shared.b_packed = packed;
    run_gemm<DotKernel>(shared);
  } else {
    run_gemm<DotKernel>(args);
  }
}

void dot_block_gemm(const BlockGemm& args) {
  const int64_t tiles = ceil_div(args.M, kMostRows);
  for (int64_t column = 0; column < args.N; column += kPanel) {
    for (int64_t i = 0; i < tiles; ++i) {
      const int64_t row = args.M * i / tiles;
      const int64_t rows = args.M * (i + 1) / tiles - row;
      one_tile(rows, [&]<int64_t kRows>() HEED_BF16_TARGET {
        if (args.N - column > kPanel / 2) {
          block_tile<kRows, 2>(args, row, column);
        } else {
          block_tile<kRows, 1>(args, row, column);
        }
      });
    }
  }
}

}  // namespace heed::panels
