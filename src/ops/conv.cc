#include "ops/conv.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <type_traits>

#include "autograd/tape.h"
#include "kernels/cpu.h"
#include "kernels/indexing/im2col.h"
#include "kernels/matmul/matmul.h"
#include "kernels/reduction/column_sum.h"
#include "kernels/reduction/pool.h"
#include "ops/check.h"
#include "ops/operands.h"

namespace heed {
namespace {

const OpName kConv1d{"conv1d"};
const OpName kConv2d{"conv2d"};
const OpName kMaxPool2d{"max_pool2d"};
const OpName kAvgPool2d{"avg_pool2d"};

// Columns are made block by block. Every block packs the weights anew, so few and large ones.
constexpr int64_t kColumnBytes = int64_t{16} << 20;

// `data` moved on by some elements.
template <typename Place>
Place offset(Place place, int64_t elements) {
  using Byte = std::conditional_t<std::is_const_v<std::remove_pointer_t<decltype(place.data)>>,
                                  const std::byte, std::byte>;
  place.data =
      static_cast<Byte*>(place.data) + elements * static_cast<int64_t>(size_of(place.dtype));
  return place;
}

// Where a window of `taps` fits into `extent`.
int64_t positions(const char* op, const char* axis, int64_t extent, int64_t taps, int64_t stride,
                  int64_t dilation) {
  const int64_t span = (taps - 1) * dilation + 1;
  check(extent >= span, "[{}] {} is {} with padding, expected at least the window's {}", op, axis,
        extent, span);
  return (extent - span) / stride + 1;
}

void check_pairs(const char* op, const Conv2dOptions& options) {
  for (size_t i = 0; i < 2; ++i) {
    check(options.stride[i] >= 1 && options.dilation[i] >= 1,
          "[{}] stride is {}, dilation is {}, expected 1 or more", op, options.stride[i],
          options.dilation[i]);
    check(options.padding_begin[i] >= 0 && options.padding_end[i] >= 0,
          "[{}] padding is {} and {}, expected 0 or more", op, options.padding_begin[i],
          options.padding_end[i]);
  }
}

// The windows of kernel [kernel_h, kernel_w] over x [B,H,W,C].
kernels::Windows windows_of(const char* op, const Tensor& x, std::array<int64_t, 2> kernel,
                            const Conv2dOptions& options) {
  check_pairs(op, options);
  const int64_t height = x.dim(1) + options.padding_begin[0] + options.padding_end[0];
  const int64_t width = x.dim(2) + options.padding_begin[1] + options.padding_end[1];
  return {
      .batch = x.dim(0),
      .height = x.dim(1),
      .width = x.dim(2),
      .channels = x.dim(3),
      .kernel_h = kernel[0],
      .kernel_w = kernel[1],
      .out_h = positions(op, "height", height, kernel[0], options.stride[0], options.dilation[0]),
      .out_w = positions(op, op == kConv1d.name() ? "length" : "width", width, kernel[1],
                         options.stride[1], options.dilation[1]),
      .stride_h = options.stride[0],
      .stride_w = options.stride[1],
      .dilation_h = options.dilation[0],
      .dilation_w = options.dilation[1],
      .pad_top = options.padding_begin[0],
      .pad_left = options.padding_begin[1]};
}

// One convolution: sizes that both directions need.
struct Conv {
  kernels::Windows windows;
  int64_t groups;
  int64_t outputs;  // of all groups
  DType dtype;

