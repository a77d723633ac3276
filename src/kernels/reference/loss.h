// The maths of kernels/reduction/loss.h, obvious and slow.
#pragma once

#include <algorithm>
#include <cmath>

#include "kernels/reduction/loss.h"

namespace heed::reference {

template <typename T>
T loss(kernels::Loss loss, T x, T t) {
  using kernels::Loss;
  switch (loss) {
    case Loss::mse:
      return (x - t) * (x - t);
    case Loss::binary_cross_entropy_logits:
      return std::max(x, T(0)) + std::log1p(std::exp(-std::abs(x))) - x * t;
    case Loss::binary_cross_entropy:
      return -t * std::max(std::log(x), T(-100)) - (1 - t) * std::max(std::log1p(-x), T(-100));
    case Loss::kl_divergence:
      return t == 0 ? T(0) : t * (std::log(t) - x);
  }
  return x;
}

// d loss / dx, or d loss / dt
template <typename T>
T loss_slope(kernels::Loss loss, T x, T t, bool to_target) {
  using kernels::Loss;
  switch (loss) {
    case Loss::mse:
      return to_target ? 2 * (t - x) : 2 * (x - t);
    case Loss::binary_cross_entropy_logits:
      return 1 / (1 + std::exp(-x)) - t;
    case Loss::binary_cross_entropy:
      return (x - t) / std::max(x * (1 - x), T(1e-12));
    case Loss::kl_divergence:
      return to_target ? (t == 0 ? T(0) : std::log(t) + 1 - x) : -t;
  }
  return x;
}

}  // namespace heed::reference
