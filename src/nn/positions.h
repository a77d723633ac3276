// Where a token stands: the timing signals of the paper.
#pragma once

#include "tensor/tensor.h"

namespace heed {

// [length, width]: sin(t / 10000^(2i/width)) in the even columns 2i, cos in the odd ones.
Tensor sinusoidal_positions(int64_t length, int64_t width, DType dtype);

}  // namespace heed
