// The maths of kernels/reduction/softmax.h, obvious and slow.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace heed::reference {

// x [outer, n, inner], along n.
template <typename T>
std::vector<T> softmax(std::span<const T> x, int64_t n, int64_t inner, bool log) {
  std::vector<T> y(x.size());
  const int64_t columns = n == 0 ? 0 : static_cast<int64_t>(x.size()) / n;
  for (int64_t column = 0; column < columns; ++column) {
    const auto at = [&](int64_t i) {
      return static_cast<size_t>((column / inner * n + i) * inner + column % inner);
    };
    T most = -std::numeric_limits<T>::infinity();
    for (int64_t i = 0; i < n; ++i) {
      most = std::max(most, x[at(i)]);
    }
    const bool dead = std::isinf(most) && most < 0;
    T sum = 0;
    for (int64_t i = 0; i < n && !dead; ++i) {
      sum += std::exp(x[at(i)] - most);
    }
    for (int64_t i = 0; i < n; ++i) {
      const T logarithm = dead ? most : x[at(i)] - most - std::log(sum);
      y[at(i)] = log ? logarithm : std::exp(logarithm);
    }
  }
  return y;
}

}  // namespace heed::reference
