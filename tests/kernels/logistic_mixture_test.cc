// The mixture's losses and slopes against the reference, at every instruction set.
#include "kernels/reduction/logistic_mixture.h"

#include <gtest/gtest.h>

#include "base/parallel.h"
#include "kernels/reference/logistic_mixture.h"
#include "support/kernel_buffer.h"

namespace heed::testing {
namespace {

constexpr int64_t kComponents[] = {1, 3, 7, 8, 10, 16, 17, 33};
constexpr int32_t kIgnored = -1;
const std::vector<int32_t> kTargets{0, 97, kIgnored, 254, 255, 128, 1};

Buffer drawn(int64_t components, DType dtype) {
  Buffer x = Buffer(static_cast<int64_t>(kTargets.size()) * 3 * components, dtype, 3).fill(31);
  for (int64_t i = 0; i < x.size(); ++i) {
    const int64_t kind = i / components % 3;
    x.set(i, kind == 0 ? 2 * x.get(i) : kind == 1 ? 0.6 * x.get(i) : 0.7 * x.get(i) - 2);
  }
  return x;
}

kernels::LogisticMixture arguments(int64_t components, const Buffer& x, float* losses) {
  return {.rows = static_cast<int64_t>(kTargets.size()),
          .components = components,
          .levels = 256,
          .parameters = x.in(),
          .targets = kTargets.data(),
          .ignore = kIgnored,
          .losses = losses};
}

double reference_loss(const std::vector<double>& row, int32_t target) {
  return target == kIgnored ? 0 : -std::log(reference::logistic_mixture<double>(row, target, 256));
}

std::vector<double> row_of(const Buffer& x, size_t i, int64_t components) {
  const std::vector<double> all = x.values();
  const auto begin = all.begin() + static_cast<int64_t>(i) * 3 * components;
  return {begin, begin + 3 * components};
}

TEST(LogisticMixture, Losses) {
  for_each_isa([] {
    for (const DType dtype : kFloatTypes) {
      for (const int64_t components : kComponents) {
        const Buffer x = drawn(components, dtype);
        Buffer losses(static_cast<int64_t>(kTargets.size()));
        kernels::logistic_mixture(arguments(components, x, losses.data<float>()));
        std::vector<double> expected;
        for (size_t i = 0; i < kTargets.size(); ++i) {
          expected.push_back(reference_loss(row_of(x, i, components), kTargets[i]));
        }
        expect_close(losses, expected, {.absolute = 2e-6, .relative = 2e-6});
      }
    }
  });
}

// Four-point differences of the reference.
std::vector<double> slopes(const Buffer& x, int64_t components, const Buffer& d_losses) {
  std::vector<double> result;
  const double h = 1e-4;
  for (size_t i = 0; i < kTargets.size(); ++i) {
    std::vector<double> row = row_of(x, i, components);
    const double d_loss = d_losses.get(static_cast<int64_t>(i) % d_losses.size());
    for (double& value : row) {
      const double at = value;
      const auto f = [&](double offset) {
        value = at + offset;
        return reference_loss(row, kTargets[i]);
      };
      result.push_back(d_loss * (f(-2 * h) - 8 * f(-h) + 8 * f(h) - f(2 * h)) / (12 * h));
      value = at;
    }
  }
  return result;
}

TEST(LogisticMixture, Backward) {
  for (const int64_t components : kComponents) {
    for (const DType dtype : kFloatTypes) {
      const Buffer x = drawn(components, dtype);
      for (const bool uniform : {false, true}) {
        Buffer d_losses = Buffer(uniform ? 1 : static_cast<int64_t>(kTargets.size())).fill(32);
        const std::vector<double> expected = slopes(x, components, d_losses);
        for_each_isa([&] {
          for (const DType out : kFloatTypes) {
            for (const bool accumulate : {false, true}) {
              Buffer dx = Buffer(x.size(), out, 1).fill(33);
              std::vector<double> wanted = dx.values();
              for (size_t i = 0; i < wanted.size(); ++i) {
                wanted[i] = (accumulate ? wanted[i] : 0.0) + expected[i];
              }
              kernels::logistic_mixture_backward({.forward = arguments(components, x, nullptr),
                                                  .d_losses = d_losses.data<float>(),
                                                  .d_uniform = uniform,
                                                  .d_parameters = dx.out(),
                                                  .accumulate = accumulate});
              expect_close(dx, wanted, {.absolute = 5e-6, .relative = 5e-6});
            }
          }
        });
      }
    }
  }
}

TEST(LogisticMixture, DoesNotDependOnThreads) {
  const int threads = num_threads();
  const int64_t rows = 1001;
  const Buffer x = Buffer(rows * 30).fill(34);
  const Buffer d_losses = Buffer(rows).fill(35);
  std::vector<int32_t> targets;
  for (int64_t i = 0; i < rows; ++i) {
    targets.push_back(static_cast<int32_t>(i % 257) - 1);
  }
  std::vector<std::vector<double>> losses;
  std::vector<std::vector<double>> slopes;
  for (const int count : {1, 3}) {
    set_num_threads(count);
    Buffer loss(rows);
    Buffer dx(x.size());
    kernels::LogisticMixture args = arguments(10, x, loss.data<float>());
    args.rows = rows;
    args.targets = targets.data();
    kernels::logistic_mixture(args);
    kernels::logistic_mixture_backward({.forward = args,
                                        .d_losses = static_cast<const float*>(d_losses.raw()),
                                        .d_parameters = dx.out()});
    losses.push_back(loss.values());
    slopes.push_back(dx.values());
  }
  set_num_threads(threads);
  EXPECT_EQ(losses[0], losses[1]);
  EXPECT_EQ(slopes[0], slopes[1]);
}

// Wherever it stands.
TEST(LogisticMixture, NanGetsThrough) {
  const int64_t components = 17;
  for_each_isa([&] {
    for (int64_t i = 0; i < 3 * components; ++i) {
      Buffer x = drawn(components, DType::f32);
      x.set(3 * components + i, NAN);  // the second row's
      Buffer losses(static_cast<int64_t>(kTargets.size()));
      kernels::logistic_mixture(arguments(components, x, losses.data<float>()));
      EXPECT_TRUE(std::isnan(losses.get(1))) << "parameter " << i;
      EXPECT_TRUE(std::isfinite(losses.get(0)));
    }
  });
}

}  // namespace
}  // namespace heed::testing
