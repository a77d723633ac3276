// Digits and shapes; photographs are in photograph.cc.
#include "data/images/drawings.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "base/random.h"

namespace heed {
namespace {

// The numbers of one drawing, in the order in which they are asked for.
class Draws {
 public:
  Draws(uint64_t seed, std::string_view kind, uint64_t index)
      : random_{seed, stream_of(kind) + index} {}

  int below(uint32_t limit) { return static_cast<int>(random_.bits(drawn_++) % limit); }
  double between(double low, double high) {
    return low + (high - low) * static_cast<double>(random_.uniform(drawn_++));
  }

 private:
  RandomStream random_;
  uint64_t drawn_ = 0;
};

struct Point {
  double x = 0.0;
  double y = 0.0;
};
using Stroke = std::vector<Point>;

double degrees(double angle) { return angle * std::numbers::pi / 180.0; }

// Part of an ellipse; angles run from the right by way of the bottom, as y points down.
struct Arc {
  Point centre;
  double radius_x, radius_y;
  double from, to;  // degrees
};

void add(Stroke& stroke, const Arc& arc) {
  constexpr double kStep = 15.0;
  const int steps = std::max(1, static_cast<int>(std::ceil(std::abs(arc.to - arc.from) / kStep)));
  for (int i = 0; i <= steps; ++i) {
    const double angle = degrees(arc.from + (arc.to - arc.from) * i / steps);
    stroke.push_back({arc.centre.x + arc.radius_x * std::cos(angle),
                      arc.centre.y + arc.radius_y * std::sin(angle)});
  }
}

Stroke curve(std::initializer_list<Arc> arcs, std::initializer_list<Point> rest = {}) {
  Stroke stroke;
  for (const Arc& arc : arcs) {
    add(stroke, arc);
  }
  stroke.insert(stroke.end(), rest.begin(), rest.end());
  return stroke;
}

// In a box from (0, 0) at the top left to (1, 1). Digits that people write in two ways have both.
std::vector<Stroke> strokes_of(int digit, bool variant) {
  switch (digit) {
    case 0:
      return {curve({{{0.5, 0.5}, 0.36, 0.5, -90, 270}})};
    case 1:
      return {variant ? Stroke{{0.28, 0.22}, {0.52, 0.0}, {0.52, 1.0}}
                      : Stroke{{0.5, 0.0}, {0.5, 1.0}}};
    case 2:
      return {curve({{{0.48, 0.28}, 0.34, 0.28, 190, 400}}, {{0.14, 1.0}, {0.88, 1.0}})};
    case 3:
      return {curve({{{0.45, 0.25}, 0.33, 0.25, 200, 450}, {{0.45, 0.75}, 0.38, 0.25, 270, 520}})};
    case 4:
      return variant ? std::vector<Stroke>{{{0.22, 0.0}, {0.15, 0.55}, {0.85, 0.55}},
                                           {{0.74, 0.05}, {0.7, 1.0}}}
                     : std::vector<Stroke>{{{0.68, 1.0}, {0.68, 0.0}, {0.1, 0.67}, {0.92, 0.67}}};
    case 5:
      return {{{0.82, 0.0}, {0.25, 0.0}, {0.2, 0.46}},
              curve({{{0.47, 0.68}, 0.36, 0.32, 222, 510}})};
    case 6:
      return {curve({{{0.75, 0.68}, 0.58, 0.68, 262, 180}, {{0.5, 0.7}, 0.33, 0.3, 180, 540}})};
    case 7:
      return variant ? std::vector<Stroke>{{{0.12, 0.0}, {0.86, 0.0}, {0.38, 1.0}},
                                           {{0.36, 0.5}, {0.78, 0.5}}}
                     : std::vector<Stroke>{{{0.12, 0.0}, {0.86, 0.0}, {0.38, 1.0}}};
    case 8:
      return {curve({{{0.5, 0.25}, 0.28, 0.25, 90, 450}}),
              curve({{{0.5, 0.74}, 0.35, 0.26, -90, 270}})};
    default:
      return {curve({{{0.5, 0.3}, 0.33, 0.3, 0, 360}, {{0.25, 0.32}, 0.58, 0.68, 0, 82}})};
  }
}

// A hand: moves strokes from the box to pixels.
struct Hand {
  double height, width;  // of the box, in pixels
  double slant, turn;    // right for each unit up; radians
  double wobble, phase;  // pixels
  Point centre;

