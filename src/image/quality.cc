#include "image/quality.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/error.h"
#include "base/parallel.h"
#include "base/random.h"

namespace heed {

double psnr(const Image& a, const Image& b) {
  check(a.width == b.width && a.height == b.height && a.channels == b.channels,
        "[psnr] {} x {} x {} against {} x {} x {}, expected the same", a.height, a.width,
        a.channels, b.height, b.width, b.channels);
  check(!a.pixels.empty() && a.pixels.size() == b.pixels.size(),
        "[psnr] {} against {} bytes of pixels, expected the same number", a.pixels.size(),
        b.pixels.size());
  uint64_t sum = 0;
  for (size_t i = 0; i < a.pixels.size(); ++i) {
    const int difference = a.pixels[i] - b.pixels[i];
    sum += static_cast<uint64_t>(difference * difference);
  }
  if (sum == 0) {
    return std::numeric_limits<double>::infinity();
  }
  const double mean = static_cast<double>(sum) / static_cast<double>(a.pixels.size());
  return 10.0 * std::log10(255.0 * 255.0 / mean);
}

Image with_noise(const Image& image, double sigma, uint64_t seed) {
  check(std::isfinite(sigma) && sigma >= 0.0, "[noise] sigma {}, expected 0 or more", sigma);
  const RandomStream random{seed, stream_of("noise")};
  Image noisy = image;
  parallel_for(std::ssize(noisy.pixels), kParallelGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      if (image.channels == 4 && i % 4 == 3) {
        continue;
      }
      uint8_t& pixel = noisy.pixels[static_cast<size_t>(i)];
      const double value =
          pixel + sigma * static_cast<double>(random.normal(static_cast<uint64_t>(i)));
      pixel = static_cast<uint8_t>(std::lround(std::clamp(value, 0.0, 255.0)));
    }
  });
  return noisy;
}

double estimated_sigma(const Image& image) {
  constexpr double kMedianOfNormal = 0.6744897501960817;  // of |x|, x standard normal
  const int64_t colours = std::min<int64_t>(image.channels, 3);
  const int64_t stride = image.width * image.channels;
  std::vector<int> details;
  details.reserve(static_cast<size_t>(image.width * image.height * colours / 4));
  for (int64_t y = 0; y + 1 < image.height; y += 2) {
    for (int64_t x = 0; x + 1 < image.width; x += 2) {
      for (int64_t c = 0; c < colours; ++c) {
        const uint8_t* p = image.pixels.data() + y * stride + x * image.channels + c;
        const uint8_t* q = p + stride;
        details.push_back(std::abs(p[0] - p[image.channels] - q[0] + q[image.channels]));
      }
    }
  }
  if (details.empty()) {
    return 0.0;  // a line of pixels tells nothing
  }
  // The median between whole numbers: as far into its number as half of all details reach.
  const auto middle = details.begin() + std::ssize(details) / 2;
  std::nth_element(details.begin(), middle, details.end());
  const auto less =
      std::count_if(details.begin(), details.end(), [&](int d) { return d < *middle; });
  const auto same = std::count(details.begin(), details.end(), *middle);
  const double share = (static_cast<double>(details.size()) / 2 - static_cast<double>(less)) /
                       static_cast<double>(same);
  const double median = *middle == 0 ? 0.5 * share : *middle - 0.5 + share;
  return median / 2.0 / kMedianOfNormal;  // four pixels, each once: their noise doubles
}

}  // namespace heed
