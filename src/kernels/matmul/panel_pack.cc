// Packing of right operands and the bf16 transpose; see panels-inl.h for the layouts. Owns nothing.
// Thread-safe on disjoint outputs.
#include <algorithm>

#include "base/parallel.h"
#include "kernels/cpu.h"
#include "kernels/matmul/panels-inl.h"
#include "kernels/matmul/panels.h"

namespace heed::panels {
namespace {

// pack_b_panel() on any CPU.
void pack_b_panel_plainly(const RawB& b, int64_t column, bf16* out) {
  const int64_t columns = std::min(kPanel, b.N - column);
  std::fill_n(out, ceil_div(b.K, kStep) * kStepElements, bf16(0.0F));
  const int64_t next_k = b.transposed ? 1 : b.ld;
  const int64_t next_column = b.transposed ? b.ld : 1;
  const bf16* first = b.data + column * next_column;
  for (int64_t k = 0; k < b.K; ++k) {
    const int64_t row = k / kStep * kStepElements + k % kStep / 2 * kStep + k % 2;
    for (int64_t c = 0; c < columns; ++c) {
      out[row + c / 16 * kTileElements + c % 16 * 2] = first[k * next_k + c * next_column];
    }
  }
}

void pack_whole(const RawB& b, bf16* out) {
  const bool vectors = max_isa() >= Isa::avx512;
  const int64_t steps = ceil_div(b.K, kStep);
  const int64_t panels = ceil_div(b.N, kPanel);
  const int64_t grain = std::max<int64_t>(1, kParallelGrain / std::max<int64_t>(b.K * kPanel, 1));
  parallel_for(panels, grain, [&](int64_t begin, int64_t end) {
    for (int64_t panel = begin; panel < end; ++panel) {
      bf16* to = out + panel * steps * kStepElements;
      if (vectors) {
        pack_b_panel(b, 0, steps, panel * kPanel, to);
      } else {
        pack_b_panel_plainly(b, panel * kPanel, to);
      }
    }
  });
}

}  // namespace

HEED_AVX512_TARGET void pack_b_panel(const RawB& b, int64_t k, int64_t steps, int64_t column,
                                     bf16* out) {
  alignas(64) bf16 square[kStepElements];
  const int64_t columns = std::min(kPanel, b.N - column);
  for (int64_t step = 0; step < steps; ++step, k += kStep, out += kStepElements) {
    const bf16* src = b.transposed ? b.data + column * b.ld + k : b.data + k * b.ld + column;
    int64_t ld = b.ld;
    // The lines of the next step: too many streams for the CPU to foresee.
    for (int64_t line = 0; line < 32; ++line) {
      _mm_prefetch(src + (b.transposed ? line * ld + kStep : (line + kStep) * ld), _MM_HINT_T0);
    }
    const int64_t depth = std::min(kStep, b.K - k);
    // Also when a power-of-two ld would put the lines, all needed several times, into few L1 sets.
    if (columns < kPanel || depth < kStep || (b.transposed && ld % 512 == 0)) {
      copy_padded_square(src, ld, b.transposed ? columns : depth, b.transposed ? depth : columns,
                         square);
      src = square;
      ld = 32;
    }
    if (b.transposed) {
      pack_b_step_transposed(src, ld, out);
    } else {
      pack_b_step(src, ld, out);
    }
  }
}

size_t packed_size(int64_t K, int64_t N) {
  return static_cast<size_t>(ceil_div(K, kStep) * ceil_div(N, kPanel) * kStepElements);
}

void pack_b(const bf16* b, int64_t ldb, int64_t K, int64_t N, bf16* out) {
  pack_whole({b, ldb, false, K, N}, out);
}

void pack_b_transposed(const bf16* b, int64_t ldb, int64_t K, int64_t N, bf16* out) {
  pack_whole({b, ldb, true, K, N}, out);
}

HEED_AVX512_TARGET void transpose(const bf16* src, int64_t ld, int64_t rows, int64_t cols,
                                  bf16* out, int64_t ld_out) {
  alignas(64) bf16 square[kStepElements];
  for (int64_t row = 0; row < rows; row += 32) {
    const int64_t height = std::min<int64_t>(32, rows - row);
    const __mmask32 mask = mask_of(height);
    for (int64_t col = 0; col < cols; col += 8) {
      const int64_t width = std::min<int64_t>(8, cols - col);
      const bf16* from = src + row * ld + col;
      int64_t from_ld = ld;
      if (height < 32 || width < 8) {
        copy_padded_square(from, ld, height, width, square);
        from = square;
        from_ld = 32;
      }
      __m512i columns[8];
      transpose_32x8(from, from_ld, columns);
      for (int64_t i = 0; i < width; ++i) {
        _mm512_mask_storeu_epi16(out + (col + i) * ld_out + row, mask, columns[i]);
      }
    }
  }
}

}  // namespace heed::panels
