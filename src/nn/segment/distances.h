// The sinusoids of distances, which the layers of a Transformer-XL share.
//
// A value that does not change once made: any thread may read it.
#pragma once

#include <cstdint>

#include "tensor/tensor.h"

namespace heed {

class Distances {
 public:
  explicit Distances(int64_t width);

  // f32 [count, width]: the sinusoids of the distances count - 1, ..., 1, 0.
  Tensor last(int64_t count) const;

 private:
  int64_t width_;
  Tensor table_;  // of those that are computed ahead
};

}  // namespace heed
