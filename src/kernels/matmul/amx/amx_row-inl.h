// Internal to the AMX kernels: the product of a single row.
#pragma once

#include "kernels/matmul/panels.h"

namespace heed::amx {

// gemm() with M = 1 and a packed B, with the same bits.
void row_gemm(const panels::Gemm& args);

}  // namespace heed::amx
