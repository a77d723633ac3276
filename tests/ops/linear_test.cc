#include "ops/linear.h"

#include <gtest/gtest.h>

#include "autograd/tape.h"
#include "base/error.h"
#include "kernels/reference/reference.h"
#include "support/error_of.h"
#include "support/op_case.h"

namespace heed::testing {
namespace {

OpCase linear_case(std::string name, Shape x, int64_t out, bool bias, Activation activation) {
  const int64_t in = x[-1];
  std::vector<Input> inputs{{.shape = x}, {.shape = {out, in}, .scale = 0.3}};
  if (bias) {
    inputs.push_back({.shape = {out}, .kind = Kind::parameter});
  }
  Shape y = x;
  y.set(x.rank() - 1, out);
  return {.op = "linear",
          .name = std::move(name),
          .inputs = inputs,
          .run =
              [=](const std::vector<Tensor>& t) {
                return std::vector<Tensor>{linear(t[0], t[1], bias ? t[2] : Tensor(), activation)};
              },
          .reference =
              [=](const std::vector<Array>& a) {
                return std::vector<Array>{
                    {y, reference::linear<double>(a[0].values, a[1].values,
                                                  bias ? a[2].values : std::vector<double>{}, in,
                                                  activation)}};
              }};
}

OpCase matmul_case(std::string name, Shape a, Shape b, Shape c, MatmulOptions options) {
  return {.op = "matmul",
          .name = std::move(name),
          .inputs = {{.shape = a}, {.shape = b}},
          .run =
              [=](const std::vector<Tensor>& t) {
                return std::vector<Tensor>{matmul(t[0], t[1], options)};
              },
          .reference =
              [=](const std::vector<Array>& in) {
                const reference::Product product{.m = c[-2],
                                                 .n = c[-1],
                                                 .k = a[options.transpose_a ? -2 : -1],
                                                 .transpose_a = options.transpose_a,
                                                 .transpose_b = options.transpose_b};
                Array result{c, {}};
                const int64_t step_a = product.m * product.k;
                const int64_t step_b = b.rank() == a.rank() ? product.k * product.n : 0;
                for (int64_t i = 0; i < c.size() / (product.m * product.n); ++i) {
                  const std::span<const double> left(in[0].values.data() + i * step_a,
                                                     size_t(step_a));
                  const std::span<const double> right(in[1].values.data() + i * step_b,
                                                      size_t(product.k * product.n));
                  const auto values = reference::matmul<double>(product, left, right);
                  result.values.insert(result.values.end(), values.begin(), values.end());
                }
                return std::vector<Array>{result};
              }};
}

const bool kRegistered = add_cases({
    linear_case("plain", {3, 5, 7}, 9, false, Activation::none),
    linear_case("bias", {6, 16}, 33, true, Activation::none),
    linear_case("relu", {4, 8}, 12, true, Activation::relu),
    linear_case("gelu", {4, 8}, 12, true, Activation::gelu),
    linear_case("gelu_tanh", {4, 8}, 12, true, Activation::gelu_tanh),
    linear_case("silu", {4, 8}, 12, true, Activation::silu),
    linear_case("one_row", {1, 40}, 17, true, Activation::none),
    linear_case("many_rows", {70, 24}, 18, true, Activation::gelu_tanh),
    matmul_case("plain", {5, 6}, {6, 7}, {5, 7}, {}),
    matmul_case("batched", {2, 3, 5, 6}, {2, 3, 6, 7}, {2, 3, 5, 7}, {}),
    matmul_case("shared_b", {2, 3, 6}, {6, 7}, {2, 3, 7}, {}),
    matmul_case("shared_b_transposed", {2, 3, 6}, {7, 6}, {2, 3, 7}, {.transpose_b = true}),
    matmul_case("transpose_a", {2, 6, 5}, {2, 6, 7}, {2, 5, 7}, {.transpose_a = true}),
    matmul_case("transpose_b", {2, 5, 6}, {2, 7, 6}, {2, 5, 7}, {.transpose_b = true}),
    matmul_case("transpose_both", {2, 6, 5}, {2, 7, 6}, {2, 5, 7},
                {.transpose_a = true, .transpose_b = true}),
});

TEST(Linear, NamesBothShapes) {
  const Tensor x = Tensor::zeros({2, 3});
  const Tensor w = Tensor::zeros({5, 4});
  EXPECT_EQ(error_of([&] { linear(x, w, Tensor()); }),
            "[linear] x is [2,3], weight is [5,4]: expected x [...,in] and weight [out,in]");
  EXPECT_EQ(error_of([&] {
              linear(x, Tensor::zeros({5, 3}, DType::bf16), Tensor());
            }),
            "[linear] weight is bf16 [5,3], expected f32");
  EXPECT_EQ(error_of([&] {
              linear(x, Tensor::zeros({5, 3}), Tensor::zeros({4}));
            }),
            "[linear] bias is f32 [4], expected [5]");
}

// No inputs to sum over: the bias alone, and gradients that are there and empty.
TEST(Linear, EmptySum) {
  Tape tape;
  const TapeScope scope(tape);
  Tensor w = Tensor::zeros({3, 0});
  tape.watch(w);
  const std::vector<float> bias{1, -2, 3};
  const Tensor y = linear(Tensor::zeros({2, 0}), w, Tensor::from(bias, {3}), Activation::relu);
  EXPECT_EQ(y.to_vector(), (std::vector<float>{1, 0, 3, 1, 0, 3}));
  tape.backward(y, Tensor::full({2, 3}, 1.0F));
  EXPECT_EQ(w.slot()->grad.size(), 0);
}

TEST(Matmul, NamesBothShapes) {
  EXPECT_EQ(error_of([&] {
              matmul(Tensor::zeros({2, 3}), Tensor::zeros({4, 5}));
            }),
            "[matmul] a is [2,3], b is [4,5]: inner extents differ");
}

}  // namespace
}  // namespace heed::testing
