// Conversion between f32 and bf16 in the middle of a model: most ops want one dtype throughout,
// recurrent cells keep part of their state in f32.
#pragma once

#include "tensor/tensor.h"

namespace heed {

// x itself if it has the dtype already.
Tensor cast(const Tensor& x, DType dtype);

}  // namespace heed
