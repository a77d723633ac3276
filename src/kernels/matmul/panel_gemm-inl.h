// Internal to the bf16 products: the multi-threaded product, whatever multiplies two panels.
//
// C is cut into one region per thread. A thread packs a block of B that fits into L2 and drives
// panels of A, packed one ahead, past it. Two kinds of vector work come along with the
// multiplications (SideWork): packing the next panel of A, and carrying the block of C finished
// last from its staging buffer to memory. Tile instructions leave the vector units idle, so that
// there this work is nearly free if it is spread between them.
//
// K is split only where panels would outgrow L2; sums wait in f32 meanwhile, which is exact, so the
// order of summation is that of k alone. Owns per-thread scratch; thread-safe.
#pragma once

#include <omp.h>

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <limits>
#include <utility>

#include "base/parallel.h"
#include "kernels/matmul/huge_scratch.h"
#include "kernels/matmul/panel_epilogue-inl.h"
#include "kernels/matmul/panels-inl.h"
#include "kernels/matmul/panels.h"

namespace heed::panels {

// A chunk is a run of steps between two portions of side work.
inline constexpr int64_t kChunk = 4;

// The product of two packed panels: to[32][32] = from[32][32] + A * B, of which `rows` rows count.
struct PanelProduct {
  const bf16* a;
  const bf16* b;
  int64_t steps;
  int64_t rows;
  const float* from;  // null: zeros
  float* to;
};

inline constexpr int64_t kBlockElements = kPanel * kPanel;

// A finished block of sums on its way to C.
struct PendingBlock {
  const float* sums = nullptr;
  int64_t row = 0;
  int64_t column = 0;
  int64_t rows = 0;
  int64_t columns = 0;
};

// Packs a panel of A a quarter of a step at a time.
class PanelPacker {
 public:
  explicit PanelPacker(const Gemm& gemm) : gemm_(gemm) {}

  void set_square(bf16* square) { square_ = square; }

  HEED_AMX_INLINE void begin(int64_t row, int64_t k, int64_t steps, bf16* out) {
    row_ = row;
    k_ = k;
    quarters_ = row < gemm_.M ? steps * kQuarters : 0;
    out_ = out;
  }

  int64_t quarters() const { return quarters_; }

  // Asks for the memory that quarter `index` will be packed from.
  HEED_AMX_INLINE void prefetch(int64_t index) const {
    const int64_t quarter = index % kQuarters;
    const int64_t k = k_ + index / kQuarters * kStep;
    const bf16* corner = gemm_.a_transposed ? gemm_.a + (k + 8 * quarter) * gemm_.lda + row_
                                            : gemm_.a + (row_ + 8 * quarter) * gemm_.lda + k;
    for (int64_t line = 0; line < kStep / kQuarters; ++line) {
      _mm_prefetch(corner + line * gemm_.lda, _MM_HINT_T1);
    }
  }

  // Packs quarter `index`; quarters have to come in order.
  HEED_AMX_INLINE void pack(int64_t index) const {
    const int64_t quarter = index % kQuarters;
    const int64_t k = k_ + index / kQuarters * kStep;
    bf16* step = out_ + index / kQuarters * kStepElements;
    const bool cut = row_ + kPanel > gemm_.M || k + kStep > gemm_.K;
    if (!cut && !gemm_.a_transposed) {
      pack_a_quarter(gemm_.a + row_ * gemm_.lda + k, gemm_.lda, quarter, step);
      return;
    }
    if (quarter == 0) {
      copy_square(k);
    }
    if (gemm_.a_transposed) {
      pack_a_quarter_transposed(square_, 32, quarter, step);
    } else {
      pack_a_quarter(square_, 32, quarter, step);
    }
  }

