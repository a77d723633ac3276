#include "image/non_local_means.h"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <vector>

#include "base/error.h"
#include "base/parallel.h"
#include "image/quality.h"
#include "kernels/image/non_local_means.h"

namespace heed {
namespace {

constexpr int64_t kBand = 32;  // rows that are done at once: their sums stay in the cache
constexpr int64_t kWidestPatch = 31;
constexpr int64_t kWidestSearch = 101;

// More noise needs larger patches to recognise what is alike, and then a smaller decay relative to
// sigma; the steps are those of Buades, Coll and Morel, Image Processing On Line 1 (2011).
int64_t default_patch(double sigma, int64_t colours) {
  if (colours == 1) {
    return sigma <= 15 ? 3 : sigma <= 30 ? 5 : sigma <= 45 ? 7 : sigma <= 75 ? 9 : 11;
  }
  return sigma <= 25 ? 3 : sigma <= 55 ? 5 : 7;
}
double default_decay(double sigma, int64_t colours) {
  if (colours == 1) {
    return sigma * (sigma <= 30 ? 0.4 : sigma <= 75 ? 0.35 : 0.3);
  }
  return sigma * (sigma <= 25 ? 0.55 : sigma <= 55 ? 0.4 : 0.35);
}

// Mirrored at the first and the last pixel, as often as needed.
int64_t reflected(int64_t at, int64_t count) {
  if (count == 1) {
    return 0;
  }
  const int64_t period = 2 * (count - 1);
  const int64_t folded = ((at % period) + period) % period;
  return std::min(folded, period - folded);
}

std::vector<float> bordered_planes(const Image& image, int64_t colours, int64_t border) {
  const int64_t width = image.width + 2 * border;
  const int64_t height = image.height + 2 * border;
  std::vector<float> planes(static_cast<size_t>(colours * height * width));
  for (int64_t c = 0; c < colours; ++c) {
    for (int64_t y = 0; y < height; ++y) {
      const uint8_t* from = image.pixels.data() +
                            reflected(y - border, image.height) * image.width * image.channels + c;
      float* to = planes.data() + (c * height + y) * width;
      for (int64_t x = 0; x < width; ++x) {
        to[x] = from[reflected(x - border, image.width) * image.channels];
      }
    }
  }
  return planes;
}

void check_options(const NonLocalMeansOptions& options) {
  const auto check_width = [](const char* name, int64_t width, int64_t widest) {
    check(width >= 1 && width <= widest && width % 2 == 1,
          "[non_local_means] {} {}, expected an odd number from 1 to {}", name, width, widest);
  };
  check_width("search", options.search, kWidestSearch);
  check_width("patch", options.patch.value_or(1), kWidestPatch);
  const double sigma = options.sigma.value_or(0.0);
  check(sigma >= 0.0 && sigma <= 255.0, "[non_local_means] sigma {}, expected 0 to 255", sigma);
  const double decay = options.decay.value_or(1.0);
  check(decay > 0.0 && decay <= 1e4, "[non_local_means] decay {}, expected above 0, up to 10000",
        decay);
}

}  // namespace

Image non_local_means(const Image& image, const NonLocalMeansOptions& options) {
  check_options(options);
  const double sigma = options.sigma ? *options.sigma : estimated_sigma(image);
  const int64_t colours = std::min<int64_t>(image.channels, 3);
  const double decay = options.decay.value_or(default_decay(sigma, colours));
  if (decay == 0.0 || image.pixels.empty()) {
    return image;  // no noise
  }
  const int64_t patch = options.patch.value_or(default_patch(sigma, colours));
  const auto summed = static_cast<double>(patch * patch * colours);
  const int64_t border = patch / 2 + options.search / 2;
  const std::vector<float> planes = bordered_planes(image, colours, border);
  std::vector<float> means(static_cast<size_t>(colours * image.height * image.width));
  const kernels::NonLocalMeans args{.planes = planes.data(),
                                    .height = image.height,
                                    .width = image.width,
                                    .channels = colours,
                                    .border = border,
                                    .patch = patch / 2,
                                    .search = options.search / 2,
                                    .free = static_cast<float>(2.0 * sigma * sigma * summed),
                                    .decay = static_cast<float>(1.0 / (decay * decay * summed)),
                                    .out = means.data()};
  const int64_t bands = (image.height + kBand - 1) / kBand;
  std::mutex mutex;
  int64_t done = 0;
  parallel_tasks(bands, [&](int64_t band) {
    kernels::non_local_means(args, band * kBand, std::min(image.height, (band + 1) * kBand));
    if (options.progress) {
      const std::lock_guard lock(mutex);
      options.progress(static_cast<double>(++done) / static_cast<double>(bands));
    }
  });

  Image result = image;
  for (int64_t c = 0; c < colours; ++c) {
    for (int64_t i = 0; i < image.width * image.height; ++i) {
      const float mean = means[static_cast<size_t>(c * image.width * image.height + i)];
      result.pixels[static_cast<size_t>(i * image.channels + c)] =
          static_cast<uint8_t>(std::lround(std::clamp(mean, 0.0F, 255.0F)));
    }
  }
  return result;
}

}  // namespace heed
