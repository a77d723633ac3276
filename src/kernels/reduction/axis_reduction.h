// Reductions of one axis of [outer, n, inner]: sums and maxima, and what their gradients need.
//
// Sums add a few hundred numbers in f32 and the rest in double; results do not depend on the
// number of threads.
#pragma once

#include <cstdint>

#include "kernels/copy.h"

namespace heed::kernels {

struct AxisSum {
  int64_t outer;
  int64_t n;
  int64_t inner = 1;
  In x;
  Out y;  // [outer, inner]
  float scale = 1.0F;
  bool accumulate = false;
};
// y (+)= scale * sum over the axis of x
void axis_sum(const AxisSum& args);

struct AxisSpread {
  int64_t outer;
  int64_t n;
  int64_t inner = 1;
  In x;   // [outer, inner]
  Out y;  // [outer, n, inner]
  float scale = 1.0F;
  bool accumulate = false;
};
// The transpose of a sum: y (+)= scale * x, repeated along the axis.
void axis_spread(const AxisSpread& args);

struct AxisMax {
  int64_t outer;
  int64_t n;  // 1 or more
  int64_t inner = 1;
  In x;
  Out y;           // [outer, inner]
  int32_t* index;  // [outer, inner]: where along the axis the first maximum is
};
// NaN counts as larger than anything.
void axis_max(const AxisMax& args);

struct AxisScatter {
  int64_t outer;
  int64_t n;
  int64_t inner = 1;
  In x;  // [outer, inner]
  const int32_t* index;
  Out y;  // [outer, n, inner]
  bool accumulate = false;
};
// y[o, index[o, i], i] (+)= x[o, i]; all else (+)= 0.
void axis_scatter(const AxisScatter& args);

}  // namespace heed::kernels
