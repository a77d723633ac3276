#include "cli/pictures/plot.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "cli/pictures/label.h"
#include "cli/pictures/label_places.h"

namespace heed::cli {
namespace {

// Okabe and Ito's palette: told apart with every common form of colour blindness.
constexpr std::array kColours{"#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"};
constexpr const char* kInk = "#24292f";
constexpr const char* kQuiet = "#57606a";
constexpr const char* kGrid = "#e1e4e8";

// In pixels of the SVG's own coordinates.
constexpr double kPanelWidth = 560.0;
constexpr double kLeft = 82.0;  // of the axes inside their panel
constexpr double kRight = 26.0;
constexpr double kAxesTop = 130.0;
constexpr double kAxesHeight = 330.0;
constexpr double kNotesTop = kAxesTop + kAxesHeight + 80.0;
constexpr double kNoteStep = 21.0;
// SVG cannot measure text before it is shown; this is a wide average of sans-serif letters of 14
// pixels.
constexpr double kLetter = 7.6;

// 1250 as "1250", 0.02 as "0.02".
std::string number(double value) {
  if (value == 0.0) {
    return "0";  // also of a negative zero
  }
  return std::abs(value) < 1000.0 ? fmt::format("{:.3g}", value) : fmt::format("{:.0f}", value);
}

struct TextStyle {
  int size = 14;
  const char* anchor = "start";
  const char* colour = kInk;
  bool bold = false;
  bool upwards = false;
  bool halo = false;  // keeps lines that pass underneath away from the letters
};

std::string text(double x, double y, const std::string& content, const TextStyle& style = {}) {
  std::string extra;
  if (style.bold) {
    extra += " font-weight=\"600\"";
  }
  if (style.upwards) {
    extra += fmt::format(" transform=\"rotate(-90 {:.1f} {:.1f})\"", x, y);
  }
  if (style.halo) {
    extra += " stroke=\"#ffffff\" stroke-width=\"4\" paint-order=\"stroke\"";
  }
  return fmt::format(
      "<text x=\"{:.1f}\" y=\"{:.1f}\" font-size=\"{}\" text-anchor=\"{}\" "
      "fill=\"{}\"{}>{}</text>\n",
      x, y, style.size, style.anchor, style.colour, extra, escape_xml(content));
}

std::string line(PlotPoint from, PlotPoint to, const char* colour, double width = 1.0) {
  return fmt::format(
      "<path d=\"M{:.1f} {:.1f}L{:.1f} {:.1f}\" stroke=\"{}\" "
      "stroke-width=\"{}\"/>\n",
      from.x, from.y, to.x, to.y, colour, width);
}

// From values to pixels.
struct Axis {
  double low, high;    // values
  double start, stop;  // pixels
  bool linear = false;

  double operator()(double value) const {
    if (linear) {
      return start + (stop - start) * (value - low) / (high - low);
    }
    return start + (stop - start) * std::log(value / low) / std::log(high / low);
  }
  std::vector<double> ticks() const {
    return linear ? linear_ticks(low, high) : log_ticks(low, high);
  }
};

struct Range {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();

