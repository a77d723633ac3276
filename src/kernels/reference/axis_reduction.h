// The maths of kernels/reduction/axis_reduction.h, obvious and slow.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace heed::reference {

// x [outer, n, inner] -> [outer, inner]
template <typename T>
std::vector<T> axis_sum(std::span<const T> x, int64_t n, int64_t inner) {
  std::vector<T> y(x.size() / static_cast<size_t>(n), T(0));
  for (size_t i = 0; i < x.size(); ++i) {
    const int64_t at = static_cast<int64_t>(i);
    y[static_cast<size_t>(at / (n * inner) * inner + at % inner)] += x[i];
  }
  return y;
}

// Positions of the first maxima along n.
template <typename T>
std::vector<int64_t> axis_argmax(std::span<const T> x, int64_t n, int64_t inner) {
  const int64_t columns = static_cast<int64_t>(x.size()) / n;
  std::vector<int64_t> index(static_cast<size_t>(columns), 0);
  for (int64_t column = 0; column < columns; ++column) {
    const auto value = [&](int64_t i) {
      return x[static_cast<size_t>((column / inner * n + i) * inner + column % inner)];
    };
    int64_t& best = index[static_cast<size_t>(column)];
    for (int64_t i = 1; i < n; ++i) {
      best = value(i) > value(best) ? i : best;
    }
  }
  return index;
}

template <typename T>
std::vector<T> axis_max(std::span<const T> x, int64_t n, int64_t inner) {
  const std::vector<int64_t> index = axis_argmax(x, n, inner);
  std::vector<T> y;
  for (int64_t column = 0; column < static_cast<int64_t>(index.size()); ++column) {
    const int64_t row = column / inner * n + index[static_cast<size_t>(column)];
    y.push_back(x[static_cast<size_t>(row * inner + column % inner)]);
  }
  return y;
}

}  // namespace heed::reference
