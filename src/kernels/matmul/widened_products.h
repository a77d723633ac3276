// The form of the bf16 products (panels.h) for CPUs without bf16 instructions: operands are widened
// to f32 in registers and summed in the order of k. A plain A, a packed B and no activation.
#pragma once

#include "kernels/matmul/panels.h"

namespace heed::panels {

void widened_gemm(const Gemm& args);

}  // namespace heed::panels
