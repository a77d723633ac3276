// The maths of every kernel, templated on the scalar, obvious and slow. The tests run it in double:
// kernels are compared with it, and gradients with differences of it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/elementwise/dropout.h"
#include "kernels/reference/pointwise.h"

namespace heed::reference {

template <typename T>
using Values = std::vector<T>;

// Extents and layout of a product C[m,n] = op(A) op(B).
struct Product {
  int64_t m, n, k;
  bool transpose_a = false;
  bool transpose_b = false;
};

template <typename T>
Values<T> matmul(const Product& p, std::span<const T> a, std::span<const T> b) {
  Values<T> c(static_cast<size_t>(p.m * p.n), T(0));
  for (int64_t i = 0; i < p.m; ++i) {
    for (int64_t j = 0; j < p.n; ++j) {
      for (int64_t l = 0; l < p.k; ++l) {
        c[i * p.n + j] += a[p.transpose_a ? l * p.m + i : i * p.k + l] *
                          b[p.transpose_b ? j * p.k + l : l * p.n + j];
      }
    }
  }
  return c;
}

// x [rows, in], weight [out, in], bias [out] or empty.
template <typename T>
Values<T> linear(std::span<const T> x, std::span<const T> weight, std::span<const T> bias,
                 int64_t in, Activation activation) {
  const int64_t rows = static_cast<int64_t>(x.size()) / in;
  const int64_t out = static_cast<int64_t>(weight.size()) / in;
  Values<T> y = matmul<T>({.m = rows, .n = out, .k = in, .transpose_b = true}, x, weight);
  for (int64_t i = 0; i < rows * out; ++i) {
    y[i] = unary(activation, y[i] + (bias.empty() ? T(0) : bias[i % out]));
  }
  return y;
}

// Rows of `width`; gamma and beta may be empty. RMS norm leaves the mean where it is.
template <typename T>
Values<T> norm(std::span<const T> x, std::span<const T> gamma, std::span<const T> beta,
               int64_t width, T epsilon, bool rms) {
  Values<T> y(x.size());
  for (size_t row = 0; row < x.size(); row += width) {
    T mean = 0;
    T variance = 0;
    for (int64_t i = 0; i < width && !rms; ++i) {
      mean += x[row + i] / T(width);
    }
    for (int64_t i = 0; i < width; ++i) {
      variance += (x[row + i] - mean) * (x[row + i] - mean) / T(width);
    }
    for (int64_t i = 0; i < width; ++i) {
      y[row + i] =
          (x[row + i] - mean) / std::sqrt(variance + epsilon) * (gamma.empty() ? T(1) : gamma[i]) +
          (beta.empty() ? T(0) : beta[i]);
    }
  }
  return y;
}

// Rows of `width`, each starting a new group of random numbers when `padded` is wider.
template <typename T>
Values<T> dropout(std::span<const T> x, const kernels::Dropout& dropout, int64_t width,
                  int64_t padded) {
  Values<T> y(x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    const bool keep = dropout.keeps(i / width * padded + i % width);
    y[i] = keep ? x[i] / (1 - T(dropout.probability)) : T(0);
  }
  return y;
}

}  // namespace heed::reference
