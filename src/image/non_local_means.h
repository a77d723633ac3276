// Non-local means (Buades, Coll and Morel, CVPR 2005): noise is averaged away over pixels whose
// surroundings look alike, wherever they are. Attention before it was learned: weights that are a
// softmax of negative distances between patches, values that are pixels.
// Every function may be called from several threads.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "formats/png.h"

namespace heed {

struct NonLocalMeansOptions {
  std::optional<double> sigma = {};   // of the noise; estimated from the image if unset
  std::optional<int64_t> patch = {};  // width of the patches, odd; from sigma if unset
  int64_t search = 21;                // width of the window that is searched, odd
  std::optional<double> decay = {};   // h: how fast weights fall with distance; from sigma if unset
  std::function<void(double done)> progress = {};  // from 0 to 1, one call at a time
};

// Grey or colours; opacity stays. The image goes on beyond its border as its mirror image.
// The same for any number of threads.
Image non_local_means(const Image& image, const NonLocalMeansOptions& options = {});

}  // namespace heed