  int64_t group_inputs() const { return windows.channels / groups; }
  int64_t group_outputs() const { return outputs / groups; }
  int64_t columns() const { return windows.taps() * group_inputs(); }
  // Taps of one element each, in place: x itself is the matrix of columns.
  bool pointwise() const {
    return windows.taps() == 1 && windows.stride_h == 1 && windows.stride_w == 1 &&
           windows.out_h == windows.height && windows.out_w == windows.width && groups == 1;
  }
  // Rows of columns that overlap in memory: in a padded sequence, row t is the K * C elements from
  // t * C on. Only our own kernels take such an operand, which they read from a third of the
  // memory; each sequence is a product of its own then, so it must be long.
  bool overlapping() const {
    constexpr int64_t kLong = 256;
    return dtype == DType::bf16 && max_isa() >= Isa::bf16 && groups == 1 && windows.height == 1 &&
           windows.kernel_h == 1 && windows.kernel_w > 1 && windows.stride_w == 1 &&
           windows.dilation_w == 1 && windows.out_w >= kLong;
  }
  int64_t blocks() const {
    const int64_t bytes = windows.rows() * columns() * static_cast<int64_t>(size_of(dtype));
    return pointwise() ? 1
                       : std::clamp<int64_t>((bytes + kColumnBytes - 1) / kColumnBytes, 1,
                                             std::max<int64_t>(windows.rows(), 1));
  }
  kernels::WindowBlock block(int64_t index, int64_t group) const {
    const int64_t first = windows.rows() * index / blocks();
    return {.windows = windows,
            .row = first,
            .rows = windows.rows() * (index + 1) / blocks() - first,
            .channel = group * group_inputs(),
            .channels = group_inputs()};
  }
  Tensor column_buffer() const {
    const int64_t most = (windows.rows() + blocks() - 1) / blocks();
    return Tensor::empty({most, columns()}, dtype);
  }
};

// The columns of a block, in `buffer` unless x already holds them.
kernels::In columns_of(const Conv& conv, const kernels::WindowBlock& block, const Tensor& x,
                       const Tensor& buffer) {
  if (conv.pointwise()) {
    return in(x);
  }
  kernels::im2col({.block = block, .dtype = conv.dtype, .x = x.raw(), .columns = buffer.raw()});
  return in(buffer);
}

// A stride of one over long sequences, without columns.
void forward_overlapping(const Conv& conv, const Tensor& x, const Tensor& weight,
                         const Tensor& bias, const Tensor& y) {
  kernels::Windows padding = conv.windows;  // windows of one tap: x with its padding
  padding.kernel_w = 1;
  padding.out_w = conv.windows.out_w + conv.windows.kernel_w - 1;
  const int64_t channels = padding.channels;
  const Tensor padded = Tensor::empty({padding.rows(), channels}, conv.dtype);  // [B*(T'+K-1),C]
  kernels::im2col({.block = {.windows = padding, .rows = padding.rows(), .channels = channels},
                   .dtype = conv.dtype,
                   .x = x.raw(),
                   .columns = padded.raw()});
  for (int64_t b = 0; b < padding.batch; ++b) {
    kernels::matmul({.m = conv.windows.out_w,
                     .n = conv.outputs,
                     .k = conv.columns(),
                     .a = offset(in(padded), b * padding.out_w * channels),
                     .b = in(weight),
                     .c = offset(out(y), b * conv.windows.out_w * conv.outputs),
                     .transpose_b = true,
                     .lda = channels,
                     .bias = bias.defined() ? bias.data<float>() : nullptr});
  }
}

void forward(const Conv& conv, const Tensor& x, const Tensor& weight, const Tensor& bias,
             const Tensor& y) {
  if (conv.overlapping()) {
    forward_overlapping(conv, x, weight, bias, y);
    return;
  }
  const Tensor buffer = conv.pointwise() ? Tensor() : conv.column_buffer();  // [rows, taps*C/G]
  const int64_t outputs = conv.group_outputs();
  for (int64_t group = 0; group < conv.groups; ++group) {
    for (int64_t index = 0; index < conv.blocks(); ++index) {
      const kernels::WindowBlock block = conv.block(index, group);
      const int64_t at = group * outputs;
      kernels::matmul({.m = block.rows,
                       .n = outputs,
                       .k = conv.columns(),
                       .a = columns_of(conv, block, x, buffer),
                       .b = offset(in(weight), at * conv.columns()),
                       .c = offset(out(y), block.row * conv.outputs + at),
                       .transpose_b = true,
                       .ldc = conv.outputs,
                       .bias = bias.defined() ? bias.data<float>() + at : nullptr});
    }
  }
}

// dW = dy^T columns, summed over the blocks.
void weight_backward(const Conv& conv, const Tensor& x, const Tensor& weight, const Tensor& dy) {
  const GradTarget target = grad_target(weight);
  // Blocks add up in f32, also where the gradient itself is kept in less.
  const bool direct = target.grad.dtype() == DType::f32 || conv.blocks() == 1;
  const Tensor sum = direct ? target.grad : Tensor::empty(weight.shape());
  const Tensor buffer = conv.pointwise() ? Tensor() : conv.column_buffer();  // [rows, taps*C/G]
  const int64_t outputs = conv.group_outputs();
  for (int64_t group = 0; group < conv.groups; ++group) {
    for (int64_t index = 0; index < conv.blocks(); ++index) {
      const kernels::WindowBlock block = conv.block(index, group);
      kernels::matmul({.m = outputs,
                       .n = conv.columns(),
                       .k = block.rows,
                       .a = offset(in(dy), block.row * conv.outputs + group * outputs),
                       .b = columns_of(conv, block, x, buffer),
                       .c = offset(out(sum), group * outputs * conv.columns()),
                       .transpose_a = true,
                       .lda = conv.outputs,
                       .accumulate = index > 0 || (direct && target.accumulate)});
    }
  }
  if (!direct) {
    kernels::copy({.n = sum.size(),
                   .from = in(sum),
                   .to = out(target.grad),
                   .accumulate = target.accumulate});
  }
}

// d_columns = dy W; dx sums them back to where they came from.
void input_backward(const Conv& conv, const Tensor& x, const Tensor& weight, const Tensor& dy) {
  const GradTarget target = grad_target(x);
  const bool pointwise = conv.pointwise();
  if (!pointwise && !target.accumulate) {
    std::memset(target.grad.raw(), 0, target.grad.bytes());
  }
  const Tensor buffer = pointwise ? Tensor() : conv.column_buffer();  // [rows, taps*C/G]
  const int64_t outputs = conv.group_outputs();
  for (int64_t group = 0; group < conv.groups; ++group) {
    for (int64_t index = 0; index < conv.blocks(); ++index) {
      const kernels::WindowBlock block = conv.block(index, group);
      kernels::matmul({.m = block.rows,
                       .n = conv.columns(),
                       .k = outputs,
                       .a = offset(in(dy), block.row * conv.outputs + group * outputs),
                       .b = offset(in(weight), group * outputs * conv.columns()),
                       .c = out(pointwise ? target.grad : buffer),
                       .lda = conv.outputs,
                       .accumulate = pointwise && target.accumulate});
      if (!pointwise) {
        kernels::col2im({.block = block, .columns = in(buffer), .dx = out(target.grad)});
      }
    }
  }
}

// dW and dx above; db = sum over all positions of dy.
void backward(const Conv& conv, const Tensor& x, const Tensor& weight, const Tensor& bias,
              const Tensor& dy) {
  if (needs_grad(weight)) {
    weight_backward(conv, x, weight, dy);
  }
  if (needs_grad(bias)) {
    const GradTarget target = grad_target(bias);
    kernels::column_sum({.rows = conv.windows.rows(),
                         .columns = conv.outputs,
                         .x = in(dy),
                         .out = out(target.grad),
                         .accumulate = target.accumulate});
  }
  if (needs_grad(x)) {
    input_backward(conv, x, weight, dy);
  }
}

// x [B,H,W,C], weight [O,KH,KW,C/groups] -> [B,H',W',O]
Tensor convolve(const OpName& name, const Tensor& x, const Tensor& weight, const Tensor& bias,
                const Conv2dOptions& options) {
  check_vector(name.name(), "bias", bias, weight.dim(0));
  const Conv conv{.windows = windows_of(name.name(), x, {weight.dim(1), weight.dim(2)}, options),
                  .groups = options.groups,
                  .outputs = weight.dim(0),
                  .dtype = x.dtype()};
  Tensor y =
      Tensor::empty({conv.windows.batch, conv.windows.out_h, conv.windows.out_w, conv.outputs},
                    x.dtype());  // [B,H',W',O]
  forward(conv, x, weight, bias, y);
  if (Tape* tape = Tape::recording({&x, &weight, &bias})) {
    // dW needs the values of x alone, dx those of the weight alone.
    const Tensor kept_x = needs_grad(weight) ? x : x.gradient_handle();
    const Tensor kept_weight = needs_grad(x) ? weight : weight.gradient_handle();
    tape->record(name, y, [=, bias = bias.gradient_handle()](const Tensor& dy) {
      backward(conv, kept_x, kept_weight, bias, dy);
    });
  }
  return y;
}

void check_operands(const char* op, const Tensor& x, const Tensor& weight, int64_t groups,
                    const char* layout) {
  check_float(op, "x", x);
  check_dtype(op, "weight", weight, x.dtype());
  const int rank = std::string_view(op) == "conv1d" ? 3 : 4;
  check(x.rank() == rank && weight.rank() == rank, "[{}] x is {}, weight is {}: expected {}", op,
        x.shape(), weight.shape(), layout);
  check(groups >= 1 && x.dim(-1) % groups == 0 && weight.dim(0) % groups == 0 &&
            weight.dim(-1) == x.dim(-1) / groups,
        "[{}] x is {}, weight is {}, groups is {}: expected {}", op, x.shape(), weight.shape(),
        groups, layout);
  check(weight.shape().product(1, rank - 1) > 0, "[{}] weight is {}, expected a window", op,
        weight.shape());
}

}  // namespace

Tensor conv1d(const Tensor& x, const Tensor& weight, const Tensor& bias,
              const Conv1dOptions& options) {
  check_operands("conv1d", x, weight, options.groups, "x [B,T,C] and weight [O,K,C/groups]");
  const Tensor image = x.reshape({x.dim(0), 1, x.dim(1), x.dim(2)});  // [B,1,T,C]
  const Tensor window = weight.reshape({weight.dim(0), 1, weight.dim(1), weight.dim(2)});
  const Tensor y = convolve(kConv1d, image, window, bias,
                            {.stride = {1, options.stride},
                             .dilation = {1, options.dilation},
                             .padding_begin = {0, options.padding_left},
                             .padding_end = {0, options.padding_right},
                             .groups = options.groups});  // [B,1,T',O]
  return y.reshape({y.dim(0), y.dim(2), y.dim(3)});       // [B,T',O]
}

Tensor conv2d(const Tensor& x, const Tensor& weight, const Tensor& bias,
              const Conv2dOptions& options) {
  check_operands("conv2d", x, weight, options.groups, "x [B,H,W,C] and weight [O,KH,KW,C/groups]");
  return convolve(kConv2d, x, weight, bias, options);
}

namespace {

Tensor pool2d(const OpName& name, const Tensor& x, const Pool2dOptions& options) {
  const char* op = name.name();
  check_float(op, "x", x);
  check(x.rank() == 4, "[{}] x is {}, expected [B,H,W,C]", op, x.shape());
  Conv2dOptions steps{.stride = options.stride,
                      .padding_begin = options.padding_begin,
                      .padding_end = options.padding_end};
  for (size_t i = 0; i < 2; ++i) {
    check(options.window[i] >= 1 && options.padding_begin[i] < options.window[i] &&
              options.padding_end[i] < options.window[i],
          "[{}] window is {}, padding is {} and {}: expected a window larger than its padding", op,
          options.window[i], options.padding_begin[i], options.padding_end[i]);
    steps.stride[i] = options.stride[i] == 0 ? options.window[i] : options.stride[i];
  }
  const kernels::Windows windows = windows_of(op, x, options.window, steps);
  Tensor y = Tensor::empty({windows.batch, windows.out_h, windows.out_w, windows.channels},
                           x.dtype());  // [B,H',W',C]
  Tape* tape = Tape::recording({&x});
  const bool largest = &name == &kMaxPool2d;
  const bool count_padding = options.count_padding;
  const Tensor tap = tape != nullptr && largest ? Tensor::empty(y.shape(), DType::i32) : Tensor();
  kernels::pool({.windows = windows,
                 .largest = largest,
                 .count_padding = count_padding,
                 .dtype = x.dtype(),
                 .x = x.raw(),
                 .y = y.raw(),
                 .tap = tap.defined() ? tap.data<int32_t>() : nullptr});
  if (tape != nullptr) {
    // Largest: dx collects dy where x was the largest; average: dx = sum of dy / window size.
    tape->record(name, y, [=, x = x.gradient_handle()](const Tensor& dy) {
      const GradTarget target = grad_target(x);
      kernels::pool_backward({.windows = windows,
                              .largest = largest,
                              .count_padding = count_padding,
                              .dy = in(dy),
                              .tap = tap.defined() ? tap.data<int32_t>() : nullptr,
                              .dx = out(target.grad),
                              .accumulate = target.accumulate});
    });
  }
  return y;
}

}  // namespace

Tensor max_pool2d(const Tensor& x, const Pool2dOptions& options) {
  return pool2d(kMaxPool2d, x, options);
}

Tensor avg_pool2d(const Tensor& x, const Pool2dOptions& options) {
  return pool2d(kAvgPool2d, x, options);
}

}  // namespace heed
