// How far apart images are, and noise: adding and estimating it.
// Every function may be called from several threads.
#pragma once

#include <cstdint>

#include "formats/png.h"

namespace heed {

// Peak signal-to-noise ratio in decibels: 10 log10(255^2 / mean squared difference); infinite for
// equal images. Sizes and channels must agree.
double psnr(const Image& a, const Image& b);

// Gaussian noise of standard deviation `sigma`, rounded and clipped to 0 to 255; opacity is not
// changed. The same seed gives the same noise.
Image with_noise(const Image& image, double sigma, uint64_t seed);

// The standard deviation of an image's noise: the median size of its finest diagonal details
// (Donoho and Johnstone 1994), which are almost only noise in photographs.
double estimated_sigma(const Image& image);

}  // namespace heed
