// Picking rows and elements by index, and adding gradients back to where they were picked from.
// Indices are valid and not negative; the ops check them. A sum over repeated picks runs in the
// order of the picks, in f32, whatever the number of threads.
#pragma once

#include <cstdint>

#include "kernels/copy.h"

namespace heed::kernels {

// y[o, p, :] = x[o, index[p], :] for x [outer, rows, inner] and y [outer, picks, inner].
struct RowPicks {
  int64_t outer;
  int64_t rows;
  int64_t inner;
  int64_t picks;
  const int32_t* index;  // [picks]
};
struct GatherRows {
  RowPicks picks;
  In x;   // any dtype
  Out y;  // the same
};
void gather_rows(const GatherRows& args);

struct ScatterRows {
  RowPicks picks;
  In dy;
  Out dx;  // every row is written
  bool accumulate = false;
};
void scatter_rows(const ScatterRows& args);

// Element [o, p, i] of y is element index[o, p, i] of the line along the axis that starts at
// outer_at[o] + inner_at[i] of x.
struct ElementPicks {
  int64_t outer;
  int64_t picks;
  int64_t inner;
  int64_t extent;  // of the axis in x
  int64_t stride;  // of the axis in x
  const int64_t* outer_at;
  const int64_t* inner_at;
  const int32_t* index;  // [outer, picks, inner]
};
struct GatherElements {
  ElementPicks picks;
  In x;   // any dtype
  Out y;  // the same
};
void gather_elements(const GatherElements& args);

struct ScatterElements {
  ElementPicks picks;
  In dy;
  Out dx;  // always added to
};
void scatter_elements(const ScatterElements& args);

}  // namespace heed::kernels
