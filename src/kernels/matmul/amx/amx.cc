// AMX availability, the tile configuration and the single-threaded block product; see amx.h.
// Owns a small per-thread scratch buffer; thread-safe.
#include "kernels/matmul/amx/amx.h"

#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "kernels/matmul/amx/amx_tile-inl.h"
#include "kernels/matmul/panels.h"

namespace heed::amx {
namespace {

constexpr int kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM
constexpr int kTileDataState = 18;          // XFEATURE_XTILE_DATA

// XCR0: SSE, AVX, the three AVX-512 states and the two of AMX are saved by the kernel.
bool kernel_saves_state() {
  constexpr uint64_t kNeeded = 0x600E6;
  uint32_t low = 0;
  uint32_t high = 0;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (((uint64_t{high} << 32) | low) & kNeeded) == kNeeded;
}

bool cpu_has_amx() {
  uint32_t eax = 0;
  uint32_t ebx = 0;
  uint32_t ecx = 0;
  uint32_t edx = 0;
  const auto has = [](uint32_t bits, uint32_t wanted) { return (bits & wanted) == wanted; };
  // Leaves 0x1D and 0x1E, which describe the tiles, are not consulted: some hypervisors hide them.
  if (__get_cpuid(1, &eax, &ebx, &ecx, &edx) == 0 || !has(ecx, (1U << 27) | (1U << 12))) {
    return false;  // OSXSAVE, FMA
  }
  if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) == 0 ||
      !has(ebx, (1U << 16) | (1U << 17) | (1U << 30) | (1U << 31)) ||  // AVX-512 F, DQ, BW, VL
      !has(edx, (1U << 22) | (1U << 24))) {                            // AMX-BF16, AMX-TILE
    return false;
  }
  return __get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx) != 0 && has(eax, 1U << 5) &&  // BF16
         kernel_saves_state();
}

bool environment_forbids() {
  const char* value = std::getenv("HEED_MAX_ISA");
  const std::string_view isa = value == nullptr ? "" : value;
  return isa == "sse4" || isa == "avx2" || isa == "avx512" || isa == "bf16";
}

struct alignas(64) TileConfig {
  uint8_t palette = 1;
  uint8_t start_row = 0;
  uint8_t reserved[14] = {};
  uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
static_assert(sizeof(TileConfig) == 64);
// Constant data, not a local: gcc 12 drops stores to an object it only sees given to
// _tile_loadconfig.
constexpr TileConfig kTileConfig;

// Apart from TileScope because gcc 12 ignores the target of constructors.
HEED_AMX_TARGET void load_tile_config() {
  asm volatile("" ::"r"(&kTileConfig) : "memory");
  _tile_loadconfig(&kTileConfig);
}

HEED_AMX_TARGET void release_tiles() { _tile_release(); }

// Copies rows of A to a packed, zero-padded panel.
HEED_AMX_TARGET void pack_a_panel(const bf16* a, int64_t lda, int64_t rows, int64_t K, bf16* out) {
  alignas(64) bf16 square[kStepElements];
  for (int64_t k = 0; k < K; k += kStep, out += kStepElements) {
    copy_padded_square(a + k, lda, rows, std::min(kStep, K - k), square);
    for (int64_t quarter = 0; quarter < kQuarters; ++quarter) {
      pack_a_quarter(square, 32, quarter, out);
    }
  }
}

// A corner of a block of C, at most 32 x 32, that tiles cannot reach without leaving C.
struct CornerOfC {
  float* c;
  int64_t ldc;
  int64_t rows;
  int64_t columns;
};

HEED_AMX_TARGET void load_corner(const CornerOfC& corner, float* block) {
  const __mmask32 mask = mask_of(corner.columns);
  for (int64_t r = 0; r < corner.rows; ++r) {
    store_row(load_row(corner.c + r * corner.ldc, mask), ~__mmask32{0}, block + r * kPanel);
  }
}

HEED_AMX_TARGET void store_corner(const CornerOfC& corner, const float* block) {
  const __mmask32 mask = mask_of(corner.columns);
  for (int64_t r = 0; r < corner.rows; ++r) {
    store_row(load_row(block + r * kPanel, mask), mask, corner.c + r * corner.ldc);
  }
}

// The sums of one block, given what multiplies A and B into the tiles.
template <typename Multiply>
HEED_AMX_INLINE void update_block(const CornerOfC& corner, bool accumulate,
                                  const Multiply& multiply) {
  const bool whole = corner.rows == kPanel && corner.columns == kPanel;
  alignas(64) float block[kPanel * kPanel];
  float* c = whole ? corner.c : block;
  const int64_t ldc = whole ? corner.ldc : kPanel;
  if (accumulate) {
    if (!whole) {
      load_corner(corner, block);
    }
    load_sums(c, ldc);
  } else {
    zero_sums();
  }
  multiply();
  store_sums(c, ldc);
  if (!whole) {
    store_corner(corner, block);
  }
}

}  // namespace

bool available() {
  static const bool result = !environment_forbids() && cpu_has_amx() &&
                             syscall(SYS_arch_prctl, kRequestPermission, kTileDataState) == 0;
  return result;
}

TileScope::TileScope() { load_tile_config(); }

TileScope::~TileScope() { release_tiles(); }

HEED_AMX_TARGET void block_gemm(const panels::BlockGemm& args) {
  const auto [M, N, K, a, lda, b_packed, c, ldc, accumulate] = args;
  static thread_local HugeScratch scratch;
  const int64_t steps = ceil_div(K, kStep);
  alignas(64) bf16 last_step[kStepElements];
  for (int64_t row = 0; row < M; row += kPanel) {
    const int64_t rows = std::min(kPanel, M - row);
    const bf16* a_panel = a + row * lda;
    PanelA panel = {a_panel, 2 * lda, kStep, 16 * lda};
    int64_t direct_steps = K / kStep;
    if (rows < kPanel) {
      auto* packed = static_cast<bf16*>(
          scratch.get(static_cast<size_t>(steps * kStepElements) * sizeof(bf16)));
      pack_a_panel(a_panel, lda, rows, K, packed);
      panel = packed_panel(packed);
      direct_steps = steps;
    } else if (direct_steps < steps) {
      pack_a_panel(a_panel + direct_steps * kStep, lda, rows, K % kStep, last_step);
    }
    for (int64_t column = 0; column < N; column += kPanel) {
      const CornerOfC corner = {c + row * ldc + column, ldc, rows, std::min(kPanel, N - column)};
      const bf16* b = b_packed + column / kPanel * steps * kStepElements;
      update_block(corner, args.accumulate, [&]() HEED_AMX_TARGET {
        const NoSideWork none;
        multiply_panels(panel, b, direct_steps, none);
        if (direct_steps < steps) {
          multiply_panels(packed_panel(last_step), b + direct_steps * kStepElements, 1, none);
        }
      });
    }
  }
}

}  // namespace heed::amx
