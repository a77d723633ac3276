#include "data/images/resize.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/error.h"

namespace heed {
namespace {

// A new pixel of an axis: `weights` of the old ones from `first` on; they sum to one.
struct Taps {
  int64_t first = 0;
  std::vector<float> weights;
};

std::vector<Taps> shrinking_taps(int64_t from, int64_t to) {
  std::vector<Taps> taps(static_cast<size_t>(to));
  for (int64_t i = 0; i < to; ++i) {
    // In units of 1 / to of an old pixel, so that all is exact until the division.
    const int64_t begin = i * from;
    const int64_t end = begin + from;
    Taps& tap = taps[static_cast<size_t>(i)];
    tap.first = begin / to;
    for (int64_t old = tap.first; old * to < end; ++old) {
      const int64_t covered = std::min(end, (old + 1) * to) - std::max(begin, old * to);
      tap.weights.push_back(static_cast<float>(covered) / static_cast<float>(from));
    }
  }
  return taps;
}

std::vector<Taps> growing_taps(int64_t from, int64_t to) {
  std::vector<Taps> taps(static_cast<size_t>(to));
  for (int64_t i = 0; i < to; ++i) {
    const double centre =
        (static_cast<double>(i) + 0.5) * static_cast<double>(from) / static_cast<double>(to) - 0.5;
    const double place = std::clamp(centre, 0.0, static_cast<double>(from - 1));
    const int64_t first = std::max<int64_t>(0, std::min(static_cast<int64_t>(place), from - 2));
    const auto share = static_cast<float>(place - static_cast<double>(first));
    taps[static_cast<size_t>(i)] = {
        first, from == 1 ? std::vector<float>{1.0F} : std::vector<float>{1.0F - share, share}};
  }
  return taps;
}

std::vector<Taps> taps_of(int64_t from, int64_t to) {
  return to < from ? shrinking_taps(from, to) : growing_taps(from, to);
}

uint8_t rounded(float value) {
  return static_cast<uint8_t>(std::clamp(std::lround(value), 0L, 255L));
}

// Elements [outer, from, inner] to [outer, taps, inner].
std::vector<float> apply_taps(const std::vector<float>& x, const std::vector<Taps>& taps,
                              int64_t from, int64_t inner) {
  const int64_t to = std::ssize(taps);
  const int64_t outer = std::ssize(x) / (from * inner);
  std::vector<float> y(static_cast<size_t>(outer * to * inner), 0.0F);
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t i = 0; i < to; ++i) {
      const Taps& tap = taps[static_cast<size_t>(i)];
      float* target = y.data() + (o * to + i) * inner;
      const float* source = x.data() + (o * from + tap.first) * inner;
      for (const float weight : tap.weights) {
        for (int64_t e = 0; e < inner; ++e) {
          target[e] += weight * source[e];
        }
        source += inner;
      }
    }
  }
  return y;
}

}  // namespace

Image resized(const Image& image, int64_t height, int64_t width) {
  check(height > 0 && width > 0, "[resize] to {} x {}, expected 1 or more each way", height, width);
  if (height == image.height && width == image.width) {
    return image;
  }
  std::vector<float> values(image.pixels.begin(), image.pixels.end());
  values =
      apply_taps(values, taps_of(image.height, height), image.height, image.width * image.channels);
  values = apply_taps(values, taps_of(image.width, width), image.width, image.channels);
  Image result{.width = width, .height = height, .channels = image.channels, .pixels = {}};
  result.pixels.resize(values.size());
  std::ranges::transform(values, result.pixels.begin(), rounded);
  return result;
}

Image as_grey(const Image& image) {
  if (image.channels == 1) {
    return image;
  }
  Image grey{.width = image.width, .height = image.height, .channels = 1, .pixels = {}};
  grey.pixels.reserve(static_cast<size_t>(image.width * image.height));
  for (size_t i = 0; i < image.pixels.size(); i += static_cast<size_t>(image.channels)) {
    const uint8_t* p = image.pixels.data() + i;
    grey.pixels.push_back(
        static_cast<uint8_t>((299 * p[0] + 587 * p[1] + 114 * p[2] + 500) / 1000));
  }
  return grey;
}

Image as_rgb(const Image& image) {
  if (image.channels == 3) {
    return image;
  }
  Image rgb{.width = image.width, .height = image.height, .channels = 3, .pixels = {}};
  rgb.pixels.reserve(static_cast<size_t>(image.width * image.height * 3));
  for (size_t i = 0; i < image.pixels.size(); i += static_cast<size_t>(image.channels)) {
    const uint8_t* p = image.pixels.data() + i;
    const int opacity = image.channels == 4 ? p[3] : 255;
    for (int channel = 0; channel < 3; ++channel) {
      const int value = image.channels == 1 ? p[0] : p[channel];
      rgb.pixels.push_back(
          static_cast<uint8_t>((value * opacity + 255 * (255 - opacity) + 127) / 255));
    }
  }
  return rgb;
}

}  // namespace heed
