// The maths of additive attention, for the tests: see reference.h.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

namespace heed::reference {

template <typename T>
struct AdditiveInputs {
  int64_t batch, queries, keys, width, value_width;
  std::vector<int64_t> lengths = {};  // empty: all keys count
  std::span<const T> query, key, v, values;
};

template <typename T>
struct AdditiveOutputs {
  std::vector<T> context, weights;
};

template <typename T>
AdditiveOutputs<T> additive_attention(const AdditiveInputs<T>& in) {
  AdditiveOutputs<T> out;
  out.context.assign(in.batch * in.queries * in.value_width, T(0));
  out.weights.assign(in.batch * in.queries * in.keys, T(0));
  for (int64_t row = 0; row < in.batch * in.queries; ++row) {
    const int64_t b = row / in.queries;
    const int64_t length = in.lengths.empty() ? in.keys : in.lengths[b];
    T total = 0;
    for (int64_t j = 0; j < length; ++j) {
      T score = 0;
      for (int64_t a = 0; a < in.width; ++a) {
        score += in.v[a] *
                 std::tanh(in.query[row * in.width + a] + in.key[(b * in.keys + j) * in.width + a]);
      }
      out.weights[row * in.keys + j] = std::exp(score);
      total += std::exp(score);
    }
    for (int64_t j = 0; j < length; ++j) {
      T& weight = out.weights[row * in.keys + j];
      weight /= total;
      for (int64_t c = 0; c < in.value_width; ++c) {
        out.context[row * in.value_width + c] +=
            weight * in.values[(b * in.keys + j) * in.value_width + c];
      }
    }
  }
  return out;
}

}  // namespace heed::reference
