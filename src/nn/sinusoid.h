// A column of the sinusoidal positions of Vaswani et al. 2017: a sine or a cosine over positions.
// Pure functions, which any thread may call.
#pragma once

#include <cmath>
#include <cstdint>

namespace heed {

struct Sinusoid {
  double rate = 1.0;  // radians from one position to the next
  bool sine = true;   // or cosine

  double operator()(int64_t position) const {
    const double angle = static_cast<double>(position) * rate;
    return sine ? std::sin(angle) : std::cos(angle);
  }
};

// Rates fall geometrically from pair 0, whose rate is 1, to 1/10000 at the pair `last`.
inline double sinusoid_rate(int64_t pair, double last) {
  return std::pow(1e4, -static_cast<double>(pair) / last);
}

// The paper's order: a sine in the even columns, its cosine to the right of it.
inline Sinusoid interleaved_sinusoid(int64_t column, int64_t width) {
  return {.rate = sinusoid_rate(column / 2, static_cast<double>(width) / 2),
          .sine = column % 2 == 0};
}

}  // namespace heed
