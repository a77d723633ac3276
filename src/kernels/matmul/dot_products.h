// The form of the bf16 products (panels.h) on vdpbf16ps, for CPUs without tiles. Needs
// max_isa() >= Isa::bf16.
#pragma once

#include "kernels/matmul/panels.h"

namespace heed::panels {

void dot_gemm(const Gemm& args);
void dot_block_gemm(const BlockGemm& args);

}  // namespace heed::panels
