// Which form of the bf16 products runs; see panels.h.
#include "kernels/matmul/panels.h"

#include <cassert>

#include "kernels/matmul/dot_products.h"
#include "kernels/matmul/widened_products.h"

namespace heed::panels {

void gemm(const Gemm& args) {
  if (max_isa() == Isa::amx) {
    amx::gemm(args);
  } else if (native()) {
    dot_gemm(args);
  } else {
    widened_gemm(args);
  }
}

void block_gemm(const BlockGemm& args) {
  assert(native());
  if (max_isa() == Isa::amx) {
    amx::block_gemm(args);
  } else {
    dot_block_gemm(args);
  }
}

}  // namespace heed::panels
