// The maths of kernels/elementwise/pointwise.h, obvious and slow.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/elementwise/pointwise.h"

namespace heed::reference {

template <typename T>
T unary(kernels::Unary function, T x) {
  using kernels::Unary;
  switch (function) {
    case Unary::exp:
      return std::exp(x);
    case Unary::log:
      return std::log(x);
    case Unary::sqrt:
      return std::sqrt(x);
    case Unary::rsqrt:
      return 1 / std::sqrt(x);
    case Unary::square:
      return x * x;
    case Unary::abs:
      return std::abs(x);
    case Unary::neg:
      return -x;
    case Unary::sin:
      return std::sin(x);
    case Unary::cos:
      return std::cos(x);
    case Unary::erf:
      return std::erf(x);
    case Unary::reciprocal:
      return 1 / x;
  }
  return x;
}

// f'(x)
template <typename T>
T unary_derivative(kernels::Unary function, T x) {
  using kernels::Unary;
  switch (function) {
    case Unary::exp:
      return std::exp(x);
    case Unary::log:
      return 1 / x;
    case Unary::sqrt:
      return 1 / (2 * std::sqrt(x));
    case Unary::rsqrt:
      return -1 / (2 * x * std::sqrt(x));
    case Unary::square:
      return 2 * x;
    case Unary::abs:
      return x > 0 ? 1 : x < 0 ? -1 : 0;
    case Unary::neg:
      return -1;
    case Unary::sin:
      return std::cos(x);
    case Unary::cos:
      return -std::sin(x);
    case Unary::erf:
      return 2 / std::sqrt(T(M_PI)) * std::exp(-x * x);
    case Unary::reciprocal:
      return -1 / (x * x);
  }
  return x;
}

template <typename T>
T binary(kernels::Binary function, T a, T b) {
  using kernels::Binary;
  switch (function) {
    case Binary::add:
      return a + b;
    case Binary::sub:
      return a - b;
    case Binary::mul:
      return a * b;
    case Binary::div:
      return a / b;
    case Binary::maximum:
      return a < b ? b : a;
    case Binary::minimum:
      return a > b ? b : a;
  }
  return a;
}

// b repeats over a.
template <typename T>
std::vector<T> binary(kernels::Binary function, std::span<const T> a, std::span<const T> b) {
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
