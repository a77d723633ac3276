// Sums, means and maxima, over one axis or over everything. Results have the dtype of x.
#pragma once

#include "tensor/tensor.h"

namespace heed {

// Over everything: a scalar.
Tensor sum(const Tensor& x);
Tensor mean(const Tensor& x);
Tensor max(const Tensor& x);

// Over one axis, which disappears or, with keep_dim, stays with extent 1.
Tensor sum(const Tensor& x, int axis, bool keep_dim = false);
Tensor mean(const Tensor& x, int axis, bool keep_dim = false);
// The gradient goes to the first of several maxima. NaN counts as larger than anything.
Tensor max(const Tensor& x, int axis, bool keep_dim = false);

}  // namespace heed
