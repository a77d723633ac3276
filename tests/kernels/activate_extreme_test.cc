// Activations far from zero, where exponentials overflow.
#include <gtest/gtest.h>

#include "kernels/elementwise/activate.h"
#include "kernels/reference/reference.h"
#include "support/kernel_buffer.h"

namespace heed::testing {
namespace {

TEST(Activate, FarFromZero) {
  const std::vector<double> points = {-13.2, -14, -20, -100, -178, -200, -500, -1e4, 13.2,
                                      14,    20,  100, 178,  200,  500,  1e4,  NAN};
  const int64_t n = static_cast<int64_t>(points.size());
  Buffer x(n);
  Buffer dy(n);
  for (int64_t i = 0; i < n; ++i) {
    x.set(i, points[static_cast<size_t>(i)]);
    dy.set(i, 1.0);
  }
  for_each_isa([&] {
    for (int kind = 0; kind <= static_cast<int>(Activation::leaky_relu); ++kind) {
      SCOPED_TRACE(kind);
      const Activation activation = static_cast<Activation>(kind);
      Buffer y(n);
      Buffer dx(n);
      kernels::activate(
          {.n = n, .dtype = DType::f32, .activation = activation, .x = x.raw(), .y = y.raw()});
      kernels::activate_backward({.n = n,
                                  .dtype = DType::f32,
                                  .activation = activation,
                                  .x = x.raw(),
                                  .dy = dy.raw(),
                                  .dx = dx.raw()});
      const auto f = [&](double at) { return reference::activate(activation, at); };
      for (int64_t i = 0; i < n; ++i) {
        const double at = x.get(i);
        EXPECT_TRUE(Tolerance{}.covers(y.get(i), f(at), DType::f32)) << at << " " << y.get(i);
        if (!std::isnan(at)) {
          EXPECT_NEAR(dx.get(i), (f(at + 1e-3) - f(at - 1e-3)) / 2e-3, 1e-4) << at;
        }
      }
    }
  });
}

}  // namespace
}  // namespace heed::testing
