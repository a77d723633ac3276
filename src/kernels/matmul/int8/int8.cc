#include "kernels/matmul/int8/int8.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/matmul/int8/int8.cc"
#include <hwy/foreach_target.h>
// Must come after foreach_target.h.
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "base/parallel.h"
#include "base/scratch.h"
#include "kernels/matmul/int8/int8-inl.h"
#include "kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed {
namespace HWY_NAMESPACE {

inline constexpr size_t kBlock = static_cast<size_t>(kernels::kInt8Block);

// The largest magnitude; NaN if one is no finite number.
template <typename T>
HWY_INLINE float largest(const T* x, size_t n) {
  const size_t lanes = hn::Lanes(FloatTag());
  FloatVec most = zero();
  FloatVec nothing = zero();  // x - x is 0 or NaN, which Max may lose
  const auto see = [&](FloatVec v) {
    most = hn::Max(most, hn::Abs(v));
    nothing = hn::Add(nothing, hn::Sub(v, v));
  };
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    see(load(x + i));
  }
  if (i < n) {
    see(load_n(x + i, n - i));
  }
  return max(most) + sum(nothing);
}

// x times `inverse`, rounded to the nearest integer, ties to even.
template <typename T>
HWY_INLINE void round_block(const T* x, size_t n, float inverse, int8_t* q) {
  const size_t lanes = hn::Lanes(FloatTag());
  const hn::Rebind<int8_t, FloatTag> bytes;
  const auto rounded = [&](FloatVec v) {
    return hn::DemoteTo(bytes, hn::NearestInt(hn::Mul(v, set(inverse))));
  };
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    hn::StoreU(rounded(load(x + i)), bytes, q + i);
  }
  if (i < n) {
    HWY_ALIGN int8_t last[HWY_MAX_BYTES / sizeof(float)];
    hn::StoreU(rounded(load_n(x + i, n - i)), bytes, last);
    std::memcpy(q + i, last, n - i);
  }
}

// Weights: the scale is rounded to bf16 first, by at most a quarter of a step at 127.
void int8_quantize_rows(const float* x, const kernels::Int8Values& to, int64_t begin, int64_t end) {
  const int64_t blocks = kernels::int8_blocks(to.columns);
  for (int64_t row = begin; row < end; ++row) {
    for (int64_t b = 0; b < blocks; ++b) {
      const int64_t at = row * to.columns + b * kernels::kInt8Block;
      const auto n =
          static_cast<size_t>(std::min(kernels::kInt8Block, to.columns - b * kernels::kInt8Block));
      const bf16 scale(largest(x + at, n) / 127.0F);
      const auto step = static_cast<float>(scale);
      round_block(x + at, n, step > 1e-30F ? 1.0F / step : 0.0F, to.values + at);
      to.scales[row * blocks + b] = step > 1e-30F ? scale : bf16(0.0F);
    }
  }
}

struct InputBlock {
  float scale;
  int32_t offset;
};

template <typename T>
HWY_INLINE InputBlock quantize_input(const T* x, size_t n, int8_t* q) {
  const float most = largest(x, n);
  if (std::isnan(most)) {
    std::memset(q, 0, kBlock);
    return {most, 0};
  }
  round_block(x, n, most > 1e-30F ? 127.0F / most : 0.0F, q);
  std::memset(q + n, 0, kBlock - n);
  int32_t sum = 0;
  for (size_t i = 0; i < kBlock; ++i) {
    sum += q[i];
  }
  return {most / 127.0F, -128 * sum};
}

void int8_quantize_inputs(const kernels::Int8Product& args, const kernels::Int8Inputs& to,
                          int64_t begin, int64_t end) {
  with_type(args.x.dtype, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    for (int64_t i = begin; i < end; ++i) {
      const int64_t row = i / to.blocks;
      const int64_t first = i % to.blocks * kernels::kInt8Block;
      const T* x = static_cast<const T*>(args.x.data) + row * args.ldx + first;
      const int64_t n = std::min(kernels::kInt8Block, args.w.columns - first);
      const InputBlock block = quantize_input(
          x, static_cast<size_t>(n), const_cast<int8_t*>(to.values) + i * kernels::kInt8Block);
      const_cast<float*>(to.scales)[i] = block.scale;
      const_cast<int32_t*>(to.offsets)[i] = block.offset;
    }
  });
}

