// How fast one thread of this machine multiplies and copies: what `heed plan` divides by.
#pragma once

#include <vector>

#include "tensor/dtype.h"
#include "train/plan.h"

namespace heed::cli {

// FLOP a second for products of these shapes, forward and backward, each by its share.
double product_rate(const std::vector<PlannedProduct>& products, DType dtype);
// Bytes a second from one place in memory to another.
double copy_rate();

}  // namespace heed::cli
