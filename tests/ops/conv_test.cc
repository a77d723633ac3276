#include "ops/conv.h"

#include <gtest/gtest.h>

#include "autograd/tape.h"
#include "base/error.h"
#include "base/parallel.h"
#include "base/random.h"
#include "kernels/reference/conv.h"
#include "support/error_of.h"
#include "support/op_case.h"

namespace heed::testing {
namespace {

using Floats = std::vector<float>;

kernels::Windows windows_of(const Shape& x, std::array<int64_t, 2> kernel,
                            const Conv2dOptions& options) {
  const auto places = [&](int axis) {
    const auto i = static_cast<size_t>(axis - 1);
    const int64_t extent = x[axis] + options.padding_begin[i] + options.padding_end[i];
    return (extent - (kernel[i] - 1) * options.dilation[i] - 1) / options.stride[i] + 1;
  };
  return {.batch = x[0],
          .height = x[1],
          .width = x[2],
          .channels = x[3],
          .kernel_h = kernel[0],
          .kernel_w = kernel[1],
          .out_h = places(1),
          .out_w = places(2),
          .stride_h = options.stride[0],
          .stride_w = options.stride[1],
          .dilation_h = options.dilation[0],
          .dilation_w = options.dilation[1],
          .pad_top = options.padding_begin[0],
          .pad_left = options.padding_begin[1]};
}

struct ConvCase {
  std::string name;
  Shape x;
  Shape weight;
  bool bias = true;
};

std::vector<Input> conv_inputs(const ConvCase& c) {
  std::vector<Input> inputs{{.shape = c.x}, {.shape = c.weight, .scale = 0.5}};
  if (c.bias) {
    inputs.push_back({.shape = {c.weight[0]}, .kind = Kind::parameter});
  }
  return inputs;
}

std::vector<double> expected(const kernels::Windows& windows, int64_t outputs, int64_t groups,
                             const std::vector<Array>& a) {
  const std::vector<double> none;
  return reference::convolution<double>(windows, outputs, groups, a[0].values, a[1].values,
                                        a.size() > 2 ? a[2].values : none);
}

OpCase conv1d_case(const ConvCase& c, Conv1dOptions o) {
  const kernels::Windows windows = windows_of({c.x[0], 1, c.x[1], c.x[2]}, {1, c.weight[1]},
                                              {.stride = {1, o.stride},
                                               .dilation = {1, o.dilation},
                                               .padding_begin = {0, o.padding_left},
                                               .padding_end = {0, o.padding_right}});
  return {.op = "conv1d",
          .name = c.name,
          .inputs = conv_inputs(c),
          .run = [=](const std::vector<Tensor>& t) -> std::vector<Tensor> {
            return {conv1d(t[0], t[1], c.bias ? t[2] : Tensor(), o)};
          },
          .reference = [=](const std::vector<Array>& a) -> std::vector<Array> {
            return {{{c.x[0], windows.out_w, c.weight[0]},
                     expected(windows, c.weight[0], o.groups, a)}};
          }};
}

OpCase conv2d_case(const ConvCase& c, Conv2dOptions o) {
  const kernels::Windows windows = windows_of(c.x, {c.weight[1], c.weight[2]}, o);
  return {.op = "conv2d",
          .name = c.name,
          .inputs = conv_inputs(c),
          .run = [=](const std::vector<Tensor>& t) -> std::vector<Tensor> {
            return {conv2d(t[0], t[1], c.bias ? t[2] : Tensor(), o)};
          },
          .reference = [=](const std::vector<Array>& a) -> std::vector<Array> {
            return {{{c.x[0], windows.out_h, windows.out_w, c.weight[0]},
                     expected(windows, c.weight[0], o.groups, a)}};
          }};
}

OpCase pool_case(std::string name, Shape x, bool largest, Pool2dOptions o) {
  Conv2dOptions steps{
      .stride = o.stride, .padding_begin = o.padding_begin, .padding_end = o.padding_end};
  steps.stride = o.stride[0] == 0 ? o.window : o.stride;
  const kernels::Windows windows = windows_of(x, o.window, steps);
  std::vector<double> values;  // 0.5 apart in a shuffled order: far from a change of the largest
  for (int64_t i = 0; i < x.size(); ++i) {
    values.push_back(0.5 * static_cast<double>(i * 89 % 211) - 50.0);
  }
  return {.op = largest ? "max_pool2d" : "avg_pool2d",
          .name = std::move(name),
          .inputs = {{.shape = x, .values = values}},
          .run = [=](const std::vector<Tensor>& t) -> std::vector<Tensor> {
            return {largest ? max_pool2d(t[0], o) : avg_pool2d(t[0], o)};
          },
          .reference = [=](const std::vector<Array>& a) -> std::vector<Array> {
            return {{{x[0], windows.out_h, windows.out_w, x[3]},
                     reference::pooling<double>(windows, largest, o.count_padding, a[0].values)}};
          }};
}

const bool kRegistered = add_cases({
    conv1d_case({"plain", {2, 7, 3}, {5, 3, 3}}, {}),
    conv1d_case({"causal", {2, 9, 4}, {6, 3, 4}}, {.padding_left = 2}),
    conv1d_case({"same", {1, 17, 3}, {4, 5, 3}, false}, {.padding_left = 2, .padding_right = 2}),
    conv1d_case({"stride", {2, 10, 3}, {4, 3, 3}}, {.stride = 2, .padding_left = 1}),
    conv1d_case({"stride_past_window", {1, 11, 2}, {3, 2, 2}}, {.stride = 3}),
    conv1d_case({"dilation", {2, 9, 3}, {4, 3, 3}}, {.dilation = 2, .padding_left = 4}),
    conv1d_case({"all_padding", {1, 2, 3}, {4, 2, 3}}, {.padding_left = 4, .padding_right = 3}),
    conv1d_case({"groups", {2, 6, 6}, {4, 3, 3}}, {.padding_left = 2, .groups = 2}),
    conv1d_case({"depthwise", {2, 7, 9}, {9, 3, 1}}, {.padding_left = 2, .groups = 9}),
    conv1d_case({"depthwise_wider", {1, 6, 4}, {8, 3, 1}, false}, {.groups = 4}),
    conv1d_case({"pointwise", {2, 5, 7}, {6, 1, 7}}, {}),
    conv1d_case({"one_output", {1, 3, 5}, {4, 3, 5}}, {}),
    conv1d_case({"long", {2, 258, 1}, {2, 3, 1}}, {.padding_left = 1, .padding_right = 1}),
    conv2d_case({"plain", {2, 4, 5, 3}, {4, 3, 2, 3}}, {}),
    conv2d_case({"same", {1, 5, 4, 2}, {3, 3, 3, 2}},
                {.padding_begin = {1, 1}, .padding_end = {1, 1}}),
    conv2d_case({"patches", {2, 4, 6, 3}, {7, 2, 3, 3}}, {.stride = {2, 3}}),
    conv2d_case({"everything", {2, 7, 6, 4}, {4, 2, 3, 2}, false}, {.stride = {2, 1},
                                                                    .dilation = {2, 1},
                                                                    .padding_begin = {1, 2},
                                                                    .padding_end = {0, 1},
                                                                    .groups = 2}),
    conv2d_case({"pointwise", {2, 3, 3, 5}, {4, 1, 1, 5}}, {}),
    conv2d_case({"pointwise_stride", {1, 4, 4, 3}, {4, 1, 1, 3}}, {.stride = {2, 2}}),
    pool_case("plain", {2, 4, 6, 3}, true, {}),
    pool_case("overlapping", {1, 5, 5, 4}, true, {.window = {3, 3}, .stride = {1, 1}}),
    pool_case("padded", {1, 5, 6, 2}, true,
              {.window = {3, 3}, .stride = {2, 2}, .padding_begin = {1, 1}, .padding_end = {1, 1}}),
    pool_case("plain", {2, 4, 6, 3}, false, {}),
    pool_case("padded", {1, 5, 6, 2}, false,
              {.window = {3, 3}, .stride = {2, 2}, .padding_begin = {1, 1}, .padding_end = {1, 1}}),
    pool_case("padding_counts", {1, 5, 4, 2}, false,
              {.window = {3, 2},
               .stride = {1, 1},
               .padding_begin = {1, 1},
               .padding_end = {1, 0},
               .count_padding = true}),
});

// 1*1 + 10*2 + 100*3 and so on.
TEST(Conv, KnownSequences) {
  const Tensor x = Tensor::from(Floats{1, 2, 3, 4}, {1, 4, 1});
  const Tensor w = Tensor::from(Floats{1, 10, 100}, {1, 3, 1});
  EXPECT_EQ(conv1d(x, w, Tensor()).to_vector(), (Floats{321, 432}));
  EXPECT_EQ(conv1d(x, w, Tensor(), {.padding_left = 2}).to_vector(), (Floats{100, 210, 321, 432}));
  EXPECT_EQ(conv1d(x, w, Tensor(), {.padding_left = 1, .padding_right = 1}).to_vector(),
            (Floats{210, 321, 432, 43}));
  EXPECT_EQ(
      conv1d(x, w, Tensor::from(Floats{0.5F}, {1}), {.stride = 2, .padding_right = 1}).to_vector(),
      (Floats{321.5F, 43.5F}));
  EXPECT_EQ(conv1d(x, w, Tensor(), {.dilation = 2, .padding_left = 4}).to_vector(),
            (Floats{100, 200, 310, 420}));
}

// Each channel with its own window.
TEST(Conv, KnownDepthwise) {
  const Tensor x = Tensor::from(Floats{1, 10, 2, 20, 3, 30}, {1, 3, 2});
  const Tensor w = Tensor::from(Floats{1, 2, 3, 4}, {2, 2, 1});
  EXPECT_EQ(conv1d(x, w, Tensor(), {.groups = 2}).to_vector(), (Floats{5, 110, 8, 180}));
}

// The example of the ONNX operator Conv: ones over 0 to 24.
TEST(Conv, KnownImage) {
  Floats pixels;
  for (int i = 0; i < 25; ++i) {
    pixels.push_back(static_cast<float>(i));
  }
  const Tensor x = Tensor::from(pixels, {1, 5, 5, 1});
  const Tensor w = Tensor::full({1, 3, 3, 1}, 1.0F);
  EXPECT_EQ(conv2d(x, w, Tensor()).to_vector(), (Floats{54, 63, 72, 99, 108, 117, 144, 153, 162}));
  EXPECT_EQ(
      conv2d(x, w, Tensor(), {.stride = {2, 2}, .padding_begin = {1, 1}, .padding_end = {1, 1}})
          .to_vector(),
      (Floats{12, 27, 24, 63, 108, 81, 72, 117, 84}));
}

TEST(Pool, KnownImage) {
  const Tensor x = Tensor::from(Floats{1, 2, 3, 4, 5, 6, 7, 8, 9}, {1, 3, 3, 1});
  EXPECT_EQ(max_pool2d(x, {.stride = {1, 1}}).to_vector(), (Floats{5, 6, 8, 9}));
  EXPECT_EQ(avg_pool2d(x, {.stride = {1, 1}}).to_vector(), (Floats{3, 4, 6, 7}));
  const Pool2dOptions edge{.stride = {3, 3}, .padding_begin = {1, 1}, .padding_end = {1, 1}};
  EXPECT_EQ(avg_pool2d(x, edge).to_vector(), (Floats{1, 3, 7, 9}));
}

// Gradients of a convolution whose columns need several blocks, on one thread and on several.
TEST(Conv, LongSequencesOnAnyNumberOfThreads) {
  const int before = num_threads();
  const int64_t length = 30000;
  const RandomStream stream{5, 2};
  Floats values;
  for (uint64_t i = 0; i < static_cast<uint64_t>(length) * 64; ++i) {
    values.push_back(stream.normal(i));
  }
  Floats w_values(values.begin(), values.begin() + 4 * 3 * 64);
  std::vector<Floats> dx;
  for (const int threads : {1, 3}) {
    set_num_threads(threads);
    Tensor x = Tensor::from(values, {1, length, 64});
    Tensor w = Tensor::from(w_values, {4, 3, 64});
    Tape tape;
    const TapeScope scope(tape);
    tape.watch(x);
    tape.watch(w);
    const Tensor y = conv1d(x, w, Tensor(), {.padding_left = 2});
    tape.backward(y, Tensor::full(y.shape(), 1.0F));
    dx.push_back(x.slot()->grad.to_vector());
    // dy = 1: dw[o, k, c] is the sum of x[t, c] over t < length - (2 - k), and dx[t, c] the sum of
    // all taps but at the end.
    double sum = 0;
    double size = 0;
    for (int64_t t = 0; t < length - 1; ++t) {
      sum += values[static_cast<size_t>(t * 64 + 5)];
      size += std::abs(values[static_cast<size_t>(t * 64 + 5)]);
    }
    EXPECT_NEAR(w.slot()->grad.to_vector()[3 * 64 + 64 + 5], sum, 1e-6 * size);
    for (const int64_t t : {int64_t{0}, length / 3, length / 2 - 1, length / 2, length - 1}) {
      double taps = 0;
      for (int64_t i = 0; i < 4 * 3; ++i) {
        const bool reached = t + 2 - i % 3 < length;
        taps += reached ? w_values[static_cast<size_t>(i * 64 + 5)] : 0.0F;
      }
      EXPECT_NEAR(dx.back()[static_cast<size_t>(t * 64 + 5)], taps, 1e-5) << t;
    }
  }
  set_num_threads(before);
}

TEST(Conv, NamesBothValues) {
  const Tensor x = Tensor::zeros({2, 5, 4});
  EXPECT_EQ(error_of([&] {
              conv1d(x, Tensor::zeros({6, 3, 3}), Tensor());
            }),
            "[conv1d] x is [2,5,4], weight is [6,3,3], groups is 1: expected x [B,T,C] and weight "
            "[O,K,C/groups]");
  EXPECT_EQ(error_of([&] {
              conv1d(x, Tensor::zeros({6, 6, 4}), Tensor());
            }),
            "[conv1d] length is 5 with padding, expected at least the window's 6");
  EXPECT_EQ(error_of([&] {
              conv1d(x, Tensor::zeros({6, 3, 4}), Tensor(), {.stride = 0});
            }),
            "[conv1d] stride is 0, dilation is 1, expected 1 or more");
  EXPECT_EQ(error_of([&] {
              conv1d(x, Tensor::zeros({6, 3, 4}), Tensor::zeros({4}));
            }),
            "[conv1d] bias is f32 [4], expected [6]");
  EXPECT_EQ(error_of([&] {
              conv2d(x, Tensor::zeros({6, 3, 4}), Tensor());
            }),
            "[conv2d] x is [2,5,4], weight is [6,3,4]: expected x [B,H,W,C] and weight "
            "[O,KH,KW,C/groups]");
  EXPECT_EQ(error_of([&] { max_pool2d(x); }), "[max_pool2d] x is [2,5,4], expected [B,H,W,C]");
  EXPECT_EQ(
      error_of([&] {
        avg_pool2d(Tensor::zeros({1, 4, 4, 1}), {.padding_begin = {2, 0}});
      }),
      "[avg_pool2d] window is 2, padding is 2 and 0: expected a window larger than its padding");
}

}  // namespace
}  // namespace heed::testing
