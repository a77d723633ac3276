#include "kernels/reduction/pool.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "base/parallel.h"
#include "base/scratch.h"

namespace heed::kernels {
namespace {

template <typename Fn>
void with_float(DType dtype, const Fn& fn) {
  if (dtype == DType::f32) {
    fn(static_cast<float*>(nullptr));
  } else {
    fn(static_cast<bf16*>(nullptr));
  }
}

// Calls fn(tap, position) for the taps of window `row` that lie inside x, in order.
template <typename Fn>
void for_taps(const Windows& win, int64_t row, const Fn& fn) {
  const int64_t b = row / (win.out_h * win.out_w);
  const int64_t top = row / win.out_w % win.out_h * win.stride_h - win.pad_top;
  const int64_t left = row % win.out_w * win.stride_w - win.pad_left;
  for (int64_t tap = 0; tap < win.taps(); ++tap) {
    const int64_t h = top + tap / win.kernel_w * win.dilation_h;
    const int64_t w = left + tap % win.kernel_w * win.dilation_w;
    if (h >= 0 && h < win.height && w >= 0 && w < win.width) {
      fn(tap, (b * win.height + h) * win.width + w);
    }
  }
}

// Calls fn(tap, row) for the windows that lie on `position`, in the order of their taps.
template <typename Fn>
void for_windows(const Windows& win, int64_t position, const Fn& fn) {
  const int64_t b = position / (win.height * win.width);
  const int64_t h = position / win.width % win.height + win.pad_top;
  const int64_t w = position % win.width + win.pad_left;
  for (int64_t tap = 0; tap < win.taps(); ++tap) {
    const int64_t top = h - tap / win.kernel_w * win.dilation_h;
    const int64_t left = w - tap % win.kernel_w * win.dilation_w;
    if (top >= 0 && left >= 0 && top % win.stride_h == 0 && left % win.stride_w == 0 &&
        top / win.stride_h < win.out_h && left / win.stride_w < win.out_w) {
      fn(tap, (b * win.out_h + top / win.stride_h) * win.out_w + left / win.stride_w);
    }
  }
}

float average_weight(const Windows& win, bool count_padding, int64_t row) {
  int64_t count = 0;
  for_taps(win, row, [&](int64_t, int64_t) { ++count; });
  return 1.0F / static_cast<float>(count_padding ? win.taps() : std::max<int64_t>(count, 1));
}

template <typename T>
void max_row(const Pool& args, int64_t row, float* best, int32_t* best_tap) {
  const int64_t channels = args.windows.channels;
  std::fill_n(best, channels, -std::numeric_limits<float>::infinity());
  std::fill_n(best_tap, channels, -1);
  for_taps(args.windows, row, [&](int64_t tap, int64_t position) {
    const T* x = static_cast<const T*>(args.x) + position * channels;
    for (int64_t c = 0; c < channels; ++c) {
      const float value = static_cast<float>(x[c]);
      if (value > best[c] || best_tap[c] < 0 || std::isnan(value)) {
        best[c] = value;
        best_tap[c] = static_cast<int32_t>(tap);
      }
    }
  });
  if (args.tap != nullptr) {
    std::copy_n(best_tap, channels, args.tap + row * channels);
  }
}

template <typename T>
void average_row(const Pool& args, int64_t row, float* total) {
  const int64_t channels = args.windows.channels;
  std::fill_n(total, channels, 0.0F);
  for_taps(args.windows, row, [&](int64_t, int64_t position) {
    const T* x = static_cast<const T*>(args.x) + position * channels;
    for (int64_t c = 0; c < channels; ++c) {
      total[c] += static_cast<float>(x[c]);
    }
  });
  const float weight = average_weight(args.windows, args.count_padding, row);
  for (int64_t c = 0; c < channels; ++c) {
    total[c] *= weight;
  }
}

template <typename From>
void backward_position(const PoolBackward& args, int64_t position, float* total) {
  const int64_t channels = args.windows.channels;
  for_windows(args.windows, position, [&](int64_t tap, int64_t row) {
    const From* dy = static_cast<const From*>(args.dy.data) + row * channels;
    if (args.largest) {
      const int32_t* chosen = args.tap + row * channels;
      for (int64_t c = 0; c < channels; ++c) {
        total[c] += chosen[c] == tap ? static_cast<float>(dy[c]) : 0.0F;
      }
    } else {
      const float weight = average_weight(args.windows, args.count_padding, row);
      for (int64_t c = 0; c < channels; ++c) {
        total[c] += weight * static_cast<float>(dy[c]);
      }
    }
  });
}

}  // namespace

void pool(const Pool& args) {
  const Windows& win = args.windows;
  with_float(args.dtype, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    parallel_rows(win.rows(), win.taps() * win.channels, [&](int64_t begin, int64_t end) {
      thread_local Scratch floats;
      thread_local Scratch taps;
      float* total = floats.get<float>(static_cast<size_t>(win.channels));
      int32_t* tap = taps.get<int32_t>(static_cast<size_t>(win.channels));
      for (int64_t row = begin; row < end; ++row) {
        args.largest ? max_row<T>(args, row, total, tap) : average_row<T>(args, row, total);
        std::transform(total, total + win.channels, static_cast<T*>(args.y) + row * win.channels,
                       [](float value) { return static_cast<T>(value); });
      }
    });
  });
}

void pool_backward(const PoolBackward& args) {
  const Windows& win = args.windows;
  const int64_t positions = win.batch * win.height * win.width;
  const auto run = [&](auto* from, auto* to) {
    using From = std::remove_pointer_t<decltype(from)>;
    using To = std::remove_pointer_t<decltype(to)>;
    parallel_rows(positions, win.taps() * win.channels, [&](int64_t begin, int64_t end) {
      thread_local Scratch floats;
      float* total = floats.get<float>(static_cast<size_t>(win.channels));
      for (int64_t position = begin; position < end; ++position) {
        To* dx = static_cast<To*>(args.dx.data) + position * win.channels;
        for (int64_t c = 0; c < win.channels; ++c) {
          total[c] = args.accumulate ? static_cast<float>(dx[c]) : 0.0F;
        }
        backward_position<From>(args, position, total);
        std::transform(total, total + win.channels, dx,
                       [](float value) { return static_cast<To>(value); });
      }
    });
  };
  with_float(args.dy.dtype,
             [&](auto* from) { with_float(args.dx.dtype, [&](auto* to) { run(from, to); }); });
}

}  // namespace heed::kernels
