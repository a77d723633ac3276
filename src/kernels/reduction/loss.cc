#include "kernels/reduction/loss.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/reduction/loss.cc"
#include <hwy/foreach_target.h>
// Must come after foreach_target.h.
#include <hwy/highway.h>

#include "base/parallel.h"
#include "base/scratch.h"
#include "kernels/block-inl.h"
#include "kernels/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed {
namespace HWY_NAMESPACE {

using kernels::Loss;

template <Loss kLoss>
HWY_INLINE FloatVec loss_value(FloatVec x, FloatVec t) {
  if constexpr (kLoss == Loss::mse) {
    const FloatVec d = hn::Sub(x, t);
    return hn::Mul(d, d);
  } else if constexpr (kLoss == Loss::binary_cross_entropy_logits) {
    // log(1 + e^x) = max(x, 0) + log(1 + e^-|x|)
    return hn::Add(hn::NegMulAdd(x, t, hn::Max(x, zero())), softplus_tail(x));
  } else if constexpr (kLoss == Loss::binary_cross_entropy) {
    // The bound stands first, so that a NaN gets through.
    const FloatVec bound = set(-100.0F);
    const FloatVec yes = hn::Max(bound, whole_log(x));
    const FloatVec no = hn::Max(bound, whole_log(hn::Sub(set(1.0F), x)));
    return hn::Neg(hn::MulAdd(t, yes, hn::Mul(hn::Sub(set(1.0F), t), no)));
  } else {
    return hn::IfThenZeroElse(hn::Eq(t, zero()), hn::Mul(t, hn::Sub(whole_log(t), x)));
  }
}

template <Loss kLoss, bool kTarget>
HWY_INLINE FloatVec loss_slope(FloatVec x, FloatVec t) {
  if constexpr (kLoss == Loss::mse) {
    const FloatVec d = kTarget ? hn::Sub(t, x) : hn::Sub(x, t);
    return hn::Add(d, d);
  } else if constexpr (kLoss == Loss::binary_cross_entropy_logits) {
    return hn::Sub(whole_sigmoid(x), t);
  } else if constexpr (kLoss == Loss::binary_cross_entropy) {
    const FloatVec spread = hn::Mul(x, hn::Sub(set(1.0F), x));
    return hn::Div(hn::Sub(x, t), hn::Max(set(1e-12F), spread));
  } else if constexpr (kTarget) {
    return hn::IfThenZeroElse(hn::Eq(t, zero()), hn::Sub(hn::Add(whole_log(t), set(1.0F)), x));
  } else {
    return hn::Neg(t);
  }
}

// Calls fn.template operator()<loss>() for a loss known only at run time.
template <typename Fn>
HWY_INLINE void with_loss(Loss loss, const Fn& fn) {
  switch (loss) {
#define HEED_CASE(name)                   \
  case Loss::name:                        \
    fn.template operator()<Loss::name>(); \
    return;
    HEED_CASE(mse)
    HEED_CASE(binary_cross_entropy_logits)
    HEED_CASE(binary_cross_entropy)
    HEED_CASE(kl_divergence)
#undef HEED_CASE
  }
}

constexpr float kOne = 1.0F;

HWY_INLINE kernels::Operand weight_or_one(const kernels::Operand& weight) {
  return weight.in.data == nullptr ? kernels::Operand{{&kOne, DType::f32}, 1} : weight;
}

// Calls use(fn, operands...) with the function that gives a weighted value.
template <typename Use>
HWY_INLINE void with_values(const kernels::LossValues& args, const Use& use) {
  const kernels::Operand factor = weight_or_one(args.weight);
  Plain x(args.x);
  Plain t(args.target);
  Repeated weight(factor.in, factor.period);
  with_loss(args.loss, [&]<Loss kLoss>() {
    use([](FloatVec v, FloatVec u, FloatVec w) { return hn::Mul(w, loss_value<kLoss>(v, u)); }, x,
        t, weight);
  });
}

void loss_values_range(const kernels::LossValues& args, int64_t begin, int64_t end) {
  with_values(args, [&](const auto& fn, auto&... operands) {
    map_blocks(begin, end, args.y, false, fn, operands...);
  });
}

double loss_sum_range(const kernels::LossValues& args, int64_t begin, int64_t end) {
  double total = 0.0;
  with_values(args, [&](const auto& fn, auto&... operands) {
    total = sum_blocks(begin, end, fn, operands...);
  });
  return total;
}

void loss_backward_range(const kernels::LossBackward& args, int64_t begin, int64_t end) {
  const kernels::Operand factor = weight_or_one(args.weight);
  Plain x(args.x);
  Plain t(args.target);
  Repeated weight(factor.in, factor.period);
  Repeated dy(args.dy.in, args.dy.period);
  const FloatVec scale = set(args.scale);
  with_loss(args.loss, [&]<Loss kLoss>() {
    const auto chain = [&](FloatVec slope, FloatVec w, FloatVec g) {
      return hn::Mul(hn::Mul(slope, w), hn::Mul(g, scale));
    };
    if (args.to_target) {
      map_blocks(
          begin, end, args.out, args.accumulate,
          [&](FloatVec v, FloatVec u, FloatVec w, FloatVec g) {
            return chain(loss_slope<kLoss, true>(v, u), w, g);
          },
          x, t, weight, dy);
    } else {
      map_blocks(
          begin, end, args.out, args.accumulate,
          [&](FloatVec v, FloatVec u, FloatVec w, FloatVec g) {
            return chain(loss_slope<kLoss, false>(v, u), w, g);
          },
          x, t, weight, dy);
    }
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace heed
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed {
HWY_EXPORT(loss_values_range);
HWY_EXPORT(loss_sum_range);
HWY_EXPORT(loss_backward_range);

namespace kernels {

void loss_values(const LossValues& args) {
  parallel_for(args.n, kParallelGrain, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(loss_values_range)(args, begin, end);
  });
}

double loss_sum(const LossValues& args) {
  constexpr int64_t kRun = 16384;  // summed as one piece, whatever the number of threads
  thread_local Scratch scratch;
  const int64_t runs = (args.n + kRun - 1) / kRun;
  double* partial = scratch.get<double>(static_cast<size_t>(runs));
  parallel_for(runs, 1, [&](int64_t begin, int64_t end) {
    for (int64_t run = begin; run < end; ++run) {
      partial[run] = HWY_DYNAMIC_DISPATCH(loss_sum_range)(args, run * kRun,
                                                          std::min(args.n, (run + 1) * kRun));
    }
  });
  double total = 0.0;
  for (int64_t run = 0; run < runs; ++run) {
    total += partial[run];
  }
  return total;
}

void loss_backward(const LossBackward& args) {
  parallel_for(args.n, kParallelGrain, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(loss_backward_range)(args, begin, end);
  });
}

}  // namespace kernels
}  // namespace heed
#endif  // HWY_ONCE
