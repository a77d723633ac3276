// Where a pixel of an image looked, as pictures.
#pragma once

#include "formats/png.h"
#include "models/model.h"

namespace heed::cli {

// A picture for each layer (down) and head (across): the first image of the batch, faint, and over
// it the attention of the pixel's first sample to every other pixel, the strongest in full colour;
// the pixel itself is framed.
Image attention_of_pixel(const ImageModel& model, const ImageBatch& batch, int64_t row,
                         int64_t column);

// An Error for a pixel that there is not.
void check_pixel(const ImageLayout& layout, int64_t row, int64_t column);

}  // namespace heed::cli
