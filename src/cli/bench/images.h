// `heed bench images`: what an Image Transformer costs over the size of images, with attention to
// everything before a pixel and with local attention.
#pragma once

#include <string>

#include "tensor/dtype.h"

namespace heed::cli {

struct ImagesBench {
  std::string svg;  // where the plot goes; empty: none
  DType dtype = DType::f32;
  int repetitions = 5;
};
void bench_images(const ImagesBench& bench, bool json);

}  // namespace heed::cli
