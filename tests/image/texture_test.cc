#include "image/texture.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>

#include "base/parallel.h"
#include "base/random.h"
#include "support/error_of.h"

namespace heed {
namespace {

using testing::error_of;

// Slanted stripes of four colours.
Image stripes(int64_t side, int64_t channels) {
  Image image{.width = side, .height = side, .channels = channels, .pixels = {}};
  for (int64_t i = 0; i < side * side; ++i) {
    for (int64_t c = 0; c < channels; ++c) {
      image.pixels.push_back(static_cast<uint8_t>((i / side + i % side) % 4 * 60 + 10 * c));
    }
  }
  return image;
}

Image random_image(int64_t side, int64_t channels) {
  Image image{.width = side, .height = side, .channels = channels, .pixels = {}};
  const RandomStream random{5, 6};
  for (int64_t i = 0; i < side * side * channels; ++i) {
    image.pixels.push_back(static_cast<uint8_t>(random.bits(static_cast<uint64_t>(i))));
  }
  return image;
}

TEST(Texture, StripesGoOn) {
  for (const int64_t channels : {1, 3}) {
    const Image result =
        grown_texture(stripes(16, channels), {.height = 31, .width = 40, .window = 5});
    ASSERT_EQ(result.width, 40);
    ASSERT_EQ(result.height, 31);
    const int64_t phase = result.pixels[0] / 60;
    for (int64_t i = 0; i < 31 * 40 * channels; ++i) {
      const int64_t y = i / channels / 40;
      const int64_t x = i / channels % 40;
      ASSERT_EQ(result.pixels[static_cast<size_t>(i)],
                (phase + y + x) % 4 * 60 + 10 * (i % channels))
          << y << " " << x;
    }
  }
}

TEST(Texture, EveryPixelIsOneOfTheSample) {
  const Image sample = random_image(13, 3);
  const Image result = grown_texture(sample, {.height = 20, .width = 24, .window = 7});
  const auto colours_of = [](const Image& image) {
    std::set<std::array<uint8_t, 3>> colours;
    for (size_t i = 0; i < image.pixels.size(); i += 3) {
      colours.insert({image.pixels[i], image.pixels[i + 1], image.pixels[i + 2]});
    }
    return colours;
  };
  EXPECT_TRUE(std::ranges::includes(colours_of(sample), colours_of(result)));
  EXPECT_GT(colours_of(result).size(), 10U);
}

TEST(Texture, GrowsAroundTheSample) {
  const Image sample = random_image(12, 1);
  const Image result =
      grown_texture(sample, {.height = 22, .width = 18, .window = 5, .extend = true});
  for (int64_t y = 0; y < 12; ++y) {
    for (int64_t x = 0; x < 12; ++x) {
      EXPECT_EQ(result.pixels[static_cast<size_t>((y + 5) * 18 + x + 3)],
                sample.pixels[static_cast<size_t>(y * 12 + x)]);
    }
  }
}

TEST(Texture, SeedDecidesAndThreadsDoNot) {
  const Image sample = random_image(100, 1);
  const auto grown = [&](uint64_t seed, int threads) {
    const int before = num_threads();
    set_num_threads(threads);
    Image result = grown_texture(sample, {.height = 24, .width = 24, .seed = seed});
    set_num_threads(before);
    return result.pixels;
  };
  const auto first = grown(1, 1);
  EXPECT_EQ(first, grown(1, 3));
  EXPECT_NE(first, grown(2, 3));
}

TEST(Texture, TellsHowFarItIs) {
  double last = 0.0;
  grown_texture(stripes(8, 1),
                {.height = 32, .width = 32, .window = 3, .progress = [&](double done) {
                   EXPECT_GE(done, last);
                   last = done;
                 }});
  EXPECT_EQ(last, 1.0);
  // Smaller than what it would grow from.
  EXPECT_EQ(grown_texture(stripes(8, 1), {.height = 1, .width = 2, .window = 3}).pixels.size(), 2U);
}

TEST(Texture, RefusesNonsense) {
  const auto error = [](const Image& sample, const TextureOptions& options) {
    return error_of([&] { grown_texture(sample, options); });
  };
  EXPECT_EQ(error(stripes(8, 1), {.height = 9, .width = 9}),
            "[texture] a sample of 8 x 8, expected at least the window, 11 each way");
  EXPECT_EQ(error(stripes(8, 1), {.height = 9, .width = 9, .window = 4}),
            "[texture] window 4, expected an odd number from 3 to 63");
  EXPECT_EQ(error(stripes(8, 1), {.height = 0, .width = 9, .window = 5}),
            "[texture] a result of 0 x 9, expected 1 to 16777216 pixels");
  EXPECT_EQ(error(stripes(8, 1), {.height = 9, .width = 9, .window = 5, .epsilon = -1.0}),
            "[texture] epsilon -1, expected 0 to 10");
  EXPECT_EQ(error(stripes(8, 4), {.height = 9, .width = 9, .window = 5}),
            "[texture] a sample of 4 channels, expected 1 or 3");
}

}  // namespace
}  // namespace heed
