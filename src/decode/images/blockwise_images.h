// Images of the likeliest levels, several of them in each pass (Stern, Shazeer and Uszkoreit 2018):
// proposals stand if the model would have said them itself, or something close, since levels are
// ordered. A model may be used by several threads at once.
#pragma once

#include <cstdint>
#include <vector>

#include "decode/acceptance.h"
#include "decode/images/sample_images.h"

namespace heed {

struct BlockwiseImages {
  std::vector<int32_t> levels;  // [images, T] in raster order
  int64_t passes = 0;           // of the model over all images
};

// Of the options only the number of images and their conditions count. An Error if the model has no
// proposals.
BlockwiseImages draw_blockwise(const ImageModel& model, const SampleOptions& options,
                               const Acceptance& acceptance);

}  // namespace heed
