// Optimizer steps against the papers' formulas in double, at every instruction set.
#include "kernels/optimizer/adam.h"

#include <gtest/gtest.h>

#include "base/parallel.h"
#include "kernels/reference/adam.h"
#include "support/kernel_buffer.h"

namespace heed::testing {
namespace {

// The arrays of one optimizer, each at its own odd offset, and what they should hold.
struct State {
  explicit State(int64_t n)
      : w(n, DType::f32, 1),
        m(n, DType::f32, 3),
        v(n, DType::f32, 5),
        g(n, DType::f32, 2),
        narrow(n, DType::bf16, 3) {
    w.fill(81);
    g.fill(82, 0.1);
    expected_w = w.values();
    expected_m = m.values();
    expected_v = v.values();
  }
  void check(bool with_narrow) const {
    expect_close(w, expected_w, {.absolute = 1e-6, .relative = 1e-6});
    expect_close(m, expected_m, {.absolute = 1e-7, .relative = 2e-6});
    expect_close(v, expected_v, {.absolute = 1e-8, .relative = 4e-6});
    EXPECT_TRUE(narrow.guards_intact());
    for (int64_t i = 0; i < w.size() && with_narrow; ++i) {
      const double rounded =
          static_cast<double>(static_cast<float>(bf16(static_cast<float>(w.get(i)))));
      ASSERT_EQ(narrow.get(i), rounded) << i;
    }
  }
  Buffer w, m, v, g, narrow;
  std::vector<double> expected_w, expected_m, expected_v;
};

void check_adam(int64_t n, bool decoupled, bool with_narrow) {
  State state(n);
  for (int step = 1; step <= 3; ++step) {
    state.g.fill(static_cast<uint64_t>(90 + step), 0.1);
    const kernels::Adam args{.n = n,
                             .w = state.w.data<float>(),
                             .m = state.m.data<float>(),
                             .v = state.v.data<float>(),
                             .g = state.g.data<float>(),
                             .narrow = with_narrow ? state.narrow.data<bf16>() : nullptr,
                             .lr = 1e-2F,
                             .beta1 = 0.9F,
                             .beta2 = 0.98F,
                             .epsilon = 1e-9F,
                             .weight_decay = 0.1F,
                             .decoupled = decoupled,
                             .correction1 = 1.0F - std::pow(0.9F, static_cast<float>(step)),
                             .correction2 = 1.0F - std::pow(0.98F, static_cast<float>(step)),
                             .grad_scale = 0.5F};
    kernels::adam(args);
    for (size_t i = 0; i < static_cast<size_t>(n); ++i) {
      reference::adam<double>(args, state.expected_w[i], state.expected_m[i], state.expected_v[i],
                              state.g.get(static_cast<int64_t>(i)));
    }
    state.check(with_narrow);
  }
}

TEST(Adam, Steps) {
  for_each_isa([] {
    for (const int64_t n : kLengths) {
      for (const bool decoupled : {false, true}) {
        for (const bool narrow : {false, true}) {
          SCOPED_TRACE(::testing::Message() << "n " << n << " decoupled " << decoupled);
          check_adam(n, decoupled, narrow);
        }
      }
    }
  });
}

void check_sgd(int64_t n, float momentum, bool nesterov) {
  State state(n);
  for (int step = 1; step <= 3; ++step) {
    state.g.fill(static_cast<uint64_t>(90 + step), 0.1);
    const kernels::Sgd args{.n = n,
                            .w = state.w.data<float>(),
                            .m = momentum > 0 ? state.m.data<float>() : nullptr,
                            .g = state.g.data<float>(),
                            .narrow = state.narrow.data<bf16>(),
                            .lr = 0.1F,
                            .momentum = momentum,
                            .weight_decay = 0.01F,
                            .nesterov = nesterov,
                            .grad_scale = 2.0F};
    kernels::sgd(args);
    for (size_t i = 0; i < static_cast<size_t>(n); ++i) {
      double none = 0;
      reference::sgd<double>(args, state.expected_w[i], momentum > 0 ? state.expected_m[i] : none,
                             state.g.get(static_cast<int64_t>(i)));
    }
    state.check(true);
  }
}

TEST(Sgd, Steps) {
  for_each_isa([] {
    for (const int64_t n : kLengths) {
      SCOPED_TRACE(n);
      check_sgd(n, 0.0F, false);
      check_sgd(n, 0.9F, false);
      check_sgd(n, 0.9F, true);
    }
  });
}

TEST(SquaredSum, MatchesDouble) {
  for_each_isa([] {
    for (const int64_t n : kLengths) {
      Buffer x = Buffer(n, DType::f32, 3).fill(83);
      double expected = 0;
      for (const double value : x.values()) {
        expected += value * value;
      }
      EXPECT_NEAR(kernels::squared_sum(x.data<float>(), n), expected, 5e-7 * expected) << n;
    }
  });
}

TEST(SquaredSum, DoesNotDependOnThreads) {
  Buffer x = Buffer(500001).fill(84);
  const int threads = num_threads();
  set_num_threads(1);
  const double one = kernels::squared_sum(x.data<float>(), x.size());
  set_num_threads(3);
  const double three = kernels::squared_sum(x.data<float>(), x.size());
  set_num_threads(threads);
  EXPECT_EQ(one, three);
}

}  // namespace
}  // namespace heed::testing
