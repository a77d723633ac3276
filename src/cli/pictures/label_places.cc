#include "cli/pictures/label_places.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

#include "base/error.h"

namespace heed::cli {
namespace {

constexpr double kMark = 6.0;  // half the width of a mark, with a little air

// The box of a label in a direction from its point: -1, 0 or 1 along each axis.
LabelBox beside(const PlotPoint& point, int x, int y, double distance, const LabelBox& size) {
  const double left = point.x + x * distance + (x - 1) * size.width / 2;
  const double top = point.y + y * distance + (y - 1) * size.height / 2;
  return {left, top, size.width, size.height};
}

bool inside(const LabelBox& box, const LabelBox& bounds) {
  return box.left >= bounds.left && box.right() <= bounds.right() && box.top >= bounds.top &&
         box.bottom() <= bounds.bottom();
}

// To the right first, where people look for a name, and corners last.
constexpr std::array<std::array<int, 2>, 8> kDirections{
    {{1, 0}, {-1, 0}, {0, -1}, {0, 1}, {1, -1}, {1, 1}, {-1, -1}, {-1, 1}}};

// The first free place on rings around the point; the one with the fewest overlaps if there is
// none.
LabelBox place_beside(const PlotPoint& point, const LabelBox& size, std::span<const LabelBox> taken,
                      const LabelBox& bounds) {
  LabelBox best = beside(point, 1, 0, kMark, size);
  auto fewest = std::numeric_limits<int64_t>::max();
  for (const double distance : {8.0, 16.0, 28.0, 44.0, 64.0, 88.0, 116.0}) {
    for (const auto& [x, y] : kDirections) {
      const LabelBox box = beside(point, x, y, distance, size);
      if (!inside(box, bounds)) {
        continue;
      }
      const int64_t overlaps = std::count_if(
          taken.begin(), taken.end(), [&](const LabelBox& other) { return box.overlaps(other); });
      if (overlaps < fewest) {
        fewest = overlaps;
        best = box;
      }
      if (overlaps == 0) {
        return best;
      }
    }
  }
  return best;
}

}  // namespace

LabelBox mark_box(const PlotPoint& point) {
  return {point.x - kMark, point.y - kMark, 2 * kMark, 2 * kMark};
}

std::vector<LabelBox> place_labels(std::span<const PlotPoint> points,
                                   std::span<const double> widths, double height,
                                   const LabelBox& bounds) {
  check(points.size() == widths.size(), "[labels] {} points and {} widths, expected as many",
        points.size(), widths.size());
  std::vector<LabelBox> taken;
  for (const PlotPoint& point : points) {
    taken.push_back(mark_box(point));
  }
  // Long names first: they have the fewest places to go.
  std::vector<size_t> order(points.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return widths[a] > widths[b]; });
  std::vector<LabelBox> places(points.size());
  for (const size_t i : order) {
    places[i] = place_beside(points[i], {.width = widths[i], .height = height}, taken, bounds);
    taken.push_back(places[i]);
  }
  return places;
}

}  // namespace heed::cli
