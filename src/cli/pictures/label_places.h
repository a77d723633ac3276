// Where the names of points in a plot go, so that none covers another name or a point. A pure
// function.
#pragma once

#include <span>
#include <vector>

#include "cli/pictures/plot.h"

namespace heed::cli {

// In pixels; y grows downwards.
struct LabelBox {
  double left = 0.0;
  double top = 0.0;
  double width = 0.0;
  double height = 0.0;

  double right() const { return left + width; }
  double bottom() const { return top + height; }
  bool overlaps(const LabelBox& other) const {
    return left < other.right() && other.left < right() && top < other.bottom() &&
           other.top < bottom();
  }
};

// The square that a point's mark takes up.
LabelBox mark_box(const PlotPoint& point);

// A box of each width and of this height for each point: beside it if there is room, else farther
// away, within the bounds. Where there is no room at all, boxes overlap.
std::vector<LabelBox> place_labels(std::span<const PlotPoint> points,
                                   std::span<const double> widths, double height,
                                   const LabelBox& bounds);

}  // namespace heed::cli
