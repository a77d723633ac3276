// Texture synthesis by non-parametric sampling (Efros and Leung, ICCV 1999): a texture grows pixel
// by pixel, each taken from a place of the sample whose surroundings look like those it has.
// Every function may be called from several threads.
#pragma once

#include <cstdint>
#include <functional>

#include "formats/png.h"

namespace heed {

struct TextureOptions {
  int64_t height = 0;  // of the result
  int64_t width = 0;
  int64_t window = 11;   // width of the surroundings that are compared, odd
  double epsilon = 0.1;  // matches up to this share worse than the best may be drawn
  bool extend = false;   // grow around the whole sample, not from 3 x 3 pixels of it
  uint64_t seed = 1;
  std::function<void(double done)> progress = {};  // from 0 to 1
};

// Grey or colours; opacity is an Error. The same for any number of threads.
Image grown_texture(const Image& sample, const TextureOptions& options);

}  // namespace heed