using WordTag = hn::ScalableTag<int16_t>;
using SumTag = hn::RepartitionToWide<WordTag>;
using SumVec = hn::Vec<SumTag>;

// Four of x's integers as two pairs of words, repeated: those of even and those of odd columns.
HWY_INLINE void pair_inputs(const int8_t* x, hn::Vec<WordTag>& even, hn::Vec<WordTag>& odd) {
  const auto pair = [](int8_t low, int8_t high) {
    const auto bits =
        (static_cast<uint32_t>(static_cast<uint16_t>(high)) << 16) | static_cast<uint16_t>(low);
    return hn::BitCast(WordTag(), hn::Set(SumTag(), static_cast<int32_t>(bits)));
  };
  even = pair(x[0], x[2]);
  odd = pair(x[1], x[3]);
}

// The exact sums of a tile's rows from `lane` on.
HWY_INLINE SumVec tile_sums(const uint8_t* tile, const int8_t* x, size_t lane) {
  const hn::Repartition<uint8_t, WordTag> bytes;
  SumVec sum0 = hn::Zero(SumTag());
  SumVec sum1 = hn::Zero(SumTag());
  for (size_t quad = 0; quad < kBlock / 4; ++quad) {
    const auto raw = hn::LoadU(bytes, tile + quad * kBlock + 4 * lane);
    const auto words = hn::BitCast(WordTag(), hn::Xor(raw, hn::Set(bytes, 0x80)));
    hn::Vec<WordTag> even;
    hn::Vec<WordTag> odd;
    pair_inputs(x + 4 * quad, even, odd);
    sum0 = hn::ReorderWidenMulAccumulate(SumTag(), hn::ShiftRight<8>(hn::ShiftLeft<8>(words)), even,
                                         sum0, sum1);
    sum0 = hn::ReorderWidenMulAccumulate(SumTag(), hn::ShiftRight<8>(words), odd, sum0, sum1);
  }
  return hn::RearrangeToOddPlusEven(sum0, sum1);
}

