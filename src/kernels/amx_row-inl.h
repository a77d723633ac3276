// Internal to the AMX kernels: the product of a single row.
#pragma once

#include "kernels/amx.h"
#include "kernels/amx_epilogue-inl.h"
#include "kernels/amx_pack-inl.h"
#include "kernels/amx_tile-inl.h"

namespace heed::amx {

// gemm() with M = 1 and a packed B, with the same bits.
void row_gemm(const Gemm& args);

}  // namespace heed::amx