 private:
  // Squares that the edge of A cuts get padded here. Those to transpose are read whole into one
  // place because each of the quarters needs all 32 lines, which a power-of-two lda puts into few
  // sets of L1, where they would not stay.
  HEED_AMX_INLINE void copy_square(int64_t k) const {
    const int64_t rows = std::min(kPanel, gemm_.M - row_);
    const int64_t depth = std::min(kStep, gemm_.K - k);
    if (gemm_.a_transposed) {
      copy_padded_square(gemm_.a + k * gemm_.lda + row_, gemm_.lda, depth, rows, square_);
    } else {
      copy_padded_square(gemm_.a + row_ * gemm_.lda + k, gemm_.lda, rows, depth, square_);
    }
  }

  const Gemm& gemm_;
  int64_t row_ = 0;
  int64_t k_ = 0;
  int64_t quarters_ = 0;
  bf16* out_ = nullptr;
  bf16* square_ = nullptr;
};

// What rides along with the multiplication of two panels: a share of the packing of the next panel
// of A, and the finished block. The chunk's index alone tells what to do.
class SideWork {
 public:
  explicit SideWork(const Gemm& gemm)
      : packer(gemm), epilogue_{gemm.c,    gemm.ldc,        gemm.c_is_f32,      gemm.accumulate,
                                gemm.bias, gemm.activation, gemm.pre_activation} {}

  // For the `share`-th of `shares` multiplications by the present panel of A.
  HEED_AMX_INLINE void begin(int64_t share, int64_t shares, int64_t chunks) {
    rows_per_chunk_ = ceil_div(block.rows, chunks);
    quarter_ = packer.quarters() * share / shares;
    quarter_end_ = packer.quarters() * (share + 1) / shares;
    quarters_per_chunk_ = ceil_div(quarter_end_ - quarter_, chunks);
  }

  HEED_AMX_INLINE void chunk(int64_t index) const {
    finish_rows(index * rows_per_chunk_, (index + 1) * rows_per_chunk_);
    const int64_t quarter = quarter_ + index * quarters_per_chunk_;
    pack_quarters(quarter, std::min(quarter + quarters_per_chunk_, quarter_end_));
  }

  HEED_AMX_INLINE void pack_quarters(int64_t begin, int64_t end) const {
    for (int64_t i = begin; i < end; ++i) {
      packer.pack(i);
    }
  }

  // Asks for the lines of C that a block will be carried to.
  HEED_AMX_INLINE void prefetch_c(int64_t row, int64_t column, int64_t rows) const {
    const int64_t size = epilogue_.c_is_f32 ? 4 : 2;
    const auto* to =
        static_cast<const std::byte*>(epilogue_.c) + (row * epilogue_.ldc + column) * size;
    for (int64_t r = 0; r < rows; ++r, to += epilogue_.ldc * size) {
      __builtin_prefetch(to, 1);
      __builtin_prefetch(to + kPanel * size - 1, 1);
    }
  }

  HEED_AMX_INLINE void finish_rows(int64_t begin, int64_t end) const {
    const int64_t count = std::min(end, block.rows) - begin;
    finish_block_rows(epilogue_, block.sums + begin * kPanel, block.row + begin, count,
                      block.column, mask_of(block.columns));
  }

  PendingBlock block;
  PanelPacker packer;