  Point place(Point p) const {
    const double x = (p.x - 0.5) * width + (0.5 - p.y) * height * slant +
                     wobble * std::sin(2.0 * std::numbers::pi * p.y + phase);
    const double y =
        (p.y - 0.5) * height + wobble * std::sin(2.0 * std::numbers::pi * p.x + 2.0 * phase);
    return {centre.x + x * std::cos(turn) - y * std::sin(turn),
            centre.y + x * std::sin(turn) + y * std::cos(turn)};
  }
};

double distance(Point p, Point a, Point b) {
  const double dx = b.x - a.x;
  const double dy = b.y - a.y;
  const double squared = dx * dx + dy * dy;
  const double along =
      squared == 0.0 ? 0.0 : std::clamp(((p.x - a.x) * dx + (p.y - a.y) * dy) / squared, 0.0, 1.0);
  return std::hypot(p.x - a.x - along * dx, p.y - a.y - along * dy);
}

struct Pen {
  double radius;    // pixels
  double strength;  // of the ink, up to 255
};

// Ink covers the share of a pixel that a straight edge at its distance would.
void ink(Image& image, Point a, Point b, const Pen& pen) {
  const double reach = pen.radius + 0.5;
  const auto first = [&](double low) { return std::max<int64_t>(0, std::lround(low - reach) - 1); };
  const auto last = [&](double high) {
    return std::min<int64_t>(kDigitSide - 1, std::lround(high + reach));
  };
  for (int64_t y = first(std::min(a.y, b.y)); y <= last(std::max(a.y, b.y)); ++y) {
    for (int64_t x = first(std::min(a.x, b.x)); x <= last(std::max(a.x, b.x)); ++x) {
      const Point middle{static_cast<double>(x) + 0.5, static_cast<double>(y) + 0.5};
      const double covered = std::clamp(reach - distance(middle, a, b), 0.0, 1.0);
      uint8_t& pixel = image.pixels[static_cast<size_t>(y * kDigitSide + x)];
      pixel = std::max(pixel, static_cast<uint8_t>(std::lround(pen.strength * covered)));
    }
  }
}

using Rgb = std::array<double, 3>;

// Light ones for shapes, dark ones for what is behind them.
constexpr std::array<Rgb, 6> kLight = {{{230, 70, 60},
                                        {250, 200, 60},
                                        {110, 200, 90},
                                        {80, 170, 240},
                                        {220, 130, 220},
                                        {240, 240, 230}}};
constexpr std::array<Rgb, 4> kDark = {{{30, 30, 40}, {25, 50, 80}, {70, 35, 45}, {35, 65, 45}}};

// Whether a point of the shape's own frame, [-1, 1] each way, is inside.
bool is_inside(int kind, Point p) {
  const double x = std::abs(p.x);
  const double y = std::abs(p.y);
  switch (kind) {
    case 0:
      return x * x + y * y <= 1.0;
    case 1:
      return std::max(x, y) <= 0.85;
    case 2:
      return p.y <= 0.75 && x <= (p.y + 1.0) * 0.57;
    case 3:
      return std::min(x, y) <= 0.3 && std::max(x, y) <= 1.0;
    default:
      return std::max(x, y) <= 1.0 && static_cast<int>(std::floor((p.y + 1.0) * 2.5)) % 2 == 0;
  }
}

struct Arrangement {
  int kind = 0;
  bool four_fold = false;
  Point offset;  // of the shape from the middle of the image, whose side is 2
  double size = 0.0;
  double turn = 0.0;

