// Picking by index. Indices are i32; negative ones count from the end of their axis. Data may have
// any dtype; gradients flow through f32 and bf16, and are the same for any number of threads.
#pragma once

#include "tensor/tensor.h"

namespace heed {

// y[a..., i..., b...] = x[a..., indices[i...], b...], where `axis` is the one picked from:
// the shape of the indices takes the place of the axis.
Tensor index_select(const Tensor& x, int axis, const Tensor& indices);

// For axis 1 of three: y[i,j,k] = x[i, indices[i,j,k], k]. The indices have the rank of x and, but
// for the axis, no larger extents.
Tensor gather_elements(const Tensor& x, int axis, const Tensor& indices);

// indices [b..., n..., d] -> y [b..., n..., rest...]: y[b, n] = x[b, indices[b,n,0], ...,
// indices[b,n,d-1]], where b are the first batch_dims axes of both.
Tensor gather_nd(const Tensor& x, const Tensor& indices, int batch_dims = 0);

struct TopKOptions {
  int axis = -1;
  bool largest = true;
  bool sorted = true;  // best first; else in the order of the axis
};
struct TopK {
  Tensor values;   // as x, but k long along the axis
  Tensor indices;  // i32, where along the axis the values stood
};
// The first of equal elements counts as better; NaN counts as larger than every number.
TopK top_k(const Tensor& x, int64_t k, const TopKOptions& options = {});

}  // namespace heed
