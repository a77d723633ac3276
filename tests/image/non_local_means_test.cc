#include "image/non_local_means.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/parallel.h"
#include "data/images/drawings.h"
#include "image/quality.h"
#include "support/error_of.h"

namespace heed {
namespace {

using testing::error_of;

int64_t mirrored(int64_t at, int64_t count) {
  while (count > 1 && (at < 0 || at >= count)) {
    at = at < 0 ? -at : 2 * (count - 1) - at;
  }
  return count > 1 ? at : 0;
}

struct Setting {
  double sigma, decay;
  int64_t patch, search;
};

// Buades, Coll and Morel's definition, pixel by pixel, in double.
class SlowMeans {
 public:
  SlowMeans(const Image& image, const Setting& setting) : image_(image), setting_(setting) {}

  double at(int64_t channel, int64_t y, int64_t x) const {
    double sum = 0.0;
    double total = 0.0;
    double most = 0.0;
    const int64_t reach = setting_.search / 2;
    for (int64_t v = y - reach; v <= y + reach; ++v) {
      for (int64_t u = x - reach; u <= x + reach; ++u) {
        if (v != y || u != x) {
          const double beyond =
              std::max(distance(y, x, v, u) - 2.0 * setting_.sigma * setting_.sigma, 0.0);
          const double weight = std::exp(-beyond / (setting_.decay * setting_.decay));
          sum += weight * pixel(channel, v, u);
          total += weight;
          most = std::max(most, weight);
        }
      }
    }
    return (sum + most * pixel(channel, y, x)) / (total + most);
  }

 private:
  double pixel(int64_t channel, int64_t y, int64_t x) const {
    return image_.pixels[static_cast<size_t>(
        (mirrored(y, image_.height) * image_.width + mirrored(x, image_.width)) * image_.channels +
        channel)];
  }
  double distance(int64_t y, int64_t x, int64_t v, int64_t u) const {
    const int64_t reach = setting_.patch / 2;
    double sum = 0.0;
    for (int64_t c = 0; c < image_.channels; ++c) {
      for (int64_t dy = -reach; dy <= reach; ++dy) {
        for (int64_t dx = -reach; dx <= reach; ++dx) {
          const double d = pixel(c, y + dy, x + dx) - pixel(c, v + dy, u + dx);
          sum += d * d;
        }
      }
    }
    return sum / static_cast<double>(image_.channels * setting_.patch * setting_.patch);
  }

  const Image& image_;
  Setting setting_;
};

Image noisy_photograph(int64_t side, int64_t channels, double sigma) {
  return with_noise(draw_photograph({.side = side, .channels = channels}), sigma, 11);
}

TEST(NonLocalMeansFilter, IsWhatThePaperSays) {
  for (const int64_t channels : {1, 3}) {
    for (const Setting& s : {Setting{20, 9, 5, 9}, Setting{10, 14, 3, 7}, Setting{0, 30, 1, 5}}) {
      const Image image = noisy_photograph(29, channels, 20.0);
      const Image result = non_local_means(
          image, {.sigma = s.sigma, .patch = s.patch, .search = s.search, .decay = s.decay});
      const SlowMeans slow(image, s);
      for (int64_t i = 0; i < 29 * 29 * channels; ++i) {
        const double expected = slow.at(i % channels, i / channels / 29, i / channels % 29);
        ASSERT_NEAR(result.pixels[static_cast<size_t>(i)], expected, 0.501) << i;
      }
    }
  }
}

TEST(NonLocalMeansFilter, GainsFiveDecibels) {
  for (const int64_t channels : {1, 3}) {
    const Image clean = draw_photograph({.channels = channels});
    const Image noisy = with_noise(clean, 25.0, 1);
    const double before = psnr(noisy, clean);
    EXPECT_NEAR(before, 20.17, 0.5);  // 20 log10(255 / 25), a little more where it is cut
    EXPECT_GE(psnr(non_local_means(noisy, {.sigma = 25.0}), clean), before + 5.0);
    EXPECT_GE(psnr(non_local_means(noisy), clean), before + 5.0) << "with sigma estimated";
  }
}

TEST(NonLocalMeansFilter, ThreadsDoNotShow) {
  const Image image = noisy_photograph(150, 3, 25.0);
  const int threads = num_threads();
  set_num_threads(1);
  const Image alone = non_local_means(image);
  set_num_threads(3);
  double last = 0.0;
  const Image together = non_local_means(image, {.progress = [&](double done) {
                                           EXPECT_GT(done, last);
                                           last = done;
                                         }});
  set_num_threads(threads);
  EXPECT_EQ(alone.pixels, together.pixels);
  EXPECT_EQ(last, 1.0);
}

TEST(NonLocalMeansFilter, LeavesAloneWhatHasNoNoise) {
  Image flat{.width = 40, .height = 30, .channels = 3, .pixels = {}};
  flat.pixels.assign(40 * 30 * 3, 77);
  EXPECT_EQ(non_local_means(flat).pixels, flat.pixels);
  EXPECT_EQ(non_local_means(flat, {.sigma = 20.0}).pixels, flat.pixels);
  const Image dot{.width = 1, .height = 1, .channels = 1, .pixels = {9}};
  EXPECT_EQ(non_local_means(dot, {.sigma = 5.0}).pixels, dot.pixels);
  Image clear = noisy_photograph(20, 3, 10.0);
  Image opaque{.width = 20, .height = 20, .channels = 4, .pixels = {}};
  for (size_t i = 0; i < 400; ++i) {
    opaque.pixels.insert(opaque.pixels.end(), clear.pixels.begin() + static_cast<int64_t>(3 * i),
                         clear.pixels.begin() + static_cast<int64_t>(3 * i + 3));
    opaque.pixels.push_back(static_cast<uint8_t>(i));
  }
  clear = non_local_means(clear, {.sigma = 10.0});
  opaque = non_local_means(opaque, {.sigma = 10.0});
  for (size_t i = 0; i < 1600; ++i) {
    EXPECT_EQ(opaque.pixels[i],
              i % 4 == 3 ? static_cast<uint8_t>(i / 4) : clear.pixels[i / 4 * 3 + i % 4]);
  }
}

TEST(NonLocalMeansFilter, RefusesNonsense) {
  const Image dot{.width = 1, .height = 1, .channels = 1, .pixels = {9}};
  const auto error = [&](const NonLocalMeansOptions& options) {
    return error_of([&] { non_local_means(dot, options); });
  };
  EXPECT_EQ(error({.patch = 4}), "[non_local_means] patch 4, expected an odd number from 1 to 31");
  EXPECT_EQ(error({.search = 103}),
            "[non_local_means] search 103, expected an odd number from 1 to 101");
  EXPECT_EQ(error({.sigma = -1.0}), "[non_local_means] sigma -1, expected 0 to 255");
  EXPECT_EQ(error({.decay = 0.0}), "[non_local_means] decay 0, expected above 0, up to 10000");
  EXPECT_EQ(error({.sigma = NAN}), "[non_local_means] sigma nan, expected 0 to 255");
}

}  // namespace
}  // namespace heed
