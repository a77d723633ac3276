// Moving elements between layouts: slices, concatenation, padding, permutation and broadcasting are
// all one copy between two boxes with strides. Element i of axis a is strides[a] elements on.
#pragma once

#include <array>
#include <cstdint>

#include "kernels/copy.h"

namespace heed::kernels {

struct StridedCopy {
  static constexpr int kMaxRank = 6;
  using Extents = std::array<int64_t, kMaxRank>;

  int rank = 0;
  Extents extents = {};
  Extents from_strides = {};  // 0: the same element again
  Extents to_strides = {};    // no two elements may meet
  In from = {};               // any dtype
  Out to = {};                // the same dtype, or f32 and bf16
  bool accumulate = false;    // to += from; f32 and bf16 only
};
void strided_copy(StridedCopy args);

struct FoldAxis {
  int64_t outer;
  int64_t extent;
  int64_t inner;
  In x;     // [outer, extent, inner], f32 or bf16
  Out out;  // [outer, inner]
  bool accumulate = false;
};
// The transpose of a broadcast: sums in the order of the axis, the same for any number of threads.
void fold_axis(const FoldAxis& args);

}  // namespace heed::kernels
