// Internal to the AMX kernels: the inner loop on tiles.
//
// Tiles 0-3 hold the sums of a 32 x 32 block of C (0 1 / 2 3), 4 and 5 its 32 rows of A, 6 and 7
// its 32 columns of B: four loads feed four multiplications. All functions need a live TileScope.
// Thread safety: tiles belong to the calling thread.
#pragma once

#include <cstdint>

#include "kernels/matmul/panel_gemm-inl.h"
#include "tensor/dtype.h"

namespace heed::amx {

using namespace panels;  // NOLINT: the layouts that tiles are made for

// 32 rows of A, packed or in place.
struct PanelA {
  const bf16* data;
  int64_t row_bytes;        // distance of rows
  int64_t step_elements;    // distance of steps
  int64_t bottom_elements;  // distance of row 16 from row 0
};

HEED_AMX_INLINE PanelA packed_panel(const bf16* data) {
  return {data, kTileBytesPerRow, kStepElements, kTileElements};
}

struct NoSideWork {
  HEED_AMX_INLINE void chunk(int64_t /*index*/) const {}
};

// Keeps earlier vector stores before the tile loads that follow: gcc 12 does not know that tile
// loads read memory.
HEED_AMX_INLINE void publish_stores() { asm volatile("" ::: "memory"); }

// One step. Streaming loads do not displace the L1 lines of an operand that is used again soon.
template <bool kStreamA>
HEED_AMX_INLINE void multiply_step(const bf16* a_top, const bf16* a_bottom, int64_t row_bytes,
                                   const bf16* b) {
  if constexpr (kStreamA) {
    _tile_stream_loadd(4, a_top, row_bytes);
  } else {
    _tile_loadd(4, a_top, row_bytes);
  }
  _tile_stream_loadd(6, b, kTileBytesPerRow);
  _tile_dpbf16ps(0, 4, 6);
  _tile_stream_loadd(7, b + kTileElements, kTileBytesPerRow);
  _tile_dpbf16ps(1, 4, 7);
  if constexpr (kStreamA) {
    _tile_stream_loadd(5, a_bottom, row_bytes);
  } else {
    _tile_loadd(5, a_bottom, row_bytes);
  }
  _tile_dpbf16ps(2, 5, 6);
  _tile_dpbf16ps(3, 5, 7);
}

// Chunks of A that stay in L1 while panels of B stream past: 16 KiB of 48 are left to everything
// else. The rest of a longer panel streams from L2 too, as it would not survive in L1 anyway.
inline constexpr int64_t kResidentChunks = 4;

// Adds `steps` steps to the tiles' sums. side.chunk(i) is called after every chunk: up to about a
// hundred independent vector instructions are nearly free there, as tile instructions leave the
// vector ports idle. More of them would crowd tile loads out of the reorder buffer.
template <typename SideWork>
HEED_AMX_INLINE void multiply_panels(const PanelA& a, const bf16* b, int64_t steps,
                                     const SideWork& side) {
  publish_stores();
  const bf16* a_top = a.data;
  for (int64_t chunk = 0; steps > 0; ++chunk, steps -= kChunk) {
    const bf16* b_end = b + (steps < kChunk ? steps : kChunk) * kStepElements;
    if (chunk < kResidentChunks) {
      for (; b != b_end; b += kStepElements, a_top += a.step_elements) {
        multiply_step<false>(a_top, a_top + a.bottom_elements, a.row_bytes, b);
      }
    } else {
      for (; b != b_end; b += kStepElements, a_top += a.step_elements) {
        multiply_step<true>(a_top, a_top + a.bottom_elements, a.row_bytes, b);
      }
    }
    side.chunk(chunk);
  }
}

HEED_AMX_INLINE void zero_sums() {
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
}

HEED_AMX_INLINE void load_sums(const float* block, int64_t ld) {
  publish_stores();
  const int64_t row_bytes = ld * static_cast<int64_t>(sizeof(float));
  _tile_loadd(0, block, row_bytes);
  _tile_loadd(1, block + 16, row_bytes);
  _tile_loadd(2, block + 16 * ld, row_bytes);
  _tile_loadd(3, block + 16 * ld + 16, row_bytes);
}

HEED_AMX_INLINE void store_sums(float* block, int64_t ld) {
  const int64_t row_bytes = ld * static_cast<int64_t>(sizeof(float));
  _tile_stored(0, block, row_bytes);
  _tile_stored(1, block + 16, row_bytes);
  _tile_stored(2, block + 16 * ld, row_bytes);
  _tile_stored(3, block + 16 * ld + 16, row_bytes);
}

}  // namespace heed::amx
