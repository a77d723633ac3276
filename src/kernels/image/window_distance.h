// How much every window of an image differs from one that is known in part.
#pragma once

#include <cstdint>

namespace heed::kernels {

// A known pixel of the window: where it lies from the window's first one, in the image's memory.
struct WindowTap {
  int64_t offset;
  float weight;
  float value;
};

struct WindowDistance {
  const float* image;
  int64_t stride;         // of a row
  int64_t rows, columns;  // of places where a window may begin
  const WindowTap* taps;
  int64_t count;
  float* distance;  // [rows, columns]: sum over taps of weight * (image - value)^2, in their order
};

// In one thread: whoever needs many distances has several windows at once.
void window_distance(const WindowDistance& args);

}  // namespace heed::kernels