  void cover(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  // A little air at both ends; also gives a single value an extent.
  Axis axis(double start, double stop, bool linear) const {
    if (linear) {
      const double margin = high > low ? 0.04 * (high - low) : 1.0;
      return {low - (low == 0.0 ? 0.0 : margin), high + margin, start, stop, true};
    }
    const double air = std::max(std::pow(high / low, 0.05), 1.05);
    return {low / air, high * air, start, stop};
  }
};

struct Axes {
  Axis x, y;
  PlotPoint operator()(PlotPoint p) const { return {x(p.x), y(p.y)}; }
};

void check_series(const PlotPanel& panel, const PlotSeries& series) {
  check(!series.points.empty(), "[plot] series \"{}\" of \"{}\" has no points", series.name,
        panel.title);
  for (const PlotPoint& p : series.points) {
    const auto has_place = [](double value, bool linear) {
      return std::isfinite(value) && (linear || value > 0.0);
    };
    check(has_place(p.x, panel.linear_x) && has_place(p.y, panel.linear_y),
          "[plot] series \"{}\" has the point ({}, {}), expected {}", series.name, p.x, p.y,
          panel.linear_x && panel.linear_y ? "finite numbers" : "positive numbers on log axes");
  }
}

Axes axes_of(const PlotPanel& panel, double left) {
  check(!panel.series.empty(), "[plot] panel \"{}\" has no series", panel.title);
  Range x, y;
  for (const PlotSeries& series : panel.series) {
    check_series(panel, series);
    for (const PlotPoint& p : series.points) {
      x.cover(p.x);
      y.cover(p.y);
    }
  }
  return {x.axis(left + kLeft, left + kPanelWidth - kRight, panel.linear_x),
          y.axis(kAxesTop + kAxesHeight, kAxesTop, panel.linear_y)};
}

std::string draw_axes(const PlotPanel& panel, const Axes& axes) {
  const double bottom = axes.y.start;
  const double middle = (axes.x.start + axes.x.stop) / 2;
  std::string svg =
      text(middle, kAxesTop - 14, panel.title, {.size = 15, .anchor = "middle", .bold = true});
  for (const double tick : axes.x.ticks()) {
    const double x = axes.x(tick);
    svg += line({x, bottom}, {x, axes.y.stop}, kGrid);
    svg += line({x, bottom}, {x, bottom + 5}, kQuiet);
    svg += text(x, bottom + 21, number(tick), {.size = 13, .anchor = "middle", .colour = kQuiet});
  }
  for (const double tick : axes.y.ticks()) {
    const double y = axes.y(tick);
    svg += line({axes.x.start, y}, {axes.x.stop, y}, kGrid);
    svg += line({axes.x.start - 5, y}, {axes.x.start, y}, kQuiet);
    svg += text(axes.x.start - 9, y + 4.5, number(tick),
                {.size = 13, .anchor = "end", .colour = kQuiet});
  }
  svg += line({axes.x.start, bottom}, {axes.x.stop, bottom}, kQuiet);
  svg += line({axes.x.start, bottom}, {axes.x.start, axes.y.stop}, kQuiet);
  svg += text(middle, bottom + 45, panel.x_label, {.anchor = "middle"});
  svg += text(axes.x.start - 58, (bottom + axes.y.stop) / 2, panel.y_label,
              {.anchor = "middle", .upwards = true});
  return svg;
}

// Circle, square, triangle and again: colour is not the only difference.
std::string draw_point(PlotPoint p, size_t style) {
  const char* colour = kColours[style % kColours.size()];
  switch (style % 3) {
    case 0:
      return fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4.2\" fill=\"{}\"/>\n", p.x, p.y,
                         colour);
    case 1:
      return fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"8\" height=\"8\" fill=\"{}\"/>\n",
                         p.x - 4, p.y - 4, colour);
    default:
      return fmt::format("<path d=\"M{:.1f} {:.1f}l5 9h-10z\" fill=\"{}\"/>\n", p.x, p.y - 5.5,
                         colour);
  }
}

std::string draw_series(const PlotSeries& series, const Axes& axes, size_t style) {
  std::string path;
  for (const PlotPoint& p : series.points) {
    const PlotPoint at = axes(p);
    path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", at.x, at.y);
  }
  std::string svg = fmt::format(
      "<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{}\" "
      "stroke-linejoin=\"round\"{}/>\n",
      path, kColours[style % kColours.size()], series.dashed ? "1.6" : "2.4",
      series.dashed ? " stroke-dasharray=\"6 5\"" : "");
  constexpr size_t kDense = 40;  // points that would only blot out their line
  if (!series.dashed && series.points.size() <= kDense) {
    for (const PlotPoint& p : series.points) {
      svg += draw_point(axes(p), style);
    }
  }
  return svg;
}

std::string draw_mark(PlotPoint mark, const Axes& axes) {
  const PlotPoint at = axes(mark);
  // Below and to the right of the ring rising lines leave room, except at the right edge.
  const bool at_edge = at.x > axes.x.stop - 60;
  return fmt::format(
             "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"9\" fill=\"none\" stroke=\"{}\" "
             "stroke-width=\"1.8\"/>\n",
             at.x, at.y, kInk) +
         text(at.x + (at_edge ? -8 : 8), at.y + 24, number(std::round(mark.x)),
              {.size = 14, .anchor = at_edge ? "end" : "start", .bold = true, .halo = true});
}

// The names of all series beside their last points, each with a line to its point if it is far
// away.
std::string draw_labels(const PlotPanel& panel, const Axes& axes) {
  constexpr int kSize = 13;
  constexpr double kHeight = 18.0;
  constexpr double kNear = 12.0;
  std::vector<PlotPoint> points;
  std::vector<double> widths;
  for (const PlotSeries& series : panel.series) {
    points.push_back(axes(series.points.back()));
    widths.push_back(kLetter * kSize / 14.0 * static_cast<double>(series.name.size()));
  }
  const LabelBox bounds{axes.x.start, axes.y.stop, axes.x.stop - axes.x.start,
                        axes.y.start - axes.y.stop};
  const std::vector<LabelBox> places = place_labels(points, widths, kHeight, bounds);
  std::string svg;
  for (size_t i = 0; i < places.size(); ++i) {
    const LabelBox& box = places[i];
    const PlotPoint& point = points[i];
    const PlotPoint nearest{std::clamp(point.x, box.left, box.right()),
                            std::clamp(point.y, box.top, box.bottom())};
    if (std::hypot(nearest.x - point.x, nearest.y - point.y) > kNear) {
      svg += line(point, nearest, kQuiet);
    }
    svg += text(box.left + box.width / 2, box.top + kHeight - 5, panel.series[i].name,
                {.size = kSize, .anchor = "middle", .halo = true});
  }
  return svg;
}

std::vector<std::string> names_of(const Plot& plot) {
  std::vector<std::string> names;
  for (const PlotPanel& panel : plot.panels) {
    for (const PlotSeries& series : panel.series) {
      if (std::find(names.begin(), names.end(), series.name) == names.end()) {
        names.push_back(series.name);
      }
    }
  }
  return names;
}

std::string draw_legend(const Plot& plot, const std::vector<std::string>& names) {
  constexpr double kY = 86.0;
  std::string svg;
  double x = kLeft;
  const auto entry = [&](const std::string& name) {
    svg += text(x + 42, kY + 5, name);
    x += 42 + 26 + kLetter * static_cast<double>(name.size());
  };
  for (size_t i = 0; i < names.size(); ++i) {
    svg += line({x, kY}, {x + 34, kY}, kColours[i % kColours.size()], 2.4);
    svg += draw_point({x + 17, kY}, i);
    entry(names[i]);
  }
  if (!plot.dashed_legend.empty()) {
    svg += fmt::format(
        "<path d=\"M{:.1f} {:.1f}h34\" stroke=\"{}\" stroke-width=\"1.6\" "
        "stroke-dasharray=\"6 5\"/>\n",
        x, kY, kQuiet);
    entry(plot.dashed_legend);
  }
  return svg;
}

std::string draw_panel(const PlotPanel& panel, double left, const std::vector<std::string>& names) {
  const Axes axes = axes_of(panel, left);
  std::string svg = draw_axes(panel, axes);
  for (const PlotSeries& series : panel.series) {
    const auto name = std::find(names.begin(), names.end(), series.name);
    svg += draw_series(series, axes, static_cast<size_t>(name - names.begin()));
  }
  if (panel.labels) {
    svg += draw_labels(panel, axes);
  }
  for (const PlotPoint& mark : panel.marks) {
    svg += draw_mark(mark, axes);
  }
  double y = kNotesTop;
  for (const std::string& note : panel.notes) {
    svg += text(left + 24, y, note, {.size = 13});
    y += kNoteStep;
  }
  return svg;
}

}  // namespace

