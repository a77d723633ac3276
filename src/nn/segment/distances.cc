#include "nn/segment/distances.h"

#include "nn/sinusoid.h"

namespace heed {
namespace {

constexpr int64_t kAhead = 1024;  // distances computed ahead

Tensor falling_distances(int64_t count, int64_t width) {
  Tensor table = Tensor::empty({count, width});
  for (int64_t c = 0; c < width; ++c) {
    const Sinusoid column = interleaved_sinusoid(c, width);
    for (int64_t row = 0; row < count; ++row) {
      table.data<float>()[row * width + c] = static_cast<float>(column(count - 1 - row));
    }
  }
  return table;
}

}  // namespace

Distances::Distances(int64_t width) : width_(width), table_(falling_distances(kAhead, width)) {}

Tensor Distances::last(int64_t count) const {
  return count <= kAhead ? table_.rows(kAhead - count, kAhead) : falling_distances(count, width_);
}

}  // namespace heed
