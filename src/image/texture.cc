#include "image/texture.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/parallel.h"
#include "base/random.h"
#include "kernels/image/window_distance.h"

namespace heed {
namespace {

constexpr int64_t kSeedSide = 3;
constexpr int64_t kNowhere = -1;
constexpr int64_t kWidestWindow = 63;
constexpr int64_t kMostPixels = int64_t{1} << 24;
// As in the authors' program: a pixel whose best match differs by more than this (1 is black to
// white) waits until more of its surroundings are known; if nothing can be filled, the bound grows.
constexpr float kFirstBound = 0.3F;
constexpr float kBoundGrowth = 1.1F;

struct Candidate {
  int64_t y = 0;
  int64_t x = 0;
  int64_t known = 0;   // pixels of its window
  uint32_t order = 0;  // among those with as many known
};

class Texture {
 public:
  Texture(const Image& sample, const TextureOptions& options)
      : sample_(sample),
        options_(options),
        radius_(options.window / 2),
        random_{options.seed, stream_of("texture")},
        result_{.width = options.width,
                .height = options.height,
                .channels = sample.channels,
                .pixels = {}},
        filled_(static_cast<size_t>(options.width * options.height), 0),
        rows_(sample.height - 2 * radius_),
        columns_(sample.width - 2 * radius_) {
    result_.pixels.resize(filled_.size() * static_cast<size_t>(sample.channels), 0);
    make_planes();
    make_weights();
    plant();
  }

  Image grow() {
    float bound = kFirstBound;
    for (std::vector<Candidate> edge = find_edge(); !edge.empty(); edge = find_edge()) {
      const int64_t before = count_;
      while (!edge.empty()) {
        fill(take_apart(edge), bound);
      }
      bound *= count_ > before ? 1.0F : kBoundGrowth;
    }
    return std::move(result_);
  }

 private:
  // Planes, so that neighbouring places of the sample are neighbours in memory; 0 to 1.
  void make_planes() {
    const int64_t area = sample_.width * sample_.height;
    planes_.resize(static_cast<size_t>(area * sample_.channels));
    for (int64_t i = 0; i < area * sample_.channels; ++i) {
      planes_[static_cast<size_t>(i % sample_.channels * area + i / sample_.channels)] =
          static_cast<float>(sample_.pixels[static_cast<size_t>(i)]) / 255.0F;
    }
  }

  // Near surroundings count more: a Gaussian as wide as the paper's, window / 6.4.
  void make_weights() {
    const double sigma = static_cast<double>(options_.window) / 6.4;
    for (int64_t dy = -radius_; dy <= radius_; ++dy) {
      for (int64_t dx = -radius_; dx <= radius_; ++dx) {
        weights_.push_back(static_cast<float>(
            std::exp(-static_cast<double>(dy * dy + dx * dx) / (2.0 * sigma * sigma))));
      }
    }
  }

  // Depends on the pixel's own number, so that the order of filling does not matter.
  int64_t draw(uint64_t index, int64_t below) const {
    return static_cast<int64_t>(uint64_t{random_.bits(index)} * static_cast<uint64_t>(below) >> 32);
  }
  uint64_t number_of(int64_t y, int64_t x) const {
    return static_cast<uint64_t>(y * options_.width + x);
  }

  void take(int64_t y, int64_t x, int64_t sample_y, int64_t sample_x) {
    const auto to = static_cast<size_t>(y * options_.width + x);
    const int64_t from = sample_y * sample_.width + sample_x;
    std::copy_n(sample_.pixels.begin() + from * sample_.channels, sample_.channels,
                result_.pixels.begin() + static_cast<int64_t>(to) * sample_.channels);
    filled_[to] = 1;
  }

  // The middle of the result: the whole sample, or a piece of it from anywhere.
  void plant() {
    const uint64_t first_free = number_of(options_.height, 0);
    const int64_t height = std::min(options_.height, options_.extend ? sample_.height : kSeedSide);
    const int64_t width = std::min(options_.width, options_.extend ? sample_.width : kSeedSide);
    const int64_t from_y = options_.extend ? 0 : draw(first_free, sample_.height - height + 1);
    const int64_t from_x = options_.extend ? 0 : draw(first_free + 1, sample_.width - width + 1);
    const int64_t to_y = (options_.height - height) / 2;
    const int64_t to_x = (options_.width - width) / 2;
    for (int64_t y = 0; y < height; ++y) {
      for (int64_t x = 0; x < width; ++x) {
        take(to_y + y, to_x + x, from_y + y, from_x + x);
      }
    }
    count_ = height * width;
  }

  bool is_filled(int64_t y, int64_t x) const {
    return y >= 0 && y < options_.height && x >= 0 && x < options_.width &&
           filled_[static_cast<size_t>(y * options_.width + x)] != 0;
  }

  bool touches_filled(int64_t y, int64_t x) const {
    for (int64_t i = 0; i < 9; ++i) {
      if (is_filled(y + i / 3 - 1, x + i % 3 - 1)) {
        return true;
      }
    }
    return false;
  }

  int64_t known_around(int64_t y, int64_t x) const {
    int64_t known = 0;
    for (int64_t i = 0; i < options_.window * options_.window; ++i) {
      known += is_filled(y + i / options_.window - radius_, x + i % options_.window - radius_);
    }
    return known;
  }