 private:
  const Epilogue epilogue_;
  int64_t rows_per_chunk_ = 0;
  int64_t quarter_ = 0;
  int64_t quarter_end_ = 0;
  int64_t quarters_per_chunk_ = 0;
};

// The part of C that one thread computes, and how it cuts it up. All but `row_end` and
// `column_end` are multiples of 32.
struct Region {
  int64_t row_begin, row_end;
  int64_t column_begin, column_end;
};

struct Blocking {
  int64_t k;        // values of k packed at once
  int64_t columns;  // columns of the block of B kept in L2
  int64_t rows;     // rows whose partial sums are kept while K is walked in blocks
  bool a_first;     // these rows of A are packed at once, not panel by panel
};

// Bounds scratch memory only: partial sums are read and written in order, which L3 is fast enough
// for, while smaller blocks of rows would pack B more often.
inline constexpr int64_t kPartialBytes = 1 << 24;

// Rows of A that are packed at once by kernels that pack them first: they come from L3.
inline constexpr int64_t kRowsOfABytes = 1 << 22;
inline constexpr int64_t kMostDepthOfRows = 4096;

// Equal pieces of at most `limit`, rounded up to whole panels.
inline int64_t even_piece(int64_t length, int64_t limit) {
  const int64_t pieces = ceil_div(length, std::max(limit, kPanel));
  return ceil_div(ceil_div(length, std::max<int64_t>(pieces, 1)), kPanel) * kPanel;
}

template <typename Kernel>
Blocking choose_blocking(int64_t rows, int64_t columns, int64_t K) {
  Blocking blocking;
  blocking.k = std::max(even_piece(K, Kernel::kMaxDepth), kStep);
  blocking.columns = even_piece(columns, Kernel::kBlockOfBBytes / (2 * blocking.k));
  blocking.rows = ceil_div(rows, kPanel) * kPanel;
  if (blocking.k < K) {
    blocking.rows = even_piece(rows, kPartialBytes / (4 * blocking.columns));
  }
  blocking.a_first = Kernel::kBusyVectors && K <= kMostDepthOfRows;
  if (blocking.a_first) {
    blocking.rows = std::min(blocking.rows, even_piece(rows, kRowsOfABytes / (2 * K + 1)));
  }
  return blocking;
}

// One thread's work. Its functions are compiled for the largest instruction set; only TileKernel
// has instructions that no other CPU knows.
template <typename Kernel>
class RegionProduct {
 public:
  RegionProduct(const Gemm& gemm, const Region& region)
      : gemm_(gemm),
        region_(region),
        blocking_(choose_blocking<Kernel>(region.row_end - region.row_begin,
                                          region.column_end - region.column_begin, gemm.K)),
        side_(gemm) {}

  HEED_AMX_TARGET void run() {
    allocate();
    [[maybe_unused]] const typename Kernel::Scope scope;
    for (int64_t row = region_.row_begin; row < region_.row_end; row += blocking_.rows) {
      const int64_t row_end = std::min(row + blocking_.rows, region_.row_end);
      if (blocking_.a_first) {
        pack_rows_of_a(row, row_end);
      }
      for (int64_t column = region_.column_begin; column < region_.column_end;
           column += blocking_.columns) {
        const int64_t column_end = std::min(column + blocking_.columns, region_.column_end);
        int64_t k = 0;
        do {  // once even if K is 0: C gets written all the same
          multiply_block({row, row_end, column, column_end}, k);
          k += blocking_.k;
        } while (k < gemm_.K);
      }
    }
  }

 private:
  void allocate() {
    static thread_local HugeScratch scratch;
    const auto bytes_of = [](int64_t elements, size_t size) {
      return static_cast<size_t>(elements) * size;
    };
    const int64_t panel_rows = blocking_.a_first ? blocking_.rows / 2 : kPanel;  // of two
    const int64_t depth = blocking_.a_first ? ceil_div(gemm_.K, kStep) * kStep : blocking_.k;
    const size_t panel = bytes_of(depth * panel_rows, sizeof(bf16));
    const size_t staging = bytes_of(2 * kBlockElements, sizeof(float));
    const size_t b_block =
        bytes_of(gemm_.b_packed != nullptr ? 0 : blocking_.k * blocking_.columns, sizeof(bf16));
    const size_t partial =
        bytes_of(blocking_.k >= gemm_.K ? 0 : blocking_.rows * blocking_.columns, sizeof(float));
    const size_t square = bytes_of(kStepElements, sizeof(bf16));
    auto* memory =
        static_cast<std::byte*>(scratch.get(2 * panel + staging + square + b_block + partial));
    for (bf16*& a_panel : a_panels_) {
      a_panel = reinterpret_cast<bf16*>(memory);
      memory += panel;
    }
    staging_ = reinterpret_cast<float*>(memory);
    memory += staging;
    side_.packer.set_square(reinterpret_cast<bf16*>(memory));
    memory += square;
    b_block_ = reinterpret_cast<bf16*>(memory);
    memory += b_block;
    partial_ = reinterpret_cast<float*>(memory);
  }

