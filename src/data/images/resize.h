// Images at other sizes. Every function may be called from several threads.
#pragma once

#include <cstdint>

#include "formats/png.h"

namespace heed {

// Each axis by itself: made smaller, a pixel is the mean over the area that it covers; made larger,
// it lies between its two nearest (bilinear). Proportions are not kept.
Image resized(const Image& image, int64_t height, int64_t width);

// One channel: red, green and blue weighted as in ITU-R BT.601. Opacity is left out.
Image as_grey(const Image& image);

// Three channels, without opacity: what shines through becomes white, as paper would.
Image as_rgb(const Image& image);

}  // namespace heed