  // Empty pixels beside filled ones, those that know most first, else in random order.
  std::vector<Candidate> find_edge() const {
    const RandomStream orders{options_.seed, stream_of("texture order")};
    std::vector<Candidate> edge;
    for (int64_t y = 0; y < options_.height; ++y) {
      for (int64_t x = 0; x < options_.width; ++x) {
        if (!is_filled(y, x) && touches_filled(y, x)) {
          edge.push_back({y, x, known_around(y, x), orders.bits(number_of(y, x))});
        }
      }
    }
    std::ranges::stable_sort(edge, [](const Candidate& a, const Candidate& b) {
      return a.known != b.known ? a.known > b.known : a.order < b.order;
    });
    return edge;
  }

  // Takes the first pixels out of the edge that do not see each other: filled at once they become
  // what they would have become one after the other.
  std::vector<Candidate> take_apart(std::vector<Candidate>& edge) const {
    std::vector<Candidate> apart;
    std::erase_if(edge, [&](const Candidate& pixel) {
      const bool free = std::ranges::none_of(apart, [&](const Candidate& other) {
        return std::abs(pixel.y - other.y) <= radius_ && std::abs(pixel.x - other.x) <= radius_;
      });
      if (free) {
        apart.push_back(pixel);
      }
      return free;
    });
    return apart;
  }

  void fill(const std::vector<Candidate>& pixels, float bound) {
    std::vector<int64_t> places(pixels.size());
    parallel_tasks(std::ssize(pixels), [&](int64_t i) {
      places[static_cast<size_t>(i)] = find_place(pixels[static_cast<size_t>(i)], bound);
    });
    for (size_t i = 0; i < pixels.size(); ++i) {
      if (places[i] != kNowhere) {
        take(pixels[i].y, pixels[i].x, places[i] / columns_ + radius_,
             places[i] % columns_ + radius_);
        ++count_;
      }
    }
    if (options_.progress) {
      options_.progress(static_cast<double>(count_) /
                        static_cast<double>(options_.width * options_.height));
    }
  }

  // What is known around a pixel; gives the sum of the weights.
  float gather_taps(const Candidate& pixel, std::vector<kernels::WindowTap>& taps) const {
    float total = 0.0F;
    for (int64_t i = 0; i < options_.window * options_.window; ++i) {
      const int64_t row = i / options_.window;
      const int64_t column = i % options_.window;
      const int64_t y = pixel.y + row - radius_;
      const int64_t x = pixel.x + column - radius_;
      if (!is_filled(y, x)) {
        continue;
      }
      const float weight = weights_[static_cast<size_t>(i)];
      total += weight * static_cast<float>(sample_.channels);
      const uint8_t* values = result_.pixels.data() + (y * options_.width + x) * sample_.channels;
      for (int64_t c = 0; c < sample_.channels; ++c) {
        taps.push_back({.offset = c * sample_.width * sample_.height + row * sample_.width + column,
                        .weight = weight,
                        .value = static_cast<float>(values[c]) / 255.0F});
      }
    }
    return total;
  }

  // Where the window begins whose middle the pixel becomes, or kNowhere.
  int64_t find_place(const Candidate& pixel, float bound) const {
    std::vector<kernels::WindowTap> taps;
    const float total = gather_taps(pixel, taps);
    std::vector<float> distances(static_cast<size_t>(rows_ * columns_));
    kernels::window_distance({.image = planes_.data(),
                              .stride = sample_.width,
                              .rows = rows_,
                              .columns = columns_,
                              .taps = taps.data(),
                              .count = std::ssize(taps),
                              .distance = distances.data()});
    const float best = *std::ranges::min_element(distances);
    if (best > bound * total) {
      return kNowhere;
    }
    const float limit = best * static_cast<float>(1.0 + options_.epsilon);
    int64_t chosen = draw(number_of(pixel.y, pixel.x),
                          std::ranges::count_if(distances, [&](float d) { return d <= limit; }));
    int64_t place = 0;
    while (distances[static_cast<size_t>(place)] > limit || chosen-- > 0) {
      ++place;
    }
    return place;
  }

  const Image& sample_;
  const TextureOptions& options_;
  int64_t radius_;
  RandomStream random_;
  Image result_;
  std::vector<uint8_t> filled_;  // [height, width]
  int64_t count_ = 0;            // of filled pixels
  int64_t rows_, columns_;       // places of whole windows in the sample
  std::vector<float> planes_;    // [channels, height, width] of the sample
  std::vector<float> weights_;   // [window, window]
};

}  // namespace

Image grown_texture(const Image& sample, const TextureOptions& options) {
  check(sample.channels == 1 || sample.channels == 3,
        "[texture] a sample of {} channels, expected 1 or 3", sample.channels);
  check(options.window >= 3 && options.window <= kWidestWindow && options.window % 2 == 1,
        "[texture] window {}, expected an odd number from 3 to {}", options.window, kWidestWindow);
  check(sample.width >= options.window && sample.height >= options.window,
        "[texture] a sample of {} x {}, expected at least the window, {} each way", sample.height,
        sample.width, options.window);
  check(options.height > 0 && options.width > 0 && options.height <= kMostPixels / options.width,
        "[texture] a result of {} x {}, expected 1 to {} pixels", options.height, options.width,
        kMostPixels);
  check(options.epsilon >= 0.0 && options.epsilon <= 10.0, "[texture] epsilon {}, expected 0 to 10",
        options.epsilon);
  return Texture(sample, options).grow();
}

}  // namespace heed
