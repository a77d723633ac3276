// draw_photograph: a scene by rules, evaluated point by point.
#include <algorithm>
#include <array>
#include <cmath>

#include "base/error.h"
#include "base/parallel.h"
#include "base/random.h"
#include "data/images/drawings.h"
#include "data/images/resize.h"

namespace heed {
namespace {

struct Colour {
  double red = 0.0;
  double green = 0.0;
  double blue = 0.0;
};

Colour operator+(const Colour& a, const Colour& b) {
  return {a.red + b.red, a.green + b.green, a.blue + b.blue};
}
Colour operator*(double s, const Colour& a) { return {s * a.red, s * a.green, s * a.blue}; }
Colour mix(const Colour& a, const Colour& b, double share) { return (1.0 - share) * a + share * b; }
double smooth(double t) { return t * t * (3.0 - 2.0 * t); }

// A unit square with (0, 0) at its top left. Things in front are asked first.
class Scene {
 public:
  explicit Scene(uint64_t seed) : seed_(seed) {}

  Colour at(double x, double y) const {
    Colour colour;
    if (ball(x, y, colour) || sign(x, y, colour) || fence(x, y, colour) || wall(x, y, colour) ||
        hills(x, y, colour)) {
      return colour;
    }
    return sky(x, y);
  }

 private:
  // A number in [0, 1) for each cell of a grid.
  double lattice(uint64_t stream, int64_t i, int64_t j) const {
    const RandomStream random{seed_, stream};
    return random.uniform(
        4 * (static_cast<uint64_t>(i + 65536) * 131072 + static_cast<uint64_t>(j + 65536)));
  }

  // Value noise: smooth between the lattice's numbers.
  double noise(uint64_t stream, double x, double y) const {
    const double left = std::floor(x);
    const double top = std::floor(y);
    const double u = smooth(x - left);
    const double v = smooth(y - top);
    const auto i = static_cast<int64_t>(left);
    const auto j = static_cast<int64_t>(top);
    return (1 - v) * ((1 - u) * lattice(stream, i, j) + u * lattice(stream, i + 1, j)) +
           v * ((1 - u) * lattice(stream, i, j + 1) + u * lattice(stream, i + 1, j + 1));
  }

  // Octaves of it, each twice as fine and half as strong; about [0, 1].
  double fractal(uint64_t stream, double x, double y, int octaves) const {
    double sum = 0.0;
    double weight = 0.5;
    for (int i = 0; i < octaves; ++i, weight /= 2, x *= 2, y *= 2) {
      sum += weight * noise(stream + static_cast<uint64_t>(i), x, y);
    }
    return sum;
  }

  Colour sky(double x, double y) const {
    const Colour clear = mix({90, 140, 210}, {215, 225, 235}, std::min(1.0, y / 0.5));
    const double cloud = std::clamp(3.0 * (fractal(10, 4 * x, 9 * y, 4) - 0.48), 0.0, 1.0);
    const double glow = std::exp(-60.0 * ((x - 0.8) * (x - 0.8) + (y - 0.12) * (y - 0.12)));
    return mix(mix(clear, {245, 245, 245}, 0.8 * cloud), {255, 244, 200}, glow);
  }

  // Three ridges, the nearest last; the texture of woods grows with nearness.
  bool hills(double x, double y, Colour& colour) const {
    constexpr std::array<double, 3> kLevel = {0.58, 0.5, 0.42};
    constexpr std::array<double, 3> kRough = {10.0, 6.0, 4.0};
    for (size_t i = 0; i < kLevel.size(); ++i) {
      const uint64_t stream = 20 + 10 * i;
      const double ridge = kLevel[i] - 0.16 * (fractal(stream, kRough[i] * x, 0.0, 5) - 0.5);
      if (y >= ridge) {
        const double far = static_cast<double>(i) / 3.0;
        const double light = 0.75 + 0.5 * (fractal(stream + 5, 12 * x, 12 * y, 3) - 0.5) +
                             (0.25 - 0.25 * far) * (noise(stream + 9, 120 * x, 120 * y) - 0.5);
        colour = mix(light * Colour{80, 115, 60}, {150, 170, 190}, far);
        return true;
      }
    }
    return false;
  }

  bool wall(double x, double y, Colour& colour) const {
    constexpr double kRow = 0.034;
    constexpr double kBrick = 0.085;
    constexpr double kMortar = 0.005;
    if (x > 0.42 || y < 0.62) {
      return false;
    }
    const double row = std::floor(y / kRow);
    const double shifted = x + (static_cast<int64_t>(row) % 2 == 0 ? 0.0 : kBrick / 2);
    const double column = std::floor(shifted / kBrick);
    if (y - row * kRow < kMortar || shifted - column * kBrick < kMortar) {
      colour = {188, 182, 172};
      return true;
    }
    const double tint =
        0.8 + 0.35 * lattice(60, static_cast<int64_t>(column), static_cast<int64_t>(row));
    colour = (tint + 0.08 * (noise(61, 90 * x, 90 * y) - 0.5)) * Colour{165, 85, 65};
    return true;
  }

