#include "data/images/drawings.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <set>

#include "base/parallel.h"
#include "data/images/images.h"
#include "support/error_of.h"

namespace heed {
namespace {

TEST(Drawings, AreFunctionsOfSeedAndIndex) {
  for (const char* kind : {"digits", "shapes"}) {
    const ImageSet all = draw_images({.kind = kind, .seed = 3, .first = 0, .count = 20});
    const ImageSet later = draw_images({.kind = kind, .seed = 3, .first = 15, .count = 5});
    EXPECT_TRUE(std::ranges::equal(all.image(15), later.image(0)));
    EXPECT_EQ(all.labels[15], later.labels[0]);
    EXPECT_NE(all.pixels, draw_images({.kind = kind, .seed = 4, .first = 0, .count = 20}).pixels);
    const int threads = num_threads();
    set_num_threads(1);
    EXPECT_EQ(all.pixels, draw_images({.kind = kind, .seed = 3, .first = 0, .count = 20}).pixels);
    set_num_threads(threads);
  }
  EXPECT_EQ(testing::error_of([] { draw_images({.kind = "cats", .count = 1}); }),
            "[images] drawings \"cats\", expected digits or shapes");
}

int64_t squared_distance(std::span<const uint8_t> a, std::span<const uint8_t> b) {
  int64_t sum = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const int difference = a[i] - b[i];
    sum += difference * difference;
  }
  return sum;
}

// Written figures can be told apart, and no two are alike.
TEST(Drawings, NearestDigitIsTheSame) {
  const ImageSet known = draw_images({.kind = "digits", .seed = 1, .first = 0, .count = 3000});
  const ImageSet asked = draw_images({.kind = "digits", .seed = 1, .first = 100000, .count = 200});
  EXPECT_EQ(std::set<int32_t>(known.labels.begin(), known.labels.end()).size(), 10U);
  int right = 0;
  for (int64_t i = 0; i < asked.count(); ++i) {
    int64_t nearest = std::numeric_limits<int64_t>::max();
    int32_t label = -1;
    for (int64_t j = 0; j < known.count(); ++j) {
      const int64_t distance = squared_distance(asked.image(i), known.image(j));
      if (distance < nearest) {
        nearest = distance;
        label = known.labels[static_cast<size_t>(j)];
      }
    }
    EXPECT_GT(nearest, 0);
    right += label == asked.labels[static_cast<size_t>(i)] ? 1 : 0;
  }
  EXPECT_GE(right, 180) << "of 200";
}

TEST(Drawings, DigitsKeepTheirMargin) {
  const ImageSet digits = draw_images({.kind = "digits", .seed = 9, .first = 0, .count = 500});
  int64_t cut = 0;
  for (int64_t i = 0; i < digits.count(); ++i) {
    const auto image = digits.image(i);
    EXPECT_GT(*std::ranges::max_element(image), 200);
    cut += std::ranges::any_of(image.first(28), [](uint8_t v) { return v > 0; }) ||
           std::ranges::any_of(image.last(28), [](uint8_t v) { return v > 0; });
  }
  EXPECT_EQ(cut, 0);
}

TEST(Drawings, ShapesAreSymmetric) {
  int four_fold = 0;
  std::set<int32_t> labels;
  for (uint64_t index = 0; index < 100; ++index) {
    const Drawing drawing = draw_shape(5, index);
    const Image& image = drawing.image;
    ASSERT_EQ(image.pixels.size(), 32U * 32 * 3);
    const auto pixel = [&](int64_t y, int64_t x) {
      return std::span(image.pixels).subspan(static_cast<size_t>((y * 32 + x) * 3), 3);
    };
    bool upside_down = true;
    for (int64_t y = 0; y < 32; ++y) {
      for (int64_t x = 0; x < 16; ++x) {
        ASSERT_TRUE(std::ranges::equal(pixel(y, x), pixel(y, 31 - x)));
        upside_down = upside_down && std::ranges::equal(pixel(y, x), pixel(31 - y, x));
      }
    }
    four_fold += upside_down ? 1 : 0;
    labels.insert(drawing.label);
  }
  EXPECT_EQ(labels.size(), kShapeNames.size());
  EXPECT_GT(four_fold, 25);
  EXPECT_LT(four_fold, 75);
}

TEST(Drawings, Photograph) {
  const Image colour = draw_photograph({.side = 64});
  const Image grey = draw_photograph({.side = 64, .channels = 1});
  EXPECT_EQ(colour.pixels.size(), 64U * 64 * 3);
  ASSERT_EQ(grey.pixels.size(), 64U * 64);
  for (size_t i = 0; i < grey.pixels.size(); ++i) {
    const uint8_t* p = colour.pixels.data() + 3 * i;
    EXPECT_NEAR(grey.pixels[i], 0.299 * p[0] + 0.587 * p[1] + 0.114 * p[2], 0.51);
  }
  EXPECT_EQ(draw_photograph({.side = 64}).pixels, colour.pixels);
  EXPECT_NE(draw_photograph({.side = 64, .seed = 2}).pixels, colour.pixels);
  const auto [low, high] = std::ranges::minmax(grey.pixels);
  EXPECT_LT(low, 80);
  EXPECT_GT(high, 220);
  EXPECT_EQ(testing::error_of([] { draw_photograph({.side = 0}); }),
            "[photograph] a side of 0, expected 1 to 8192");
}

}  // namespace
}  // namespace heed
