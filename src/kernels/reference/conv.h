// Convolution and pooling, channels last, obvious and slow; the tests compare with it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/indexing/im2col.h"

namespace heed::reference {

// Calls fn(b, oh, ow, kh, kw, position in x) for every tap of every window that lies inside x.
template <typename Fn>
void for_every_tap(const kernels::Windows& win, const Fn& fn) {
  for (int64_t row = 0; row < win.rows(); ++row) {
    const int64_t b = row / (win.out_h * win.out_w);
    const int64_t oh = row / win.out_w % win.out_h;
    const int64_t ow = row % win.out_w;
    for (int64_t kh = 0; kh < win.kernel_h; ++kh) {
      for (int64_t kw = 0; kw < win.kernel_w; ++kw) {
        const int64_t h = oh * win.stride_h + kh * win.dilation_h - win.pad_top;
        const int64_t w = ow * win.stride_w + kw * win.dilation_w - win.pad_left;
        if (h >= 0 && h < win.height && w >= 0 && w < win.width) {
          fn(row, kh * win.kernel_w + kw, (b * win.height + h) * win.width + w);
        }
      }
    }
  }
}

// y[row, o] = bias[o] + sum over taps and channels of the group of x * weight[o, tap, channel].
template <typename T>
std::vector<T> convolution(const kernels::Windows& win, int64_t outputs, int64_t groups,
                           std::span<const T> x, std::span<const T> weight,
                           std::span<const T> bias) {
  const int64_t group_in = win.channels / groups;
  const int64_t group_out = outputs / groups;
  std::vector<T> y(static_cast<size_t>(win.rows() * outputs), T(0));
  for_every_tap(win, [&](int64_t row, int64_t tap, int64_t position) {
    for (int64_t o = 0; o < outputs; ++o) {
      for (int64_t c = 0; c < group_in; ++c) {
        const int64_t channel = o / group_out * group_in + c;
        y[static_cast<size_t>(row * outputs + o)] +=
            x[static_cast<size_t>(position * win.channels + channel)] *
            weight[static_cast<size_t>((o * win.taps() + tap) * group_in + c)];
      }
    }
  });
  for (size_t i = 0; i < y.size() && !bias.empty(); ++i) {
    y[i] += bias[i % static_cast<size_t>(outputs)];
  }
  return y;
}

template <typename T>
std::vector<T> pooling(const kernels::Windows& win, bool largest, bool count_padding,
                       std::span<const T> x) {
  std::vector<std::vector<T>> under(static_cast<size_t>(win.rows() * win.channels));
  for_every_tap(win, [&](int64_t row, int64_t, int64_t position) {
    for (int64_t c = 0; c < win.channels; ++c) {
      under[static_cast<size_t>(row * win.channels + c)].push_back(
          x[static_cast<size_t>(position * win.channels + c)]);
    }
  });
  std::vector<T> y;
  for (const std::vector<T>& values : under) {
    T sum = T(0);
    for (const T& value : values) {
      sum += value;
    }
    const T count = count_padding ? T(win.taps()) : T(values.size());
    y.push_back(largest ? *std::max_element(values.begin(), values.end()) : sum / count);
  }
  return y;
}

}  // namespace heed::reference
