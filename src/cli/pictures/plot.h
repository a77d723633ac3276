// Lines and points on logarithmic or linear axes, as one self-contained SVG file, and where two
// measured curves cross.
//
// Lines differ in colour (safe for the colour-blind) and in the shape of their points, and the
// background is opaque, so a plot reads in print and on pages of either theme.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace heed::cli {

struct PlotPoint {
  double x = 0.0;
  double y = 0.0;
};

struct PlotSeries {
  std::string name;  // series of the same name share colour and legend over all panels
  std::vector<PlotPoint> points = {};
  bool dashed = false;  // a line without points and without a legend of its own
};

struct PlotPanel {
  std::string title;
  std::string x_label;
  std::string y_label;
  bool linear_x = false;  // else logarithmic
  bool linear_y = false;
  bool labels = false;  // names stand beside the last point of each series; there is no legend
  std::vector<PlotSeries> series;
  std::vector<PlotPoint> marks = {};    // ringed, with their x beside them
  std::vector<std::string> notes = {};  // lines of text under the panel
};

struct Plot {
  std::string title;
  std::string subtitle;
  std::string dashed_legend = {};  // what dashed lines mean; empty: not said
  std::vector<PlotPanel> panels = {};
};

// Panels side by side. Throws Error on an empty series and on a coordinate that has no place on its
// axis.
std::string render_svg(const Plot& plot);

// Positions 1, 2, 5, 10, ... inside [low, high], or powers of ten alone when those are many.
std::vector<double> log_ticks(double low, double high);
// Round positions, 1, 2 or 5 times a power of ten apart, at most ten of them.
std::vector<double> linear_ticks(double low, double high);

// Where curve a crosses curve b, by straight lines on log-log axes; both have the same, rising x.
// Curves that touch without changing sides do not cross.
struct Crossing {
  PlotPoint at;
  bool a_below_before = false;  // a is the lower one to the left of it
};
std::vector<Crossing> find_crossings(std::span<const PlotPoint> a, std::span<const PlotPoint> b);
// Where the last straight pieces of both, continued to the right, meet; none if they do not within
// ten times the last x, beyond which a slope measured on two points says nothing.
std::optional<PlotPoint> extrapolate_crossing(std::span<const PlotPoint> a,
                                              std::span<const PlotPoint> b);

}  // namespace heed::cli