std::string render_svg(const Plot& plot) {
  check(!plot.panels.empty(), "[plot] \"{}\" has no panels", plot.title);
  const std::vector<std::string> names = names_of(plot);
  size_t notes = 0;
  for (const PlotPanel& panel : plot.panels) {
    notes = std::max(notes, panel.notes.size());
  }
  const double width = kPanelWidth * static_cast<double>(plot.panels.size());
  const double height = kNotesTop + kNoteStep * static_cast<double>(notes);
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" "
      "height=\"{1:.0f}\" role=\"img\" font-family=\"system-ui, -apple-system, 'Segoe UI', "
      "'DejaVu Sans', Helvetica, Arial, sans-serif\">\n<title>{2}</title>\n"
      "<rect width=\"100%\" height=\"100%\" rx=\"6\" fill=\"#ffffff\"/>\n",
      width, height, escape_xml(plot.title));
  svg += text(kLeft, 34, plot.title, {.size = 19, .bold = true});
  svg += text(kLeft, 58, plot.subtitle, {.colour = kQuiet});
  const bool named_beside = std::all_of(plot.panels.begin(), plot.panels.end(),
                                        [](const PlotPanel& panel) { return panel.labels; });
  if (!named_beside) {
    svg += draw_legend(plot, names);
  }
  for (size_t i = 0; i < plot.panels.size(); ++i) {
    svg += draw_panel(plot.panels[i], kPanelWidth * static_cast<double>(i), names);
  }
  return svg + "</svg>\n";
}

