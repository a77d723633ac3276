// Losses and their slopes against the reference, at every instruction set.
#include "kernels/reduction/loss.h"

#include <gtest/gtest.h>

#include "base/parallel.h"
#include "kernels/reference/loss.h"
#include "support/kernel_buffer.h"

namespace heed::testing {
namespace {

using kernels::Loss;

constexpr Loss kLosses[] = {Loss::mse, Loss::binary_cross_entropy_logits,
                            Loss::binary_cross_entropy, Loss::kl_divergence};

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

Buffer prediction(Loss loss, int64_t n, DType dtype) {
  Buffer x = Buffer(n, dtype, 3).fill(71, 3.0);
  for (int64_t i = 0; i < n; ++i) {
    if (loss == Loss::binary_cross_entropy) {
      x.set(i, sigmoid(x.get(i) / 2));
    } else if (loss == Loss::kl_divergence) {
      x.set(i, -std::abs(x.get(i)));
    }
  }
  return x;
}

// In [0, 1], both ends included.
Buffer target_of(Loss loss, int64_t n, DType dtype) {
  Buffer t = Buffer(n, dtype, 1).fill(72);
  for (int64_t i = 0; i < n && loss != Loss::mse; ++i) {
    t.set(i, i % 4 == 0 ? static_cast<double>(i % 8 == 0) : sigmoid(t.get(i)));
  }
  return t;
}

struct Weights {
  Buffer values;
  kernels::Operand operand() const { return {values.in(), values.size()}; }
  double at(int64_t i) const { return values.get(i % values.size()); }
};

TEST(Loss, ValuesAndSum) {
  for_each_isa([] {
    for (const Loss loss : kLosses) {
      for (const DType dtype : kFloatTypes) {
        for (const int64_t n : kLengths) {
          for (const int64_t period : {int64_t{0}, int64_t{1}, int64_t{7}, n}) {
            SCOPED_TRACE(::testing::Message() << static_cast<int>(loss) << " n " << n);
            const Weights weights{Buffer(std::max<int64_t>(period, 1)).fill(73, 1.0, 2.0)};
            const Buffer x = prediction(loss, n, dtype);
            const Buffer t = target_of(loss, n, DType::f32);
            Buffer y(n, dtype, 5);
            kernels::LossValues args{
                .n = n, .loss = loss, .x = x.in(), .target = t.in(), .y = y.out()};
            if (period > 0) {
              args.weight = weights.operand();
            }
            kernels::loss_values(args);
            std::vector<double> expected;
            double total = 0;
            for (int64_t i = 0; i < n; ++i) {
              expected.push_back(reference::loss(loss, x.get(i), t.get(i)) *
                                 (period > 0 ? weights.at(i) : 1.0));
              total += expected.back();
            }
            expect_close(y, expected, {.absolute = 3e-6, .relative = 3e-6});
            EXPECT_NEAR(kernels::loss_sum(args), total, 1e-5 + 1e-6 * std::abs(total));
          }
        }
      }
    }
  });
}

TEST(Loss, SumDoesNotDependOnThreads) {
  const int threads = num_threads();
  const Buffer x = prediction(Loss::mse, 100001, DType::f32);
  const Buffer t = target_of(Loss::mse, 100001, DType::f32);
  const kernels::LossValues args{
      .n = x.size(), .loss = Loss::mse, .x = x.in(), .target = t.in(), .y = {}};
  set_num_threads(1);
  const double one = kernels::loss_sum(args);
  set_num_threads(3);
  const double three = kernels::loss_sum(args);
  set_num_threads(threads);
  EXPECT_EQ(one, three);
}

void check_backward(Loss loss, DType dtype, bool to_target, bool accumulate) {
  const int64_t n = 1030;
  const Weights weights{Buffer(103).fill(74, 1.0, 2.0)};
  const Buffer x = prediction(loss, n, dtype);
  const Buffer t = target_of(loss, n, dtype);
  for (const int64_t period : {int64_t{1}, n}) {
    const Buffer dy = Buffer(period).fill(75);
    Buffer dx = Buffer(n, DType::f32, 2).fill(76);
    std::vector<double> expected = dx.values();
    for (int64_t i = 0; i < n; ++i) {
      double& value = expected[static_cast<size_t>(i)];
      value =
          (accumulate ? value : 0.0) + reference::loss_slope(loss, x.get(i), t.get(i), to_target) *
                                           weights.at(i) * dy.get(i % period) * 0.125;
    }
    kernels::loss_backward({.n = n,
                            .loss = loss,
                            .x = x.in(),
                            .target = t.in(),
                            .weight = weights.operand(),
                            .dy = {dy.in(), period},
                            .scale = 0.125F,
                            .to_target = to_target,
                            .out = dx.out(),
                            .accumulate = accumulate});
    expect_close(dx, expected, {.absolute = 2e-6, .relative = 5e-6});
  }
}

TEST(Loss, Backward) {
  for_each_isa([] {
    for (const Loss loss : kLosses) {
      for (const DType dtype : kFloatTypes) {
        for (const bool accumulate : {false, true}) {
          SCOPED_TRACE(static_cast<int>(loss));
          check_backward(loss, dtype, false, accumulate);
          if (loss == Loss::mse || loss == Loss::kl_divergence) {
            check_backward(loss, dtype, true, accumulate);
          }
        }
      }
    }
  });
}

// Certainty, right and wrong, and logits of any size.
TEST(Loss, AtTheEdges) {
  struct Point {
    Loss loss;
    double x, t, value, slope;
  };
  const Point points[] = {
      {Loss::binary_cross_entropy_logits, 1000, 1, 0, 0},
      {Loss::binary_cross_entropy_logits, 1000, 0, 1000, 1},
      {Loss::binary_cross_entropy_logits, -1000, 0, 0, 0},
      {Loss::binary_cross_entropy_logits, -1000, 1, 1000, -1},
      {Loss::binary_cross_entropy_logits, NAN, 1, NAN, NAN},
      {Loss::binary_cross_entropy, 1, 1, 0, 0},
      {Loss::binary_cross_entropy, 0, 1, 100, -1e12},
      {Loss::binary_cross_entropy, NAN, 1, NAN, NAN},
      {Loss::kl_divergence, -INFINITY, 0, 0, 0},
      {Loss::kl_divergence, -INFINITY, 1, INFINITY, -1},
      {Loss::mse, NAN, 1, NAN, NAN},
  };
  const float one = 1.0F;
  for_each_isa([&] {
    for (const Point& p : points) {
      SCOPED_TRACE(::testing::Message() << static_cast<int>(p.loss) << " x " << p.x);
      Buffer x(1);
      Buffer t(1);
      Buffer y(1);
      x.set(0, p.x);
      t.set(0, p.t);
      kernels::loss_values({.n = 1, .loss = p.loss, .x = x.in(), .target = t.in(), .y = y.out()});
      expect_close(y, std::vector<double>{p.value});
      kernels::loss_backward({.n = 1,
                              .loss = p.loss,
                              .x = x.in(),
                              .target = t.in(),
                              .dy = {{&one, DType::f32}, 1},
                              .scale = 1.0F,
                              .to_target = false,
                              .out = y.out()});
      expect_close(y, std::vector<double>{p.slope});
    }
  });
}

}  // namespace
}  // namespace heed::testing
