// The maths of ops that move elements, obvious and slow; the tests compare with it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace heed::reference {

using Dims = std::vector<int64_t>;

inline int64_t size_of_dims(const Dims& dims) {
  int64_t size = 1;
  for (const int64_t extent : dims) {
    size *= extent;
  }
  return size;
}

// The indices of element `flat` of a dense array.
inline Dims indices_of(const Dims& dims, int64_t flat) {
  Dims at(dims.size());
  for (size_t a = dims.size(); a-- > 0;) {
    at[a] = flat % dims[a];
    flat /= dims[a];
  }
  return at;
}

inline int64_t flat_of(const Dims& dims, const Dims& at) {
  int64_t flat = 0;
  for (size_t a = 0; a < dims.size(); ++a) {
    flat = flat * dims[a] + at[a];
  }
  return flat;
}

// An array of shape `to` whose element at i is x's element at place(i); `other` where place gives
// no indices.
template <typename T, typename Place>
std::vector<T> rearrange(std::span<const T> x, const Dims& from, const Dims& to, const Place& place,
                         T other = T(0)) {
  std::vector<T> y;
  for (int64_t i = 0; i < size_of_dims(to); ++i) {
    const Dims at = place(indices_of(to, i));
    y.push_back(at.size() == from.size() ? x[static_cast<size_t>(flat_of(from, at))] : other);
  }
  return y;
}

// Positions of the k best elements of a line, best first; of equal ones the first.
template <typename T>
std::vector<int64_t> best_positions(const std::vector<T>& line, int64_t k, bool largest) {
  std::vector<int64_t> order(line.size());
  for (size_t i = 0; i < order.size(); ++i) {
    order[i] = static_cast<int64_t>(i);
  }
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    const T& left = line[static_cast<size_t>(a)];
    const T& right = line[static_cast<size_t>(b)];
    return largest ? left > right : left < right;
  });
  order.resize(static_cast<size_t>(k));
  return order;
}

}  // namespace heed::reference
