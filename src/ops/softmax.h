// Softmax and its logarithm.
#pragma once

#include "tensor/tensor.h"

namespace heed {

// Over any axis; the last one is the fastest. Where all of a row is -inf (everything masked),
// softmax gives zeros, with a gradient of zero, and log_softmax gives -inf.
Tensor softmax(const Tensor& x, int axis = -1);
Tensor log_softmax(const Tensor& x, int axis = -1);

}  // namespace heed