void int8_columns(const kernels::Int8Product& args, const kernels::Int8Inputs& x, int64_t begin,
                  int64_t end) {
  const size_t lanes = hn::Lanes(FloatTag());
  constexpr auto kRows = static_cast<size_t>(kernels::kInt8Rows);
  HWY_ALIGN float sums[kRows];
  for (int64_t group = begin; group < end; ++group) {
    for (int64_t r = 0; r < x.rows; ++r) {
      for (size_t lane = 0; lane < kRows; lane += lanes) {
        FloatVec total = zero();
        for (int64_t b = 0; b < x.blocks; ++b) {
          const int64_t tile = group * x.blocks + b;
          const SumVec exact = tile_sums(args.w.tiles + tile * kernels::kInt8Tile,
                                         x.values + (r * x.blocks + b) * kernels::kInt8Block, lane);
          const FloatVec scale = hn::Mul(load(args.w.scales + tile * kernels::kInt8Rows + lane),
                                         set(x.scales[r * x.blocks + b]));
          total = hn::MulAdd(hn::ConvertTo(FloatTag(), exact), scale, total);
        }
        store(total, sums + lane);
      }
      kernels::int8_finish(args, sums, r, group);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace heed
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed {
HWY_EXPORT(int8_quantize_rows);
HWY_EXPORT(int8_quantize_inputs);
HWY_EXPORT(int8_columns);

namespace kernels {
namespace {

void any_columns(const Int8Product& args, const Int8Inputs& x, int64_t begin, int64_t end) {
  HWY_DYNAMIC_DISPATCH(int8_columns)(args, x, begin, end);
}

}  // namespace

size_t Int8Matrix::bytes(int64_t rows, int64_t columns) {
  const Int8Matrix shape(nullptr, rows, columns);
  return static_cast<size_t>(shape.groups() * shape.blocks()) *
         (static_cast<size_t>(kInt8Tile) + static_cast<size_t>(kInt8Rows) * sizeof(bf16));
}

Int8Matrix::Int8Matrix(const void* packed, int64_t rows_of, int64_t columns_of)
    : rows(rows_of), columns(columns_of), tiles(static_cast<const uint8_t*>(packed)) {
  scales = packed == nullptr
               ? nullptr
               : reinterpret_cast<const bf16*>(tiles + groups() * blocks() * kInt8Tile);
}

void int8_quantize(const float* x, const Int8Values& to) {
  parallel_rows(to.rows, to.columns, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(int8_quantize_rows)(x, to, begin, end);
  });
}

void int8_dequantize(const Int8Values& from, float* x) {
  const int64_t blocks = int8_blocks(from.columns);
  parallel_rows(from.rows, from.columns, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      for (int64_t i = 0; i < from.columns; ++i) {
        const auto scale = static_cast<float>(from.scales[row * blocks + i / kInt8Block]);
        x[row * from.columns + i] = static_cast<float>(from.values[row * from.columns + i]) * scale;
      }
    }
  });
}

void int8_pack(const float* x, int64_t rows, int64_t columns, void* packed) {
  const Int8Matrix matrix(packed, rows, columns);
  const int64_t blocks = matrix.blocks();
  auto* tiles = static_cast<uint8_t*>(packed);
  auto* scales = const_cast<bf16*>(matrix.scales);
  parallel_rows(matrix.groups(), kInt8Rows * columns, [&](int64_t begin, int64_t end) {
    std::vector<int8_t> values(static_cast<size_t>(kInt8Rows * columns));
    std::vector<bf16> row_scales(static_cast<size_t>(kInt8Rows * blocks));
    for (int64_t group = begin; group < end; ++group) {
      const int64_t count = std::min(kInt8Rows, rows - group * kInt8Rows);
      uint8_t* to = tiles + group * blocks * kInt8Tile;
      bf16* to_scales = scales + group * blocks * kInt8Rows;
      std::memset(to, 0x80, static_cast<size_t>(blocks * kInt8Tile));
      std::fill_n(to_scales, blocks * kInt8Rows, bf16(0.0F));
      HWY_DYNAMIC_DISPATCH(int8_quantize_rows)
      (x + group * kInt8Rows * columns, {count, columns, values.data(), row_scales.data()}, 0,
       count);
      for (int64_t r = 0; r < count; ++r) {
        const int8_t* from = values.data() + r * columns;
        for (int64_t i = 0; i < columns; ++i) {
          to[i / 4 * kInt8Block + r * 4 + i % 4] = static_cast<uint8_t>(from[i] + 128);
        }
        for (int64_t b = 0; b < blocks; ++b) {
          to_scales[b * kInt8Rows + r] = row_scales[static_cast<size_t>(r * blocks + b)];
        }
      }
    }
  });
}

void int8_row(const Int8Matrix& matrix, int64_t row, float scale, float* out) {
  const int64_t first = row / kInt8Rows * matrix.blocks();
  const uint8_t* tiles = matrix.tiles + first * kInt8Tile + row % kInt8Rows * 4;
  const bf16* scales = matrix.scales + first * kInt8Rows + row % kInt8Rows;
  for (int64_t i = 0; i < matrix.columns; ++i) {
    const int value = static_cast<int>(tiles[i / 4 * kInt8Block + i % 4]) - 128;
    const auto step = static_cast<float>(scales[i / kInt8Block * kInt8Rows]);
    out[i] = static_cast<float>(value) * step * scale;
  }
}

void int8_product(const Int8Product& args) {
  const int64_t blocks = args.w.blocks();
  const auto cells = static_cast<size_t>(args.m * blocks);
  thread_local Scratch value_scratch;
  thread_local Scratch scale_scratch;
  thread_local Scratch offset_scratch;
  const Int8Inputs x{args.m, blocks, value_scratch.get<int8_t>(cells * kInt8Block),
                     scale_scratch.get<float>(cells), offset_scratch.get<int32_t>(cells)};
  parallel_rows(args.m * blocks, kInt8Block, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(int8_quantize_inputs)(args, x, begin, end);
  });
  constexpr int64_t kTileRows = 32;
  const Int8Columns columns = args.m >= kTileRows && int8_has_amx() ? int8_amx_columns
                              : int8_has_vnni()                     ? int8_vnni_columns
                                                                    : any_columns;
  parallel_rows(args.w.groups(), kInt8Rows * args.w.columns,
                [&](int64_t begin, int64_t end) { columns(args, x, begin, end); });
}

}  // namespace kernels
}  // namespace heed
#endif  // HWY_ONCE
