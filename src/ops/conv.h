// Convolution and pooling over sequences and images, channels last.
//
// Causal convolution of width K: padding_left = K - 1, padding_right = 0.
#pragma once

#include <array>

#include "tensor/tensor.h"

namespace heed {

struct Conv1dOptions {
  int64_t stride = 1;
  int64_t dilation = 1;  // distance of neighbouring taps
  int64_t padding_left = 0;
  int64_t padding_right = 0;
  int64_t groups = 1;  // each sees C / groups inputs and makes O / groups outputs
};
// x [B,T,C], weight [O,K,C/groups], bias [O] f32 or undefined -> [B,T',O]
Tensor conv1d(const Tensor& x, const Tensor& weight, const Tensor& bias,
              const Conv1dOptions& options = {});

// Pairs are {height, width}.
struct Conv2dOptions {
  std::array<int64_t, 2> stride = {1, 1};
  std::array<int64_t, 2> dilation = {1, 1};
  std::array<int64_t, 2> padding_begin = {0, 0};  // top, left
  std::array<int64_t, 2> padding_end = {0, 0};    // bottom, right
  int64_t groups = 1;
};
// x [B,H,W,C], weight [O,KH,KW,C/groups], bias [O] f32 or undefined -> [B,H',W',O]
Tensor conv2d(const Tensor& x, const Tensor& weight, const Tensor& bias,
              const Conv2dOptions& options = {});

struct Pool2dOptions {
  std::array<int64_t, 2> window = {2, 2};
  std::array<int64_t, 2> stride = {0, 0};  // 0: as the window
  std::array<int64_t, 2> padding_begin = {0, 0};
  std::array<int64_t, 2> padding_end = {0, 0};
  bool count_padding = false;  // averages divide by the whole window also at the edge
};
// x [B,H,W,C] -> [B,H',W',C]. Padding is never the largest element; of equal ones the first gets
// the gradient.
Tensor max_pool2d(const Tensor& x, const Pool2dOptions& options = {});
Tensor avg_pool2d(const Tensor& x, const Pool2dOptions& options = {});

}  // namespace heed
