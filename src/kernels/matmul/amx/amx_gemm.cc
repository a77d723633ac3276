// The multi-threaded product of panels on AMX tiles; see panels.h for the contract.
#include "kernels/matmul/amx/amx.h"
#include "kernels/matmul/amx/amx_row-inl.h"
#include "kernels/matmul/amx/amx_tile-inl.h"
#include "kernels/matmul/panel_gemm-inl.h"

namespace heed::amx {
namespace {

struct TileKernel {
  using Scope = TileScope;
  // Measured on Sapphire Rapids (48 KiB L1, 2 MiB L2). Deeper blocks of K would make the blocks of
  // B so narrow that A, read anew for each of them from beyond L2, costs more than the partial sums
  // do.
  static constexpr int64_t kMaxDepth = 768;
  static constexpr int64_t kBlockOfBBytes = 1 << 20;
  // Tile instructions leave the vector units idle: other work comes between them.
  static constexpr bool kBusyVectors = false;
  static constexpr double kCyclesPerBlock = 64.0;  // and step
  static constexpr double kFlopsPerThread = 4e7;

  template <typename SideWork>
  HEED_AMX_INLINE static void multiply(const PanelProduct& product, const SideWork& side) {
    if (product.from == nullptr) {
      zero_sums();
    } else {
      load_sums(product.from, kPanel);
    }
    multiply_panels(packed_panel(product.a), product.b, product.steps, side);
    store_sums(product.to, kPanel);
  }
};

}  // namespace

void gemm(const panels::Gemm& args) {
  if (args.M == 1 && args.b_packed != nullptr) {
    row_gemm(args);
    return;
  }
  run_gemm<TileKernel>(args);
}

}  // namespace heed::amx
