// The maths of kernels/elementwise/pointwise.h, obvious and slow. The functions themselves are in
// their table, kernels/elementwise/functions-inl.h.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/elementwise/functions.h"

namespace heed::reference {

template <typename T>
T unary(Unary function, T x) {
  return kernels::row_of(function).value(x);
}

template <typename T>
T binary(Binary function, T a, T b) {
  return kernels::row_of(function).value(a, b);
}

// b repeats over a.
template <typename T>
std::vector<T> binary(Binary function, std::span<const T> a, std::span<const T> b) {
  std::vector<T> y(a.size());
  for (size_t i = 0; i < a.size(); ++i) {
    y[i] = binary(function, a[i], b[i % b.size()]);
  }
  return y;
}

// mask and b repeat over a.
template <typename T>
std::vector<T> select(std::span<const T> mask, std::span<const T> a, std::span<const T> b) {
  std::vector<T> y(a.size());
  for (size_t i = 0; i < a.size(); ++i) {
    y[i] = mask[i % mask.size()] != 0 ? a[i] : b[i % b.size()];
  }
  return y;
}

}  // namespace heed::reference