  // Folding the plane mirrors everything, exactly: the grid of samples is symmetric itself.
  bool covers(Point p) const {
    const double x = std::abs(p.x) - offset.x;
    const double y = (four_fold ? std::abs(p.y) : p.y) - offset.y;
    return is_inside(kind, {(x * std::cos(turn) + y * std::sin(turn)) / size,
                            (y * std::cos(turn) - x * std::sin(turn)) / size});
  }
};

}  // namespace

Drawing draw_digit(uint64_t seed, uint64_t index) {
  Draws draws(seed, "digits", index);
  Drawing drawing{.image = {.width = kDigitSide,
                            .height = kDigitSide,
                            .channels = 1,
                            .pixels = std::vector<uint8_t>(kDigitSide * kDigitSide)},
                  .label = draws.below(10)};
  const std::vector<Stroke> strokes = strokes_of(drawing.label, draws.below(2) == 1);
  const double height = draws.between(15.0, 18.5);
  const Hand hand{.height = height,
                  .width = height * draws.between(0.6, 0.85),
                  .slant = draws.between(-0.1, 0.35),
                  .turn = draws.between(-0.12, 0.12),
                  .wobble = draws.between(0.0, 0.5),
                  .phase = draws.between(0.0, 6.28),
                  .centre = {14.0 + draws.between(-1.0, 1.0), 14.0 + draws.between(-1.0, 1.0)}};
  const Pen pen{.radius = draws.between(0.8, 1.6), .strength = draws.between(215.0, 255.0)};
  for (const Stroke& stroke : strokes) {
    for (size_t i = 1; i < stroke.size(); ++i) {
      ink(drawing.image, hand.place(stroke[i - 1]), hand.place(stroke[i]), pen);
    }
  }
  return drawing;
}

Drawing draw_shape(uint64_t seed, uint64_t index) {
  constexpr int kSamples = 4;  // each way in a pixel
  Draws draws(seed, "shapes", index);
  Arrangement arrangement;
  arrangement.kind = draws.below(kShapeNames.size());
  arrangement.four_fold = draws.below(2) == 1;
  const double room = arrangement.four_fold ? 0.12 : 0.3;
  arrangement.offset = {draws.between(0.44, 0.52), arrangement.four_fold
                                                       ? draws.between(0.44, 0.52)
                                                       : draws.between(-room, room)};
  arrangement.size = draws.between(0.24, 0.4);
  arrangement.turn = degrees(draws.between(-30.0, 30.0));
  const Rgb& light = kLight[static_cast<size_t>(draws.below(kLight.size()))];
  const Rgb& dark = kDark[static_cast<size_t>(draws.below(kDark.size()))];

  Drawing drawing{.image = {.width = kShapeSide, .height = kShapeSide, .channels = 3, .pixels = {}},
                  .label = arrangement.kind};
  const auto coordinate = [](int64_t pixel, int sample) {
    return (static_cast<double>(2 * (pixel * kSamples + sample) + 1) / (2 * kSamples) -
            kShapeSide / 2.0) /
           (kShapeSide / 2.0);
  };
  for (int64_t y = 0; y < kShapeSide; ++y) {
    for (int64_t x = 0; x < kShapeSide; ++x) {
      int covered = 0;
      for (int s = 0; s < kSamples * kSamples; ++s) {
        covered +=
            arrangement.covers({coordinate(x, s % kSamples), coordinate(y, s / kSamples)}) ? 1 : 0;
      }
      const double share = covered / static_cast<double>(kSamples * kSamples);
      for (size_t c = 0; c < 3; ++c) {
        drawing.image.pixels.push_back(
            static_cast<uint8_t>(std::lround(dark[c] + share * (light[c] - dark[c]))));
      }
    }
  }
  return drawing;
}

}  // namespace heed
