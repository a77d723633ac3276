#include "nn/positions.h"

#include <cmath>

namespace heed {

Tensor sinusoidal_positions(int64_t length, int64_t width, DType dtype) {
  const Tensor table = Tensor::empty({length, width});
  float* value = table.data<float>();
  for (int64_t t = 0; t < length; ++t) {
    for (int64_t c = 0; c < width; ++c) {
      const int64_t pair = c / 2 * 2;  // sine and cosine share a rate
      const double rate =
          std::pow(10000.0, -static_cast<double>(pair) / static_cast<double>(width));
      const double angle = static_cast<double>(t) * rate;
      value[t * width + c] = static_cast<float>(c % 2 == 0 ? std::sin(angle) : std::cos(angle));
    }
  }
  return table.to(dtype);
}

}  // namespace heed
