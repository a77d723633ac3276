#include "kernels/optimizer/adam.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/optimizer/adam.cc"
#include <hwy/foreach_target.h>
// Must come after foreach_target.h.
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>

#include "base/parallel.h"
#include "base/scratch.h"
#include "kernels/optimizer/each_vector-inl.h"
#include "kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed {
namespace HWY_NAMESPACE {

// The constants of a step, once per call.
struct AdamStep {
  explicit AdamStep(const kernels::Adam& args)
      : beta1(set(args.beta1)),
        beta2(set(args.beta2)),
        rest1(set(1.0F - args.beta1)),
        rest2(set(1.0F - args.beta2)),
        rate(set(args.lr / args.correction1)),
        root(set(1.0F / std::sqrt(args.correction2))),
        epsilon(set(args.epsilon)),
        shrink(set(args.decoupled ? 1.0F - args.lr * args.weight_decay : 1.0F)),
        decay(set(args.decoupled ? 0.0F : args.weight_decay)),
        grad_scale(set(args.grad_scale)) {}

  HWY_INLINE void operator()(FloatVec& w, FloatVec& m, FloatVec& v, FloatVec g) const {
    g = hn::MulAdd(decay, w, hn::Mul(g, grad_scale));
    m = hn::MulAdd(beta1, m, hn::Mul(rest1, g));
    v = hn::MulAdd(beta2, v, hn::Mul(rest2, hn::Mul(g, g)));
    const FloatVec size = hn::MulAdd(hn::Sqrt(v), root, epsilon);
    w = hn::NegMulAdd(rate, hn::Div(m, size), hn::Mul(w, shrink));
  }

  FloatVec beta1, beta2, rest1, rest2, rate, root, epsilon, shrink, decay, grad_scale;
};

struct SgdStep {
  explicit SgdStep(const kernels::Sgd& args)
      : rate(set(args.lr)),
        momentum(set(args.momentum)),
        decay(set(args.weight_decay)),
        grad_scale(set(args.grad_scale)),
        nesterov(args.nesterov) {}

  HWY_INLINE void operator()(FloatVec& w, FloatVec& m, FloatVec g) const {
    g = hn::MulAdd(decay, w, hn::Mul(g, grad_scale));
    m = hn::MulAdd(momentum, m, g);
    w = hn::NegMulAdd(rate, nesterov ? hn::MulAdd(momentum, m, g) : m, w);
  }

  FloatVec rate, momentum, decay, grad_scale;
  bool nesterov;
};

void adam_range(const kernels::Adam& args, int64_t begin, int64_t end) {
  const AdamStep step(args);
  each_vector(begin, end, [&](const auto& get, const auto& keep, int64_t i) {
    FloatVec w = get(args.w + i);
    FloatVec m = get(args.m + i);
    FloatVec v = get(args.v + i);
    step(w, m, v, get(args.g + i));
    keep(w, args.w + i);
    keep(m, args.m + i);
    keep(v, args.v + i);
    if (args.narrow != nullptr) {
      keep(w, args.narrow + i);
    }
  });
}

void sgd_range(const kernels::Sgd& args, int64_t begin, int64_t end) {
  const SgdStep step(args);
  each_vector(begin, end, [&](const auto& get, const auto& keep, int64_t i) {
    FloatVec w = get(args.w + i);
    FloatVec m = args.m != nullptr ? get(args.m + i) : zero();
    step(w, m, get(args.g + i));
    keep(w, args.w + i);
    if (args.m != nullptr) {
      keep(m, args.m + i);
    }
    if (args.narrow != nullptr) {
      keep(w, args.narrow + i);
    }
  });
}

double squared_sum_range(const float* x, int64_t begin, int64_t end) {
  constexpr int64_t kBlock = 1024;  // in f32; blocks are added in double
  double total = 0.0;
  for (int64_t i = begin; i < end; i += kBlock) {
    const size_t n = static_cast<size_t>(std::min(kBlock, end - i));
    total += static_cast<double>(reduce(
        n, [](FloatVec v) { return hn::Mul(v, v); }, x + i));
  }
  return total;
}

}  // namespace HWY_NAMESPACE
}  // namespace heed
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed {
HWY_EXPORT(adam_range);
HWY_EXPORT(sgd_range);
HWY_EXPORT(squared_sum_range);

namespace kernels {

void adam(const Adam& args) {
  parallel_for(args.n, kParallelGrain, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(adam_range)(args, begin, end);
  });
}

void sgd(const Sgd& args) {
  parallel_for(args.n, kParallelGrain, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(sgd_range)(args, begin, end);
  });
}

double squared_sum(const float* x, int64_t n) {
  constexpr int64_t kRun = 65536;  // summed as one piece, whatever the number of threads
  thread_local Scratch scratch;
  const int64_t runs = (n + kRun - 1) / kRun;
  double* partial = scratch.get<double>(static_cast<size_t>(runs));
  parallel_for(runs, 1, [&](int64_t begin, int64_t end) {
    for (int64_t run = begin; run < end; ++run) {
      partial[run] =
          HWY_DYNAMIC_DISPATCH(squared_sum_range)(x, run * kRun, std::min(n, (run + 1) * kRun));
    }
  });
  double total = 0.0;
  for (int64_t run = 0; run < runs; ++run) {
    total += partial[run];
  }
  return total;
}

}  // namespace kernels
}  // namespace heed
#endif  // HWY_ONCE
