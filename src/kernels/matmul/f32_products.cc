// The product in the order of Goto and van de Geijn (2008): a block of B, packed into panels as
// wide as a tile of sums, stays in the outer caches while rows of A pass by; a panel of it stays in
// the first-level cache while a tile's sums are in registers (block_gemm-inl.h). All threads pack B
// together and then take blocks of rows.
#include "kernels/matmul/f32_products.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/matmul/f32_products.cc"
#include <hwy/foreach_target.h>
// Must come after foreach_target.h.
#include <hwy/highway.h>

#include <algorithm>

#include "base/parallel.h"
#include "base/scratch.h"
#include "kernels/matmul/block_gemm-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed {
namespace HWY_NAMESPACE {

// Columns of a panel: those of a tile.
int64_t f32_panel_columns() { return static_cast<int64_t>(kTileVectors * hn::Lanes(FloatTag())); }

// Rows [k, k + depth) of B, the columns of one panel: out[depth][width], zeros past the last
// column.
void f32_pack_panel(const kernels::F32Product& args, int64_t k, int64_t depth, int64_t column,
                    float* out) {
  const int64_t width = f32_panel_columns();
  const int64_t columns = std::min(width, args.n - column);
  const int64_t next_k = args.transpose_b ? 1 : args.ldb;
  const int64_t next_column = args.transpose_b ? args.ldb : 1;
  const float* from = args.b + k * next_k + column * next_column;
  if (columns < width) {
    std::fill_n(out, depth * width, 0.0F);
  }
  if (!args.transpose_b) {
    for (int64_t i = 0; i < depth; ++i) {
      std::copy_n(from + i * next_k, columns, out + i * width);
    }
    return;
  }
  for (int64_t c = 0; c < columns; ++c) {
    for (int64_t i = 0; i < depth; ++i) {
      out[i * width + c] = from[c * next_column + i];
    }
  }
}

// One tile of C, `rows` x `columns` of which exist.
template <size_t rows>
HWY_INLINE void f32_tile(const BlockGemm& tile, int64_t columns, const float* bias) {
  const auto width = static_cast<size_t>(f32_panel_columns());
  HWY_ALIGN float sums[rows * kTileVectors * HWY_MAX_BYTES / sizeof(float)];
  BlockGemm g = tile;
  const bool whole = columns == static_cast<int64_t>(width);
  if (!whole) {  // the panel's padding must not reach C
    g.c = sums;
    g.ldc = width;
    for (size_t r = 0; tile.accumulate && r < rows; ++r) {
      std::copy_n(tile.c + r * tile.ldc, columns, sums + r * width);
    }
  }
  gemm_tile<rows, kTileVectors, false>(g, 0, 0, 0);
  for (size_t r = 0; r < rows; ++r) {
    float* c = tile.c + r * tile.ldc;
    if (!whole) {
      std::copy_n(sums + r * width, columns, c);
    }
    if (bias != nullptr) {
      map(
          static_cast<size_t>(columns), c, [](FloatVec v, FloatVec b) { return hn::Add(v, b); }, c,
          bias);
    }
  }
}

// `wanted` rows, found by counting down.
template <size_t rows = kTileRows>
HWY_INLINE void f32_tile_of(size_t wanted, const BlockGemm& tile, int64_t columns,
                            const float* bias) {
  if (wanted == rows) {
    f32_tile<rows>(tile, columns, bias);
  } else if constexpr (rows > 1) {
    f32_tile_of<rows - 1>(wanted, tile, columns, bias);
  }
}

// Rows [row, row_end) of C, the columns of the packed block, k from `k` on.
void f32_rows(const kernels::F32Product& args, const kernels::F32Block& block, int64_t row,
              int64_t row_end) {
  thread_local Scratch scratch;
  constexpr auto kRows = static_cast<int64_t>(kTileRows);
  const int64_t width = f32_panel_columns();
  const bool first = block.k == 0;
  float* turned =
      args.transpose_a
          ? scratch.get<float>(static_cast<size_t>(block.depth * (row_end - row + kRows)))
          : nullptr;
  // A transposed A: each tile's rows side by side, [depth][rows].
  for (int64_t r = row; args.transpose_a && r < row_end; r += kRows) {
    const int64_t rows = std::min(kRows, row_end - r);
    for (int64_t i = 0; i < block.depth; ++i) {
      std::copy_n(args.a + (block.k + i) * args.lda + r, rows,
                  turned + (r - row) * block.depth + i * rows);
    }
  }
  const float* panel = block.packed;
  for (int64_t column = block.column; column < block.column_end;
       column += width, panel += block.depth * width) {
    for (int64_t r = row; r < row_end; r += kRows) {
      const int64_t rows = std::min(kRows, row_end - r);
      f32_tile_of(static_cast<size_t>(rows),
                  {.m = static_cast<size_t>(rows),
                   .n = static_cast<size_t>(width),
                   .k = static_cast<size_t>(block.depth),
                   .a = args.transpose_a ? turned + (r - row) * block.depth
                                         : args.a + r * args.lda + block.k,
                   .a_row = static_cast<size_t>(args.transpose_a ? 1 : args.lda),
                   .a_column = static_cast<size_t>(args.transpose_a ? rows : 1),
                   .b = panel,
                   .ldb = static_cast<size_t>(width),
                   .c = args.c + r * args.ldc + column,
                   .ldc = static_cast<size_t>(args.ldc),
                   .accumulate = args.accumulate || !first},
                  std::min(width, args.n - column),
                  first && args.bias != nullptr ? args.bias + column : nullptr);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace heed
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed {
HWY_EXPORT(f32_panel_columns);
HWY_EXPORT(f32_pack_panel);
HWY_EXPORT(f32_rows);

namespace kernels {

void f32_product(const F32Product& args) {
  constexpr int64_t kDepth = 256;     // of a block of B
  constexpr int64_t kColumns = 2048;  // and its columns
  constexpr int64_t kRows = 96;       // a thread takes at once: whole tiles
  thread_local Scratch scratch;
  const int64_t width = HWY_DYNAMIC_DISPATCH(f32_panel_columns)();
  float* packed = scratch.get<float>(static_cast<size_t>(kDepth * (kColumns + width)));
  for (int64_t column = 0; column < args.n; column += kColumns) {
    const int64_t column_end = std::min(args.n, column + kColumns);
    for (int64_t k = 0; k < args.k; k += kDepth) {
      const int64_t depth = std::min(kDepth, args.k - k);
      parallel_rows((column_end - column + width - 1) / width, width * depth,
                    [&](int64_t begin, int64_t end) {
                      for (int64_t panel = begin; panel < end; ++panel) {
                        HWY_DYNAMIC_DISPATCH(f32_pack_panel)
                        (args, k, depth, column + panel * width, packed + panel * width * depth);
                      }
                    });
      const F32Block block{packed, k, depth, column, column_end};
      parallel_tasks((args.m + kRows - 1) / kRows, [&](int64_t task) {
        HWY_DYNAMIC_DISPATCH(f32_rows)
        (args, block, task * kRows, std::min(args.m, (task + 1) * kRows));
      });
    }
  }
}

}  // namespace kernels
}  // namespace heed
#endif  // HWY_ONCE
