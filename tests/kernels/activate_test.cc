// Activations and their derivatives against the reference, at every instruction set.
#include "kernels/elementwise/activate.h"

#include <gtest/gtest.h>

#include "kernels/reference/reference.h"
#include "support/kernel_buffer.h"

namespace heed::testing {
namespace {

constexpr Activation kActivations[] = {
    Activation::none,    Activation::relu, Activation::gelu,      Activation::gelu_tanh,
    Activation::sigmoid, Activation::tanh, Activation::silu,      Activation::softplus,
    Activation::mish,    Activation::elu,  Activation::leaky_relu};

// Off the kink at zero.
Buffer argument(int64_t n, DType dtype) {
  Buffer x = Buffer(n, dtype, 3).fill(101, 2.0);
  for (int64_t i = 0; i < n; ++i) {
    x.set(i, std::copysign(std::abs(x.get(i)) + 0.01, x.get(i)));
  }
  return x;
}

double slope(Activation activation, double x) {
  const double h = 1e-4;
  const auto f = [&](double at) { return reference::activate(activation, at); };
  return (f(x - 2 * h) - 8 * f(x - h) + 8 * f(x + h) - f(x + 2 * h)) / (12 * h);
}

TEST(Activate, Values) {
  for_each_isa([] {
    for (const Activation activation : kActivations) {
      for (const DType dtype : kFloatTypes) {
        for (const int64_t n : kLengths) {
          SCOPED_TRACE(::testing::Message() << static_cast<int>(activation) << " n " << n);
          const Buffer x = argument(n, dtype);
          Buffer y(n, dtype, 1);
          kernels::activate(
              {.n = n, .dtype = dtype, .activation = activation, .x = x.raw(), .y = y.raw()});
          std::vector<double> expected;
          for (const double value : x.values()) {
            expected.push_back(reference::activate(activation, value));
          }
          expect_close(y, expected, {.absolute = 1e-6, .relative = 2e-6});
        }
      }
    }
  });
}

TEST(Activate, InPlace) {
  for_each_isa([] {
    const Buffer x = argument(100, DType::f32);
    Buffer y = x;
    kernels::activate({.n = 100,
                       .dtype = DType::f32,
                       .activation = Activation::relu,
                       .x = y.raw(),
                       .y = y.raw()});
    for (int64_t i = 0; i < 100; ++i) {
      EXPECT_EQ(y.get(i), std::max(x.get(i), 0.0));
    }
  });
}

TEST(Activate, Backward) {
  for_each_isa([] {
    for (const Activation activation : kActivations) {
      for (const DType dtype : kFloatTypes) {
        for (const bool accumulate : {false, true}) {
          SCOPED_TRACE(static_cast<int>(activation));
          const int64_t n = 1030;
          const Buffer x = argument(n, dtype);
          const Buffer dy = Buffer(n, dtype, 1).fill(102);
          Buffer dx = Buffer(n, dtype, 5).fill(103);
          std::vector<double> expected = dx.values();
          for (int64_t i = 0; i < n; ++i) {
            double& value = expected[static_cast<size_t>(i)];
            value = (accumulate ? value : 0.0) + 0.5 * dy.get(i) * slope(activation, x.get(i));
          }
          kernels::activate_backward({.n = n,
                                      .dtype = dtype,
                                      .activation = activation,
                                      .x = x.raw(),
                                      .dy = dy.raw(),
                                      .dx = dx.raw(),
                                      .scale = 0.5F,
                                      .accumulate = accumulate});
          expect_close(dx, expected, {.absolute = 3e-6, .relative = 5e-6});
        }
      }
    }
  });
}

}  // namespace
}  // namespace heed::testing
