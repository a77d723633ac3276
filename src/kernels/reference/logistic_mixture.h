// The maths of kernels/reduction/logistic_mixture.h, obvious and slow.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>

#include "kernels/reduction/logistic_mixture.h"

namespace heed::reference {

template <typename T>
T logistic(T x) {
  return 1 / (1 + std::exp(-x));
}

// The mass of one component on one level.
template <typename T>
T logistic_mass(T mean, T log_scale, int64_t level, int64_t levels) {
  const T x = 2 * T(level) / T(levels - 1) - 1;
  const T d = 1 / T(levels - 1);
  const T t = std::exp(-std::max(log_scale, T(kernels::kMinLogScale)));
  const T a = (x + d - mean) * t;
  const T b = (x - d - mean) * t;
  if (level == 0) {
    return logistic(a);
  }
  if (level == levels - 1) {
    return logistic(-b);
  }
  // The logistic is symmetric; differences are precise on its lower side only.
  return b > 0 ? logistic(-b) - logistic(-a) : logistic(a) - logistic(b);
}

// The probability of a level under [K logits, K means, K log-scales].
template <typename T>
T logistic_mixture(std::span<const T> parameters, int64_t level, int64_t levels) {
  const size_t n = parameters.size() / 3;
  T total = 0;
  T probability = 0;
  for (size_t k = 0; k < n; ++k) {
    const T weight = std::exp(parameters[k]);
    total += weight;
    probability += weight * logistic_mass(parameters[n + k], parameters[2 * n + k], level, levels);
  }
  return probability / total;
}

}  // namespace heed::reference
