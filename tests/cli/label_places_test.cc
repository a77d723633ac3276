// Names of points in a plot: inside it, and on nothing else.
#include "cli/pictures/label_places.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "support/error_of.h"

namespace heed::cli {
namespace {

constexpr LabelBox kBounds{0, 0, 450, 330};

void expect_apart(const std::vector<PlotPoint>& points, const std::vector<LabelBox>& labels) {
  for (size_t i = 0; i < labels.size(); ++i) {
    EXPECT_GE(labels[i].left, kBounds.left);
    EXPECT_GE(labels[i].top, kBounds.top);
    EXPECT_LE(labels[i].right(), kBounds.right());
    EXPECT_LE(labels[i].bottom(), kBounds.bottom());
    for (size_t k = 0; k < labels.size(); ++k) {
      EXPECT_FALSE(labels[i].overlaps(mark_box(points[k]))) << i << " covers point " << k;
      EXPECT_TRUE(i == k || !labels[i].overlaps(labels[k])) << i << " covers label " << k;
    }
  }
}

TEST(LabelPlaces, BesideALonePoint) {
  const std::vector<PlotPoint> points{{100, 100}};
  const auto labels = place_labels(points, std::vector<double>{60.0}, 18, kBounds);
  ASSERT_EQ(labels.size(), 1U);
  EXPECT_GT(labels[0].left, 100);
  EXPECT_LT(labels[0].left, 115);
  EXPECT_NEAR(labels[0].top + 9, 100, 1);
  const std::vector<PlotPoint> corner{{449, 1}};
  expect_apart(corner, place_labels(corner, std::vector<double>{60.0}, 18, kBounds));
}

TEST(LabelPlaces, ClustersComeApart) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    const RandomStream random{seed, 0};
    std::vector<PlotPoint> points;
    std::vector<double> widths;
    for (uint64_t i = 0; i < 10; ++i) {
      // Most lie together, as models of the same quality do.
      points.push_back({200.0 + random.bits(3 * i) % 60, 150.0 + random.bits(3 * i + 1) % 40});
      widths.push_back(30.0 + random.bits(3 * i + 2) % 60);
    }
    expect_apart(points, place_labels(points, widths, 18, kBounds));
  }
}

TEST(LabelPlaces, SamePointAndNoRoom) {
  const std::vector<PlotPoint> same(4, {200, 150});
  expect_apart(same, place_labels(same, std::vector<double>(4, 50.0), 18, kBounds));
  const std::vector<PlotPoint> one{{5, 5}};
  const auto squeezed = place_labels(one, std::vector<double>{100.0}, 18, {0, 0, 20, 20});
  EXPECT_EQ(squeezed.size(), 1U);
  testing::expect_error([&] { place_labels(one, {}, 18, kBounds); },
                        "[labels] 1 points and 0 widths, expected as many");
}

}  // namespace
}  // namespace heed::cli