  // Panels of B for steps from k on: first panel and distance of panels.
  HEED_AMX_TARGET void prepare_b(int64_t column, int64_t column_end, int64_t k, int64_t steps) {
    if (gemm_.b_packed != nullptr) {
      b_panel_elements_ = ceil_div(gemm_.K, kStep) * kStepElements;
      b_panels_ = gemm_.b_packed + column / kPanel * b_panel_elements_ + k / kStep * kStepElements;
      return;
    }
    const RawB raw = {gemm_.b, gemm_.ldb, gemm_.b_transposed, gemm_.K, gemm_.N};
    b_panel_elements_ = steps * kStepElements;
    b_panels_ = b_block_;
    for (bf16* out = b_block_; column < column_end; column += kPanel, out += b_panel_elements_) {
      pack_b_panel(raw, k, steps, column, out);
    }
  }

  // All of some rows, each for the whole of K.
  HEED_AMX_TARGET void pack_rows_of_a(int64_t row, int64_t row_end) {
    constexpr int64_t kAhead = 2 * kQuarters;
    const int64_t steps = ceil_div(gemm_.K, kStep);
    bf16* out = a_panels_[0];
    for (; row < row_end; row += kPanel, out += steps * kStepElements) {
      side_.packer.begin(row, 0, steps, out);
      for (int64_t quarter = 0; quarter < side_.packer.quarters(); ++quarter) {
        side_.packer.prefetch(quarter + kAhead);
        side_.packer.pack(quarter);
      }
    }
    side_.packer.begin(row, 0, 0, out);
  }

  HEED_AMX_TARGET void multiply_block(const Region& block, int64_t k) {
    const int64_t steps = ceil_div(std::min(blocking_.k, gemm_.K - k), kStep);
    prepare_b(block.column_begin, block.column_end, k, steps);
    float* partial = partial_;
    if (blocking_.a_first) {
      const int64_t panel = ceil_div(gemm_.K, kStep) * kStepElements;
      const bf16* a = a_panels_[0] + k / kStep * kStepElements;
      for (int64_t row = block.row_begin; row < block.row_end; row += kPanel, a += panel) {
        multiply_row_panel({a, row, k, steps}, block, partial);
        partial += kPanel * blocking_.columns;
      }
    } else {
      side_.packer.begin(block.row_begin, k, steps, a_panels_[0]);
      side_.pack_quarters(0, side_.packer.quarters());
      for (int64_t row = block.row_begin; row < block.row_end; row += kPanel) {
        const bool more = row + kPanel < block.row_end;
        side_.packer.begin(row + kPanel, k, more ? steps : 0, a_panels_[1]);
        multiply_row_panel({a_panels_[0], row, k, steps}, block, partial);
        partial += kPanel * blocking_.columns;
        std::swap(a_panels_[0], a_panels_[1]);
      }
    }
    side_.finish_rows(0, kPanel);
    side_.block.rows = 0;
  }

  // A packed panel of A: rows from `row` on, steps from k on.
  struct RowPanel {
    const bf16* a;
    int64_t row, k, steps;
  };
  HEED_AMX_TARGET void multiply_row_panel(const RowPanel& panel, const Region& block,
                                          float* partial) {
    const auto [a, row, k, steps] = panel;
    const int64_t panels = ceil_div(block.column_end - block.column_begin, kPanel);
    const int64_t rows = std::min(kPanel, gemm_.M - row);
    const bf16* b = b_panels_;
    for (int64_t i = 0; i < panels; ++i, b += b_panel_elements_, partial += kBlockElements) {
      const bool last = k + blocking_.k >= gemm_.K;
      float* sums = partial;
      if (last) {
        sums = staging_ + next_staging_ * kBlockElements;
        next_staging_ ^= 1;
      }
      side_.begin(i, panels, std::max<int64_t>(1, ceil_div(steps, kChunk)));
      if (Kernel::kBusyVectors && last) {
        side_.prefetch_c(row, block.column_begin + i * kPanel, rows);
      }
      Kernel::multiply({.a = a,
                        .b = b,
                        .steps = steps,
                        .rows = rows,
                        .from = k == 0 ? nullptr : partial,
                        .to = sums},
                       side_);
      if (!last) {
        continue;
      }
      if (steps == 0) {
        side_.chunk(0);  // no multiplication took the pending block along
      }
      const int64_t column = block.column_begin + i * kPanel;
      side_.block = {sums, row, column, rows, std::min(kPanel, gemm_.N - column)};
    }
  }