  bool fence(double x, double y, Colour& colour) const {
    constexpr double kPitch = 0.045;
    if (x < 0.46 || y < 0.7) {
      return false;
    }
    const double place = (x - 0.46) / kPitch;
    const double across = place - std::floor(place) - 0.5;
    const double top = 0.74 + 0.06 * std::abs(across);
    const bool picket = std::abs(across) < 0.32 && y > top;
    const bool rail = (y > 0.8 && y < 0.818) || (y > 0.92 && y < 0.938);
    if (!picket && !rail) {
      return false;
    }
    const double light = picket ? 0.95 - 0.3 * std::abs(across) : 0.7;
    colour = (light + 0.05 * (noise(70, 200 * x, 15 * y) - 0.5)) * Colour{235, 228, 210};
    return true;
  }

  // Lambert's shading, a highlight and a rim.
  bool ball(double x, double y, Colour& colour) const {
    struct Ball {
      double x, y, radius;
      Colour colour;
    };
    static constexpr std::array<Ball, 3> kBalls = {{{0.2, 0.86, 0.11, {200, 60, 50}},
                                                    {0.52, 0.9, 0.08, {70, 120, 200}},
                                                    {0.72, 0.88, 0.1, {225, 180, 60}}}};
    for (const Ball& one : kBalls) {
      const double u = (x - one.x) / one.radius;
      const double v = (y - one.y) / one.radius;
      const double squared = u * u + v * v;
      if (squared < 1.0) {
        const double depth = std::sqrt(1.0 - squared);
        const double light = std::max(0.0, 0.45 * u - 0.6 * v + 0.66 * depth);
        colour = (0.25 + 0.8 * light) * one.colour + std::pow(light, 30.0) * Colour{150, 150, 150};
        return true;
      }
    }
    return false;
  }

  // Small print: glyphs of three by five cells in lines.
  bool sign(double x, double y, Colour& colour) const {
    constexpr double kCell = 0.0042;
    const double u = (x - 0.06) / kCell;
    const double v = (y - 0.66) / kCell;
    if (u < 0 || v < 0 || u >= 66 || v >= 24) {
      return false;
    }
    const auto column = static_cast<int64_t>(u) - 2;
    const auto row = static_cast<int64_t>(v) - 2;
    const bool cell = column >= 0 && column < 60 && row >= 0 && row < 20 && column % 4 != 3 &&
                      row % 7 < 5 && lattice(81, column / 4, row / 7) > 0.15;
    colour = cell && lattice(80, column, row) > 0.42 ? Colour{40, 38, 45} : Colour{240, 238, 225};
    return true;
  }

  uint64_t seed_;
};

uint8_t to_byte(double value) {
  return static_cast<uint8_t>(std::clamp(std::lround(value), 0L, 255L));
}

}  // namespace

Image draw_photograph(const Photograph& options) {
  constexpr int kSamples = 2;  // each way in a pixel
  check(options.side > 0 && options.side <= 8192, "[photograph] a side of {}, expected 1 to 8192",
        options.side);
  check(options.channels == 1 || options.channels == 3, "[photograph] {} channels, expected 1 or 3",
        options.channels);
  Image image{.width = options.side, .height = options.side, .channels = 3, .pixels = {}};
  image.pixels.resize(static_cast<size_t>(options.side * options.side * 3));
  const Scene scene(options.seed);
  const double step = 1.0 / static_cast<double>(options.side * kSamples);
  const auto place = [&](int64_t pixel, int sample) {
    return (static_cast<double>(pixel * kSamples + sample) + 0.5) * step;
  };
  parallel_tasks(options.side, [&](int64_t y) {
    for (int64_t x = 0; x < options.side; ++x) {
      Colour sum;
      for (int s = 0; s < kSamples * kSamples; ++s) {
        sum = sum + scene.at(place(x, s % kSamples), place(y, s / kSamples));
      }
      const Colour mean = 1.0 / (kSamples * kSamples) * sum;
      uint8_t* pixel = image.pixels.data() + (y * options.side + x) * 3;
      pixel[0] = to_byte(mean.red);
      pixel[1] = to_byte(mean.green);
      pixel[2] = to_byte(mean.blue);
    }
  });
  return options.channels == 1 ? as_grey(image) : image;
}

}  // namespace heed