std::vector<double> log_ticks(double low, double high) {
  check(low > 0.0 && low < high && std::isfinite(high), "[plot] no log ticks from {} to {}", low,
        high);
  constexpr size_t kMany = 10;
  std::vector<double> decades, all;
  for (int power = static_cast<int>(std::floor(std::log10(low))); std::pow(10.0, power) <= high;
       ++power) {
    for (const double step : {1.0, 2.0, 5.0}) {
      const double tick = step * std::pow(10.0, power);
      if (tick >= low && tick <= high) {
        all.push_back(tick);
        if (step == 1.0) {
          decades.push_back(tick);
        }
      }
    }
  }
  return all.size() > kMany ? decades : all;
}

std::vector<double> linear_ticks(double low, double high) {
  check(low < high && std::isfinite(low) && std::isfinite(high), "[plot] no ticks from {} to {}",
        low, high);
  constexpr double kMost = 10.0;
  const double least = (high - low) / kMost;
  double step = std::pow(10.0, std::floor(std::log10(least)));
  for (const double factor : {2.0, 2.5, 2.0}) {  // 1, 2, 5, 10
    step *= step < least * (1.0 - 1e-9) ? factor : 1.0;
  }
  std::vector<double> ticks;
  for (double k = std::ceil(low / step - 1e-9); k * step <= high * (1.0 + 1e-12); ++k) {
    ticks.push_back(k * step);
  }
  return ticks;
}

std::vector<Crossing> find_crossings(std::span<const PlotPoint> a, std::span<const PlotPoint> b) {
  check(a.size() == b.size(), "[crossings] curves of {} and {} points, expected as many", a.size(),
        b.size());
  std::vector<Crossing> crossings;
  std::optional<size_t> last;  // where the curves last differed
  const auto gap = [&](size_t i) { return std::log(a[i].y / b[i].y); };
  for (size_t i = 0; i < a.size(); ++i) {
    check(a[i].x == b[i].x && (i == 0 || a[i].x > a[i - 1].x),
          "[crossings] x is {} and {} at point {}, expected the same and rising", a[i].x, b[i].x,
          i);
    if (gap(i) == 0.0) {
      continue;
    }
    if (last && (gap(*last) < 0.0) != (gap(i) < 0.0)) {
      // Between neighbours the straight lines meet; with equal points between, at the first.
      const size_t left = *last;
      const double part = i == left + 1 ? gap(left) / (gap(left) - gap(i)) : 1.0;
      const PlotPoint& to = a[left + 1];
      crossings.push_back({.at = {a[left].x * std::pow(to.x / a[left].x, part),
                                  a[left].y * std::pow(to.y / a[left].y, part)},
                           .a_below_before = gap(left) < 0.0});
    }
    last = i;
  }
  return crossings;
}

std::optional<PlotPoint> extrapolate_crossing(std::span<const PlotPoint> a,
                                              std::span<const PlotPoint> b) {
  check(a.size() == b.size() && a.size() >= 2,
        "[crossings] curves of {} and {} points, expected as many and at least 2", a.size(),
        b.size());
  const PlotPoint& last = a.back();
  const PlotPoint& before = a[a.size() - 2];
  const double gap = std::log(last.y / b.back().y);
  const double gap_before = std::log(before.y / b[b.size() - 2].y);
  const double step = std::log(last.x / before.x);
  const double way = step * gap / (gap_before - gap);  // in log x, to where the gap is gone
  if (!(way >= 0.0 && way <= std::log(10.0))) {
    return std::nullopt;
  }
  return PlotPoint{last.x * std::exp(way), last.y * std::pow(last.y / before.y, way / step)};
}

}  // namespace heed::cli
