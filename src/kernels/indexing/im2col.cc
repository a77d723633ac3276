#include "kernels/indexing/im2col.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/indexing/im2col.cc"
#include <hwy/foreach_target.h>
// Must come after foreach_target.h.
#include <hwy/highway.h>

#include "base/parallel.h"
#include "base/scratch.h"
#include "kernels/reduction/row_sum-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed {
namespace HWY_NAMESPACE {

// The index of the window whose tap `tap` lies on `position`, or -1.
HWY_INLINE int64_t window_of(int64_t position, int64_t tap_offset, int64_t stride, int64_t count) {
  const int64_t start = position - tap_offset;
  return start >= 0 && start % stride == 0 && start / stride < count ? start / stride : -1;
}

// Columns that lie on input position (b, h, w), as pointers in the order of the taps.
template <typename From>
HWY_INLINE int64_t columns_on(const kernels::Col2im& args, int64_t position, const From** found) {
  const kernels::WindowBlock& block = args.block;
  const kernels::Windows& win = block.windows;
  const int64_t w = position % win.width;
  const int64_t h = position / win.width % win.height;
  const int64_t b = position / win.width / win.height;
  int64_t count = 0;
  for (int64_t kh = 0; kh < win.kernel_h; ++kh) {
    const int64_t oh = window_of(h + win.pad_top, kh * win.dilation_h, win.stride_h, win.out_h);
    if (oh < 0) {
      continue;
    }
    for (int64_t kw = 0; kw < win.kernel_w; ++kw) {
      const int64_t ow = window_of(w + win.pad_left, kw * win.dilation_w, win.stride_w, win.out_w);
      const int64_t row = (b * win.out_h + oh) * win.out_w + ow - block.row;
      if (ow >= 0 && row >= 0 && row < block.rows) {
        const int64_t tap = kh * win.kernel_w + kw;
        found[count++] =
            static_cast<const From*>(args.columns.data) + (row * win.taps() + tap) * block.channels;
      }
    }
  }
  return count;
}

// Input positions [begin, end).
void col2im_positions(const kernels::Col2im& args, int64_t begin, int64_t end) {
  const kernels::WindowBlock& block = args.block;
  thread_local Scratch scratch;
  const auto** found = scratch.get<const void*>(static_cast<size_t>(block.windows.taps()));
  with_types(args.columns.dtype, args.dx.dtype, [&](auto* from, auto* to) {
    using From = std::remove_pointer_t<decltype(from)>;
    using To = std::remove_pointer_t<decltype(to)>;
    const auto** columns = reinterpret_cast<const From**>(found);
    for (int64_t position = begin; position < end; ++position) {
      const int64_t count = columns_on<From>(args, position, columns);
      if (count > 0) {
        To* dx = static_cast<To*>(args.dx.data) + position * block.windows.channels + block.channel;
        sum_rows<From>(
            count, [&](int64_t i) { return WeightedRow<From>{columns[i]}; },
            static_cast<size_t>(block.channels), dx, true);
      }
    }
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace heed
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed {
HWY_EXPORT(col2im_positions);

namespace kernels {
namespace {

// The taps [first, last) of a window that begins at `start` which lie inside [0, extent).
struct Inside {
  int64_t first;
  int64_t last;
};
Inside inside(int64_t start, int64_t dilation, int64_t taps, int64_t extent) {
  const auto up = [dilation](int64_t distance) {
    return distance <= 0 ? 0 : (distance + dilation - 1) / dilation;
  };
  const int64_t first = std::min(taps, up(-start));
  return {first, std::clamp(up(extent - start), first, taps)};
}

// One line of a window: kernel_w taps at row `x` of the input (null: outside).
void put_line(const Im2col& args, const std::byte* x, int64_t start, std::byte* to) {
  const WindowBlock& block = args.block;
  const Windows& win = block.windows;
  const auto size = static_cast<int64_t>(size_of(args.dtype));
  const int64_t tap = block.channels * size;
  if (x == nullptr) {
    std::memset(to, 0, static_cast<size_t>(win.kernel_w * tap));
    return;
  }
  const Inside taps = inside(start, win.dilation_w, win.kernel_w, win.width);
  std::memset(to, 0, static_cast<size_t>(taps.first * tap));
  const bool dense = win.dilation_w == 1 && block.channels == win.channels;
  // Without gaps between the taps the whole line is one copy.
  const int64_t run = dense ? taps.last - taps.first : 1;
  for (int64_t k = taps.first; k < taps.last; k += run) {
    const int64_t w = start + k * win.dilation_w;
    std::memcpy(to + k * tap, x + (w * win.channels + block.channel) * size,
                static_cast<size_t>(run * tap));
  }
  std::memset(to + taps.last * tap, 0, static_cast<size_t>((win.kernel_w - taps.last) * tap));
}

}  // namespace

void im2col(const Im2col& args) {
  const WindowBlock& block = args.block;
  const Windows& win = block.windows;
  const auto size = static_cast<int64_t>(size_of(args.dtype));
  const int64_t line = win.kernel_w * block.channels * size;
  parallel_rows(block.rows, win.taps() * block.channels, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const int64_t row = block.row + r;
      const int64_t b = row / (win.out_h * win.out_w);
      const int64_t top = row / win.out_w % win.out_h * win.stride_h - win.pad_top;
      const int64_t left = row % win.out_w * win.stride_w - win.pad_left;
      auto* to = static_cast<std::byte*>(args.columns) + r * win.kernel_h * line;
      for (int64_t kh = 0; kh < win.kernel_h; ++kh) {
        const int64_t h = top + kh * win.dilation_h;
        const bool outside = h < 0 || h >= win.height;
        const auto* x = outside ? nullptr
                                : static_cast<const std::byte*>(args.x) +
                                      (b * win.height + h) * win.width * win.channels * size;
        put_line(args, x, left, to + kh * line);
      }
    }
  });
}

void col2im(const Col2im& args) {
  const WindowBlock& block = args.block;
  const Windows& win = block.windows;
  if (block.rows == 0) {
    return;
  }
  // The input positions under the block: all of its batches, or less where it lies in one line of
  // one of them, as every block of a long sequence does.
  const int64_t image = win.out_h * win.out_w;
  const int64_t last = block.row + block.rows - 1;
  int64_t first_position = block.row / image * win.height * win.width;
  int64_t positions = (last / image + 1) * win.height * win.width - first_position;
  if (win.height == 1 && block.row / image == last / image) {
    const int64_t left = block.row % win.out_w * win.stride_w - win.pad_left;
    const int64_t right =
        last % win.out_w * win.stride_w - win.pad_left + (win.kernel_w - 1) * win.dilation_w + 1;
    const int64_t begin = std::clamp<int64_t>(left, 0, win.width);
    first_position += begin;
    positions = std::clamp<int64_t>(right, begin, win.width) - begin;
  }
  parallel_rows(positions, win.taps() * block.channels, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(col2im_positions)(args, first_position + begin, first_position + end);
  });
}

}  // namespace kernels
}  // namespace heed
#endif  // HWY_ONCE
