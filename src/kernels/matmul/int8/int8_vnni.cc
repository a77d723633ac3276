// The int8 product with AVX-512 VNNI: four products of bytes a lane and instruction. See int8.h.
//
// Lanes are the 16 columns of y that a tile gives; an input's four bytes are broadcast. Up to six
// rows and two groups of columns are worked on together, so that each load of weights serves six
// instructions and each input two.
#include <cstring>

#include "kernels/cpu.h"
#include "kernels/matmul/int8/int8-inl.h"
#include "kernels/matmul/int8/int8_vnni-inl.h"

namespace heed::kernels {
namespace {

constexpr int64_t kTileRows = 6;
constexpr int64_t kGroups = 2;

HEED_VNNI_INLINE __m512i broadcast_quad(const int8_t* x) {
  int32_t bits;
  std::memcpy(&bits, x, sizeof(bits));
  return _mm512_set1_epi32(bits);
}

// One block of k: exact sums, scaled and added to the totals.
template <int64_t rows, int64_t groups>
HEED_VNNI_INLINE void add_block(const Int8Product& args, const Int8Inputs& x, int64_t row,
                                int64_t group, int64_t block, __m512 (*totals)[groups]) {
  const int64_t at = row * x.blocks + block;
  __m512i sums[rows][groups];
  const uint8_t* tiles[groups];
  for (int64_t g = 0; g < groups; ++g) {
    tiles[g] = args.w.tiles + ((group + g) * x.blocks + block) * kInt8Tile;
    for (int64_t r = 0; r < rows; ++r) {
      sums[r][g] = _mm512_set1_epi32(x.offsets[at + r * x.blocks]);
    }
  }
  const int8_t* inputs = x.values + at * kInt8Block;
#pragma GCC unroll 4
  for (int64_t quad = 0; quad < kInt8Block / 4; ++quad) {
    __m512i weights[groups];
#pragma GCC unroll 2
    for (int64_t g = 0; g < groups; ++g) {
      weights[g] = _mm512_loadu_si512(tiles[g] + quad * kInt8Block);
    }
#pragma GCC unroll 6
    for (int64_t r = 0; r < rows; ++r) {
      const __m512i input = broadcast_quad(inputs + r * x.blocks * kInt8Block + 4 * quad);
#pragma GCC unroll 2
      for (int64_t g = 0; g < groups; ++g) {
        sums[r][g] = _mm512_dpbusd_epi32(sums[r][g], weights[g], input);
      }
    }
  }
  for (int64_t g = 0; g < groups; ++g) {
    const __m512 scales =
        widen_scales(args.w.scales + ((group + g) * x.blocks + block) * kInt8Rows);
#pragma GCC unroll 6
    for (int64_t r = 0; r < rows; ++r) {
      totals[r][g] = add_scaled(sums[r][g], scales, x.scales[at + r * x.blocks], totals[r][g]);
    }
  }
}

template <int64_t rows, int64_t groups>
HEED_VNNI_INLINE void tile(const Int8Product& args, const Int8Inputs& x, int64_t row,
                           int64_t group) {
  __m512 totals[rows][groups];
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t g = 0; g < groups; ++g) {
      totals[r][g] = _mm512_setzero_ps();
    }
  }
  for (int64_t block = 0; block < x.blocks; ++block) {
    add_block<rows, groups>(args, x, row, group, block, totals);
  }
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t g = 0; g < groups; ++g) {
      finish_row(args, totals[r][g], row + r, group + g);
    }
  }
}

// `left` rows, fewer than a whole tile: found by counting down.
template <int64_t rows, int64_t groups>
HEED_VNNI_INLINE void last_tile(const Int8Product& args, const Int8Inputs& x, int64_t row,
                                int64_t left, int64_t group) {
  if (left == rows) {
    tile<rows, groups>(args, x, row, group);
  } else if constexpr (rows > 1) {
    last_tile<rows - 1, groups>(args, x, row, left, group);
  }
}

template <int64_t groups>
HEED_VNNI_TARGET void all_rows(const Int8Product& args, const Int8Inputs& x, int64_t first,
                               int64_t last, int64_t group) {
  int64_t row = first;
  for (; row + kTileRows <= last; row += kTileRows) {
    tile<kTileRows, groups>(args, x, row, group);
  }
  last_tile<kTileRows - 1, groups>(args, x, row, last - row, group);
}

}  // namespace

bool int8_has_vnni() {
  static const bool has = __builtin_cpu_supports("avx512vnni") != 0;
  return has && max_isa() >= Isa::avx512;
}

HEED_VNNI_TARGET void int8_vnni_rows(const Int8Product& args, const Int8Inputs& x, RowRange rows,
                                     int64_t begin, int64_t end) {
  const int64_t chunk = int8_rows_in_cache(x, kTileRows);
  for (int64_t first = rows.begin; first < rows.end; first += chunk) {
    const int64_t last = std::min(rows.end, first + chunk);
    int64_t group = begin;
    // A lone row reads the matrix as it lies: see gemv.cc.
    const bool alone = last - first == 1;
    for (; !alone && group + kGroups <= end; group += kGroups) {
      all_rows<kGroups>(args, x, first, last, group);
    }
    for (; group < end; ++group) {
      all_rows<1>(args, x, first, last, group);
    }
  }
}

void int8_vnni_columns(const Int8Product& args, const Int8Inputs& x, int64_t begin, int64_t end) {
  int8_vnni_rows(args, x, {0, x.rows}, begin, end);
}

}  // namespace heed::kernels
