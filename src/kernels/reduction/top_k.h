// The k largest or smallest elements of lines.
#pragma once

#include <cstdint>

#include "kernels/copy.h"

namespace heed::kernels {

struct TopK {
  int64_t outer;
  int64_t extent;
  int64_t inner;
  int64_t k;  // at most extent
  bool largest = true;
  bool sorted = true;  // best first; else in the order of the axis
  In x;                // [outer, extent, inner], any dtype
  Out values;          // [outer, k, inner], the same dtype
  int32_t* indices;    // [outer, k, inner]
};
// The first of equal elements counts as better. NaN counts as larger than every number.
void top_k(const TopK& args);

}  // namespace heed::kernels