  const Gemm& gemm_;
  const Region region_;
  const Blocking blocking_;
  SideWork side_;
  bf16* a_panels_[2] = {};
  float* staging_ = nullptr;
  int64_t next_staging_ = 0;
  bf16* b_block_ = nullptr;
  const bf16* b_panels_ = nullptr;
  int64_t b_panel_elements_ = 0;
  float* partial_ = nullptr;
};

// Threads along the rows and along the columns of C.
struct Grid {
  int64_t rows;
  int64_t columns;
};

// The grid with the least work for the busiest thread: multiplications, plus packing in cycles per
// panel and step, which is repeated by all threads of a row or column of the grid.
template <typename Kernel>
Grid choose_grid(const Gemm& gemm, int64_t threads) {
  const double cycles_a = gemm.a_transposed ? 40.0 : 16.0;
  const double cycles_b = gemm.b_packed != nullptr ? 0.0 : gemm.b_transposed ? 80.0 : 40.0;
  Grid best = {1, 1};
  double best_cycles = std::numeric_limits<double>::infinity();
  for (int64_t rows = 1; rows <= threads; ++rows) {
    const Grid grid = {rows, threads / rows};
    const auto row_panels = static_cast<double>(ceil_div(ceil_div(gemm.M, kPanel), grid.rows));
    const auto column_panels =
        static_cast<double>(ceil_div(ceil_div(gemm.N, kPanel), grid.columns));
    const double cycles = row_panels * column_panels * Kernel::kCyclesPerBlock +
                          row_panels * cycles_a + column_panels * cycles_b;
    if (cycles < best_cycles) {
      best_cycles = cycles;
      best = grid;
    }
  }
  return best;
}

// Piece `index` of `pieces` of [0, length), in whole panels.
inline void cut(int64_t length, int64_t index, int64_t pieces, int64_t& begin, int64_t& end) {
  const int64_t panels = ceil_div(length, kPanel);
  begin = std::min(panels * index / pieces * kPanel, length);
  end = std::min(panels * (index + 1) / pieces * kPanel, length);
}

template <typename Kernel>
void run_cell(const Gemm& args, const Grid& grid, int64_t cell) {
  Region region;
  cut(args.M, cell % grid.rows, grid.rows, region.row_begin, region.row_end);
  cut(args.N, cell / grid.rows, grid.columns, region.column_begin, region.column_end);
  if (region.row_begin < region.row_end && region.column_begin < region.column_end) {
    RegionProduct<Kernel>(args, region).run();
  }
}

// gemm() on the threads that it is worth.
template <typename Kernel>
void run_gemm(const Gemm& args) {
  assert(fuses_into_products(args.activation));
  // A thread is worth starting for about 20 microseconds of work.
  const double flops =
      2.0 * static_cast<double>(args.M) * static_cast<double>(args.N) * static_cast<double>(args.K);
  const int64_t threads =
      std::clamp<int64_t>(static_cast<int64_t>(flops / Kernel::kFlopsPerThread), 1, num_threads());
  const Grid grid = choose_grid<Kernel>(args, threads);
  const int64_t cells = grid.rows * grid.columns;
  if (cells == 1) {
    run_cell<Kernel>(args, grid, 0);
    return;
  }
#pragma omp parallel for num_threads(static_cast <int>(cells)) schedule(static, 1)
  for (int64_t cell = 0; cell < cells; ++cell) {
    run_cell<Kernel>(args, grid, cell);
  }
}

}  // namespace heed::panels
