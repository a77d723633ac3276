// The int8 product on AMX tiles, for 32 rows at a time; see int8.h. A block of k is exactly one
// tile instruction: 16 rows of x times a tile of the packed matrix. Its exact sums go through
// memory to the vector units, which scale and add them as the other forms do, to the same bits.
//
// Four tiles, 32 rows by 32 columns, are on their way while the four before them are added up:
// tiles in a chain would wait for each other, and a stored tile cannot be forwarded to loads.
#include "kernels/cpu.h"
#include "kernels/matmul/amx/amx.h"
#include "kernels/matmul/int8/int8-inl.h"
#include "kernels/matmul/int8/int8_vnni-inl.h"

#define HEED_AMX_INT8_TARGET \
  __attribute__((target("amx-tile,amx-int8,avx512f,avx512bw,avx512vl,avx512dq,avx512vnni,fma")))

namespace heed::kernels {
namespace {

constexpr int64_t kTile = 16;             // rows
constexpr int64_t kRows = 2 * kTile;      // worked on together
constexpr int64_t kGroups = 2;            // of columns
constexpr int64_t kSums = kTile * kTile;  // in a tile

// Sums [groups][2][16 rows][16 columns] of one block; `tiles` of the groups lie group_bytes apart.
template <int64_t groups>
HEED_AMX_INT8_TARGET inline void multiply_block(const int8_t* x, int64_t row_bytes,
                                                const uint8_t* tiles, int64_t group_bytes,
                                                int32_t* sums) {
  asm volatile("" ::: "memory");  // gcc 12 does not know that tile loads read memory
  _tile_loadd(4, x, row_bytes);
  _tile_loadd(6, tiles, kInt8Block);
  _tile_zero(0);
  _tile_dpbsud(0, 4, 6);
  _tile_loadd(5, x + kTile * row_bytes, row_bytes);
  _tile_zero(1);
  _tile_dpbsud(1, 5, 6);
  if constexpr (groups == 2) {
    _tile_loadd(7, tiles + group_bytes, kInt8Block);
    _tile_zero(2);
    _tile_dpbsud(2, 4, 7);
    _tile_zero(3);
    _tile_dpbsud(3, 5, 7);
  }
  _tile_stored(0, sums, kInt8Block);
  _tile_stored(1, sums + kSums, kInt8Block);
  if constexpr (groups == 2) {
    _tile_stored(2, sums + 2 * kSums, kInt8Block);
    _tile_stored(3, sums + 3 * kSums, kInt8Block);
  }
  asm volatile("" ::: "memory");
}

// 32 rows and up to 32 columns of y.
template <int64_t groups>
HEED_AMX_INT8_TARGET void rows_and_groups(const Int8Product& args, const Int8Inputs& x, int64_t row,
                                          int64_t group) {
  alignas(64) int32_t sums[2][groups * 2 * kSums];
  alignas(64) float totals[groups * 2 * kSums] = {};
  const int64_t row_bytes = x.blocks * kInt8Block;
  const int64_t group_bytes = x.blocks * kInt8Tile;
  const auto multiply = [&](int64_t block) HEED_AMX_INT8_TARGET {
    multiply_block<groups>(x.values + row * row_bytes + block * kInt8Block, row_bytes,
                           args.w.tiles + group * group_bytes + block * kInt8Tile, group_bytes,
                           sums[block % 2]);
  };
  multiply(0);
  for (int64_t block = 0; block < x.blocks; ++block) {
    if (block + 1 < x.blocks) {
      multiply(block + 1);
    }
    const int64_t at = row * x.blocks + block;
    for (int64_t g = 0; g < groups; ++g) {
      const __m512 scales =
          widen_scales(args.w.scales + ((group + g) * x.blocks + block) * kInt8Rows);
      const int32_t* exact = sums[block % 2] + g * 2 * kSums;
      float* total = totals + g * 2 * kSums;
#pragma GCC unroll 4
      for (int64_t r = 0; r < kRows; ++r) {
        const int64_t place = at + r * x.blocks;
        const __m512i sum = _mm512_add_epi32(_mm512_load_si512(exact + r * kTile),
                                             _mm512_set1_epi32(x.offsets[place]));
        _mm512_store_ps(total + r * kTile, add_scaled(sum, scales, x.scales[place],
                                                      _mm512_load_ps(total + r * kTile)));
      }
    }
  }
  for (int64_t g = 0; g < groups; ++g) {
    for (int64_t r = 0; r < kRows; ++r) {
      finish_row(args, _mm512_load_ps(totals + (g * kRows + r) * kTile), row + r, group + g);
    }
  }
}

HEED_AMX_INT8_TARGET void whole_tiles(const Int8Product& args, const Int8Inputs& x, int64_t begin,
                                      int64_t end) {
  const amx::TileScope tiles;
  const int64_t chunk = int8_rows_in_cache(x, kRows);
  for (int64_t first = 0; first < x.rows; first += chunk) {
    const int64_t last = std::min(x.rows, first + chunk);
    for (int64_t group = begin; group < end; group += kGroups) {
      for (int64_t row = first; row < last; row += kRows) {
        if (group + 1 < end) {
          rows_and_groups<2>(args, x, row, group);
        } else {
          rows_and_groups<1>(args, x, row, group);
        }
      }
    }
  }
}

}  // namespace

bool int8_has_amx() {
  static const bool has = cpu_feature({.subleaf = 0, .in_edx = true, .bit = 25});
  return has && max_isa() == Isa::amx && int8_has_vnni();
}

void int8_amx_columns(const Int8Product& args, const Int8Inputs& x, int64_t begin, int64_t end) {
  Int8Inputs tiled = x;
  tiled.rows = x.rows / kRows * kRows;
  whole_tiles(args, tiled, begin, end);
  if (tiled.rows < x.rows) {
    int8_vnni_rows(args, x, {tiled.rows, x.rows}, begin, end);
  }
}

}  // namespace heed::kernels
