// The maths of LSTM and GRU layers, step by step, for the tests: see reference.h.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

namespace heed::reference {

template <typename T>
struct RecurrentInputs {
  int64_t batch, time, inputs, width;
  bool reverse = false;
  std::vector<int64_t> lengths = {};  // empty: all rows are `time` long
  std::span<const T> x, weight_ih, weight_hh;
  std::span<const T> bias_ih = {}, bias_hh = {}, h0 = {}, c0 = {};  // empty: zeros
};

template <typename T>
struct RecurrentOutputs {
  std::vector<T> outputs, h, c;
};

// sum over i of weight[row, i] v[i], plus bias[row]
template <typename T>
T gate_sum(std::span<const T> weight, std::span<const T> bias, int64_t row, std::span<const T> v) {
  T total = bias.empty() ? T(0) : bias[row];
  for (size_t i = 0; i < v.size(); ++i) {
    total += weight[row * v.size() + i] * v[i];
  }
  return total;
}

// Calls cell(x_t, h, c), which updates the state, for every row and step.
template <typename T, typename Cell>
RecurrentOutputs<T> run_cells(const RecurrentInputs<T>& in, const Cell& cell) {
  const int64_t H = in.width;
  RecurrentOutputs<T> out;
  out.outputs.assign(in.batch * in.time * H, T(0));
  for (int64_t b = 0; b < in.batch; ++b) {
    std::vector<T> h(H, T(0));
    std::vector<T> c(H, T(0));
    for (int64_t j = 0; j < H; ++j) {
      h[j] = in.h0.empty() ? T(0) : in.h0[b * H + j];
      c[j] = in.c0.empty() ? T(0) : in.c0[b * H + j];
    }
    const int64_t length = in.lengths.empty() ? in.time : in.lengths[b];
    for (int64_t s = 0; s < length; ++s) {
      const int64_t t = in.reverse ? length - 1 - s : s;
      cell(in.x.subspan((b * in.time + t) * in.inputs, in.inputs), h, c);
      std::copy(h.begin(), h.end(), out.outputs.begin() + (b * in.time + t) * H);
    }
    out.h.insert(out.h.end(), h.begin(), h.end());
    out.c.insert(out.c.end(), c.begin(), c.end());
  }
  return out;
}

template <typename T>
T logistic(T x) {
  return 1 / (1 + std::exp(-x));
}

template <typename T>
RecurrentOutputs<T> lstm(const RecurrentInputs<T>& in) {
  const int64_t H = in.width;
  return run_cells<T>(in, [&](std::span<const T> x, std::vector<T>& h, std::vector<T>& c) {
    const std::vector<T> before = h;
    for (int64_t j = 0; j < H; ++j) {
      const auto total = [&](int64_t gate) {
        return gate_sum<T>(in.weight_ih, in.bias_ih, gate * H + j, x) +
               gate_sum<T>(in.weight_hh, in.bias_hh, gate * H + j, before);
      };
      c[j] = logistic(total(1)) * c[j] + logistic(total(0)) * std::tanh(total(2));
      h[j] = logistic(total(3)) * std::tanh(c[j]);
    }
  });
}

template <typename T>
RecurrentOutputs<T> gru(const RecurrentInputs<T>& in) {
  const int64_t H = in.width;
  return run_cells<T>(in, [&](std::span<const T> x, std::vector<T>& h, std::vector<T>&) {
    const std::vector<T> before = h;
    for (int64_t j = 0; j < H; ++j) {
      const auto input = [&](int64_t gate) {
        return gate_sum<T>(in.weight_ih, in.bias_ih, gate * H + j, x);
      };
      const auto hidden = [&](int64_t gate) {
        return gate_sum<T>(in.weight_hh, in.bias_hh, gate * H + j, before);
      };
      const T r = logistic(input(0) + hidden(0));
      const T z = logistic(input(1) + hidden(1));
      const T n = std::tanh(input(2) + r * hidden(2));
      h[j] = (1 - z) * n + z * before[j];
    }
  });
}

}  // namespace heed::reference
