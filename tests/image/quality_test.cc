#include "image/quality.h"

#include <gtest/gtest.h>

#include <cmath>

#include "support/error_of.h"

namespace heed {
namespace {

using testing::error_of;

Image flat(int64_t width, int64_t height, int64_t channels, uint8_t value) {
  Image image{.width = width, .height = height, .channels = channels, .pixels = {}};
  image.pixels.assign(static_cast<size_t>(width * height * channels), value);
  return image;
}

TEST(Quality, Psnr) {
  const Image a = flat(4, 2, 1, 100);
  Image b = a;
  EXPECT_TRUE(std::isinf(psnr(a, b)));
  b.pixels[3] = 110;  // mean square 100 / 8
  EXPECT_NEAR(psnr(a, b), 37.1617, 5e-5);
  EXPECT_NEAR(psnr(flat(3, 3, 3, 0), flat(3, 3, 3, 255)), 0.0, 1e-12);
  EXPECT_EQ(error_of([&] { psnr(a, flat(2, 4, 1, 0)); }),
            "[psnr] 2 x 4 x 1 against 4 x 2 x 1, expected the same");
}

TEST(Quality, NoiseHasItsSigma) {
  const Image grey = flat(300, 200, 1, 128);
  const Image noisy = with_noise(grey, 10.0, 3);
  EXPECT_EQ(noisy.pixels, with_noise(grey, 10.0, 3).pixels);
  EXPECT_NE(noisy.pixels, with_noise(grey, 10.0, 4).pixels);
  double sum = 0.0;
  double squares = 0.0;
  for (const uint8_t value : noisy.pixels) {
    sum += value - 128.0;
    squares += (value - 128.0) * (value - 128.0);
  }
  EXPECT_NEAR(sum / 60000, 0.0, 0.17);                    // 4 sigma
  EXPECT_NEAR(squares / 60000, 100.0 + 1.0 / 12.0, 2.4);  // and the rounding's
  EXPECT_EQ(with_noise(grey, 0.0, 1).pixels, grey.pixels);
  const Image opaque = with_noise(flat(5, 5, 4, 200), 50.0, 1);
  for (size_t i = 3; i < opaque.pixels.size(); i += 4) {
    EXPECT_EQ(opaque.pixels[i], 200);
  }
  EXPECT_EQ(error_of([&] { with_noise(grey, -1.0, 1); }), "[noise] sigma -1, expected 0 or more");
}

TEST(Quality, SigmaIsFound) {
  for (const double sigma : {2.0, 5.0, 15.0, 30.0}) {
    EXPECT_NEAR(estimated_sigma(with_noise(flat(256, 256, 1, 128), sigma, 7)), sigma, 0.04 * sigma);
    EXPECT_NEAR(estimated_sigma(with_noise(flat(150, 150, 3, 128), sigma, 7)), sigma, 0.04 * sigma);
  }
  // A ramp has no diagonal details.
  Image ramp = flat(64, 64, 1, 0);
  for (size_t i = 0; i < ramp.pixels.size(); ++i) {
    ramp.pixels[i] = static_cast<uint8_t>(i % 64 * 2 + i / 64);
  }
  EXPECT_LT(estimated_sigma(ramp), 0.4);
  EXPECT_EQ(estimated_sigma(flat(1, 9, 1, 3)), 0.0);
}

}  // namespace
}  // namespace heed
