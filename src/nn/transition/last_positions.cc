#include "nn/transition/last_positions.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "nn/select_rows.h"
#include "ops/shape/shape.h"

namespace heed {

Tensor LastPositions::before(const Tensor& x, int64_t count, std::span<const int64_t> came) {
  const int64_t rows = x.dim(0);
  const int64_t width = x.dim(2);
  if (!last_.defined()) {
    last_ = Tensor::zeros({rows, count * width}, x.dtype());
  }
  window_ = concat({last_.reshape({rows, count, width}), x}, 1);  // [R,count+T,C]
  came_.assign(came.begin(), came.end());
  came_.resize(static_cast<size_t>(rows), x.dim(1));
  keep(came_);
  return window_;
}

void LastPositions::keep(std::span<const int64_t> counts) {
  const int64_t rows = window_.dim(0);
  const int64_t width = window_.dim(2);
  const int64_t past = last_.dim(1) / width;
  const size_t bytes = last_.bytes() / static_cast<size_t>(rows);
  last_ = Tensor::empty(last_.shape(), last_.dtype());
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t begin = counts[static_cast<size_t>(row)];
    const Tensor own = window_.rows(row, row + 1).reshape({window_.dim(1), width});
    std::memcpy(last_.rows(row, row + 1).raw(), own.rows(begin, begin + past).raw(), bytes);
  }
}

void LastPositions::select(std::span<const int64_t> rows) {
  window_ = Tensor();
  last_ = select_rows(last_, rows);
}

void LastPositions::join(const LastPositions& more) {
  window_ = Tensor();
  if (!last_.defined() || !more.last_.defined()) {
    last_ = last_.defined() ? last_ : more.last_;
  } else {
    last_ = concat({last_, more.last_}, 0);
  }
}

void LastPositions::roll_back(std::span<const int64_t> dropped) {
  check(window_.defined(),
        "[convolution] only what came last is taken back, before rows leave or come");
  std::vector<int64_t> counts = came_;
  for (size_t row = 0; row < std::min(counts.size(), dropped.size()); ++row) {
    check(dropped[row] <= came_[row],
          "[convolution] row {} is to lose {} positions, expected at most the {} that came last",
          row, dropped[row], came_[row]);
    counts[row] -= dropped[row];
  }
  keep(counts);
}

}  // namespace heed
