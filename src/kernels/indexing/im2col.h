// Convolution as a matrix product: every position of the output becomes a row that holds the inputs
// under its window, [kernel_h, kernel_w, channels], zeros where the window hangs over the edge.
#pragma once

#include <cstdint>

#include "kernels/copy.h"

namespace heed::kernels {

// The windows of an operation over x [batch, height, width, channels]; row r of the output is
// position (r / (out_h * out_w), r / out_w % out_h, r % out_w).
struct Windows {
  int64_t batch;
  int64_t height;
  int64_t width;
  int64_t channels;
  int64_t kernel_h;
  int64_t kernel_w;
  int64_t out_h;
  int64_t out_w;
  int64_t stride_h = 1;
  int64_t stride_w = 1;
  int64_t dilation_h = 1;
  int64_t dilation_w = 1;
  int64_t pad_top = 0;
  int64_t pad_left = 0;

  int64_t rows() const { return batch * out_h * out_w; }
  int64_t taps() const { return kernel_h * kernel_w; }
};

// Which part of the rows and channels a block of columns stands for.
struct WindowBlock {
  Windows windows;
  int64_t row = 0;      // first
  int64_t rows = 0;     // how many
  int64_t channel = 0;  // first, for grouped convolution
  int64_t channels = 0;
};

struct Im2col {
  WindowBlock block;
  DType dtype;
  const void* x;
  void* columns;  // [rows, kernel_h, kernel_w, channels]
};
void im2col(const Im2col& args);

// dx += what im2col's transpose makes of the columns' gradient. Each element of dx sums its windows
// in order, so the result does not depend on the number of threads.
struct Col2im {
  WindowBlock block;
  In columns;
  Out dx;
};
void col2im(const Col2im& args);

}  // namespace heed::kernels
