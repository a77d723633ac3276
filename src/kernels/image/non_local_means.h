// Non-local means (Buades, Coll and Morel, CVPR 2005) over a band of rows: every pixel becomes the
// mean of those around it, weighted by how much their patches look like its own.
#pragma once

#include <cstdint>

namespace heed::kernels {

struct NonLocalMeans {
  // Planes [channels, height + 2 border, width + 2 border] with border >= patch + search: whole
  // numbers up to 255, for which the running sums of squares are exact.
  const float* planes;
  int64_t height, width, channels;
  int64_t border;
  int64_t patch;   // radius: patches of (2 patch + 1)^2
  int64_t search;  // radius of the window of pixels that are looked at
  float free;      // distances up to it weigh 1: what the noise alone makes
  float decay;     // beyond it exp(-decay * distance); both of sums over patch and channels
  float* out;      // [channels, height, width]
};

// Rows [begin, end). Each is the same whatever band it is computed in.
void non_local_means(const NonLocalMeans& args, int64_t begin, int64_t end);

}  // namespace heed::kernels
