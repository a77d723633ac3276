// How kernels take their arrays, and copies between them that convert, scale and add.
#pragma once

#include <cstdint>

#include "tensor/dtype.h"

namespace heed::kernels {

class FrozenWeight;  // kernels/matmul/frozen.h

// Raw elements of f32 or bf16.
struct In {
  const void* data = nullptr;
  DType dtype = DType::f32;
  FrozenWeight* frozen = nullptr;  // for products, if the elements do not change
};
struct Out {
  void* data = nullptr;
  DType dtype = DType::f32;
};

struct Copy {
  int64_t n;
  In from;
  Out to;
  float scale = 1.0F;
  bool accumulate = false;  // to += scale * from
};
void copy(const Copy& args);

}  // namespace heed::kernels
