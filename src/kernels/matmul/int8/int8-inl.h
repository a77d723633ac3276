// Internal to the int8 kernels: the quantised left operand of a product.
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/matmul/int8/int8.h"

namespace heed::kernels {

struct Int8Inputs {
  int64_t rows;
  int64_t blocks;
  const int8_t* values;    // [rows, blocks, 64]
  const float* scales;     // [rows, blocks]
  const int32_t* offsets;  // [rows, blocks]: -128 times the sum of the block's integers
};

// The columns [16 * begin, 16 * end) of y.
using Int8Columns = void (*)(const Int8Product& args, const Int8Inputs& x, int64_t begin,
                             int64_t end);

// With AVX-512 VNNI; only where int8_has_vnni().
bool int8_has_vnni();
void int8_vnni_columns(const Int8Product& args, const Int8Inputs& x, int64_t begin, int64_t end);

// With AMX's tiles as well; only where int8_has_amx(), and better from 32 rows on.
bool int8_has_amx();
void int8_amx_columns(const Int8Product& args, const Int8Inputs& x, int64_t begin, int64_t end);

// Takes 16 sums of row r and of the columns from 16 * group on to y.
inline void int8_finish(const Int8Product& args, const float* sums, int64_t r, int64_t group) {
  const int64_t first = group * kInt8Rows;
  const int64_t count = args.w.rows - first < kInt8Rows ? args.w.rows - first : kInt8Rows;
  const auto finish = [&](auto* y) {
    for (int64_t i = 0; i < count; ++i) {
      const float bias = args.bias == nullptr ? 0.0F : args.bias[first + i];
      y[r * args.ldy + first + i] = std::remove_pointer_t<decltype(y)>(sums[i] + bias);
    }
  };
  if (args.y.dtype == DType::f32) {
    finish(static_cast<float*>(args.y.data));
  } else {
    finish(static_cast<bf16*>(args.y.data));
  }
}

}  // namespace heed::kernels
