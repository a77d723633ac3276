#include "kernels/reduction/logistic_mixture.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/reduction/logistic_mixture.cc"
#include <hwy/foreach_target.h>
// Must come after foreach_target.h.
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "base/parallel.h"
#include "base/scratch.h"
#include "kernels/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed {
namespace HWY_NAMESPACE {

// Where a row's target lies; its edges towards other levels.
struct Bin {
  Bin(int32_t level, int64_t levels)
      : x(static_cast<float>(2.0 * level / static_cast<double>(levels - 1) - 1.0)),
        d(static_cast<float>(1.0 / static_cast<double>(levels - 1))),
        log_width(static_cast<float>(std::log(2.0 / static_cast<double>(levels - 1)))),
        above(level + 1 < levels),
        below(level > 0) {}

  float x, d, log_width;
  bool above, below;
};

struct LogSigmoid {  // and its slope, sigmoid(-x)
  FloatVec value, slope;
};
HWY_INLINE LogSigmoid log_sigmoid(FloatVec x) {
  const FloatVec one = set(1.0F);
  const FloatVec tail = bounded_exp(hn::Neg(hn::Abs(x)));
  // Given NaN and a number, Min returns its second argument.
  return {hn::Sub(hn::Min(zero(), x), hn::Log1p(FloatTag(), tail)),
          hn::Div(hn::IfThenElse(hn::Gt(x, zero()), tail, one), hn::Add(one, tail))};
}

struct LogRest {  // log(1 - e^-w), and w times its slope, w / (e^w - 1)
  FloatVec value, slope;
};
// Narrow bins take the series, which knows w by its logarithm and so never reaches log 0.
HWY_INLINE LogRest log_rest(FloatVec w, FloatVec log_w) {
  const FloatVec one = set(1.0F);
  const FloatVec square = hn::Mul(w, w);
  const FloatVec half = hn::Mul(w, set(0.5F));
  const FloatVec log_series =
      hn::MulAdd(square, hn::MulAdd(square, set(-1.0F / 2880), set(1.0F / 24)), hn::Neg(half));
  const FloatVec slope_series =
      hn::MulAdd(square, hn::MulAdd(square, set(-1.0F / 720), set(1.0F / 12)), hn::Sub(one, half));
  const FloatVec tail = bounded_exp(hn::Neg(w));
  const FloatVec rest = hn::Sub(one, tail);
  const auto narrow = hn::Lt(w, set(0.25F));
  return {hn::IfThenElse(narrow, hn::Add(log_w, log_series), hn::Log(FloatTag(), rest)),
          hn::IfThenElse(narrow, slope_series, hn::Div(hn::Mul(w, tail), rest))};
}

struct Component {
  FloatVec log_mass, d_mean, d_log_scale;  // log mass and its derivatives
};
// log mass = log sigmoid(a) + log sigmoid(-b) + log(1 - e^-(a - b)); an outermost level has but the
// edge it shares. With t = e^-s: d mean = t (sigmoid(b) - sigmoid(-a)), and with w = a - b
// d log_scale = b sigmoid(b) - a sigmoid(-a) - w / (e^w - 1).
HWY_INLINE Component component(const Bin& bin, FloatVec mean, FloatVec log_scale) {
  const FloatVec s = hn::Max(set(kernels::kMinLogScale), log_scale);
  const FloatVec t = bounded_exp(hn::Neg(s));
  const FloatVec centre = hn::Mul(hn::Sub(set(bin.x), mean), t);
  const FloatVec half = hn::Mul(set(bin.d), t);
  Component c{zero(), zero(), zero()};
  if (bin.above) {
    const FloatVec a = hn::Add(centre, half);
    const LogSigmoid edge = log_sigmoid(a);
    c.log_mass = edge.value;
    c.d_mean = hn::Neg(edge.slope);
    c.d_log_scale = hn::Neg(hn::Mul(a, edge.slope));
  }
  if (bin.below) {
    const FloatVec b = hn::Sub(centre, half);
    const LogSigmoid edge = log_sigmoid(hn::Neg(b));
    c.log_mass = hn::Add(c.log_mass, edge.value);
    c.d_mean = hn::Add(c.d_mean, edge.slope);
    c.d_log_scale = hn::MulAdd(b, edge.slope, c.d_log_scale);
  }
  if (bin.above && bin.below) {
    const LogRest rest = log_rest(hn::Add(half, half), hn::Sub(set(bin.log_width), s));
    c.log_mass = hn::Add(c.log_mass, rest.value);
    c.d_log_scale = hn::Sub(c.d_log_scale, rest.slope);
  }
  c.d_mean = hn::Mul(c.d_mean, t);
  c.d_log_scale = hn::IfThenZeroElse(hn::Lt(log_scale, set(kernels::kMinLogScale)), c.d_log_scale);
  return c;
}

// Working memory for one row, each array padded to whole vectors.
struct Row {
  explicit Row(int64_t components)
      : padded(hwy::RoundUpTo(static_cast<size_t>(components), hn::Lanes(FloatTag()))) {
    thread_local Scratch scratch;
    logits = scratch.get<float>(4 * padded);
    joint = logits + padded;
    d_means = joint + padded;
    d_log_scales = d_means + padded;
  }

  size_t padded;
  float* logits;        // less the largest; -inf behind the last
  float* joint;         // the same plus log mass
  float* d_means;       // of the log mass
  float* d_log_scales;  // of the log mass
};

// Over whole vectors; unlike kernels/reduction/log_sum_exp-inl.h, NaN gets through.
HWY_INLINE float log_total(const float* x, size_t padded) {
  const size_t lanes = hn::Lanes(FloatTag());
  FloatVec best = load(x);
  for (size_t k = lanes; k < padded; k += lanes) {
    best = hn::Max(best, load(x + k));
  }
  const float top = max(best);
  FloatVec total = zero();
  for (size_t k = 0; k < padded; k += lanes) {
    total = hn::Add(total, bounded_exp(hn::Sub(load(x + k), set(top))));
  }
  return top + std::log(sum(total));
}

// Without the largest logit, sums with log masses stay precise whatever the logits' size.
template <typename T>
HWY_INLINE void shift_logits(const T* x, size_t n, const Row& row) {
  const size_t lanes = hn::Lanes(FloatTag());
  FloatVec best = hn::Neg(infinity());
  std::fill_n(row.logits + row.padded - lanes, lanes, -std::numeric_limits<float>::infinity());
  map(
      n, row.logits, [](FloatVec v) { return v; }, x);
  for (size_t k = 0; k < row.padded; k += lanes) {
    best = hn::Max(best, load(row.logits + k));
  }
  const FloatVec top = set(max(best));
  map(
      row.padded, row.logits, [&](FloatVec v) { return hn::Sub(v, top); }, row.logits);
}

// Fills the row; where the slopes are not asked for, the compiler drops what leads to them.
template <bool kSlopes, typename T>
HWY_INLINE void fill_row(const kernels::LogisticMixture& args, int64_t index, const Row& row) {
  const size_t lanes = hn::Lanes(FloatTag());
  const size_t n = static_cast<size_t>(args.components);
  const T* x = static_cast<const T*>(args.parameters.data) + index * 3 * args.components;
  const Bin bin(args.targets[index], args.levels);
  shift_logits(x, n, row);
  for (size_t k = 0; k < n; k += lanes) {
    const size_t left = n - k;
    const auto read = [&](const T* p) { return left < lanes ? load_n(p, left) : load(p); };
    const Component c = component(bin, read(x + n + k), read(x + 2 * n + k));
    store(hn::Add(load(row.logits + k), c.log_mass), row.joint + k);
    if constexpr (kSlopes) {
      store(c.d_mean, row.d_means + k);
      store(c.d_log_scale, row.d_log_scales + k);
    }
  }
}

void logistic_mixture_rows(const kernels::LogisticMixture& args, int64_t begin, int64_t end) {
  const Row row(args.components);
  with_type(args.parameters.dtype, [&](auto* type) {
    for (int64_t i = begin; i < end; ++i) {
      if (args.targets[i] == args.ignore) {
        args.losses[i] = 0.0F;
        continue;
      }
      fill_row<false, std::remove_pointer_t<decltype(type)>>(args, i, row);
      args.losses[i] = log_total(row.logits, row.padded) - log_total(row.joint, row.padded);
    }
  });
}

// With the posterior r = softmax(joint): d logits = softmax(logits) - r, d means = -r d log mass /
// d mean, and so for the log-scales. All times d_loss.
template <typename G>
HWY_INLINE void backward_row(const kernels::LogisticMixtureBackward& args, int64_t index,
                             const Row& row, G* dx) {
  const size_t n = static_cast<size_t>(args.forward.components);
  const FloatVec factor = set(args.d_losses[args.d_uniform ? 0 : index]);
  const FloatVec prior_lse = set(log_total(row.logits, row.padded));
  const FloatVec joint_lse = set(log_total(row.joint, row.padded));
  const auto put = [&](G* out, const auto& fn, const float* a, const float* b) {
    if (args.accumulate) {
      map(
          n, out,
          [&](FloatVec u, FloatVec v, FloatVec old) { return hn::MulAdd(factor, fn(u, v), old); },
          a, b, out);
    } else {
      map(
          n, out, [&](FloatVec u, FloatVec v) { return hn::Mul(factor, fn(u, v)); }, a, b);
    }
  };
  map(
      row.padded, row.joint, [&](FloatVec v) { return bounded_exp(hn::Sub(v, joint_lse)); },
      row.joint);
  const float* posterior = row.joint;
  put(
      dx,
      [&](FloatVec logit, FloatVec r) {
        return hn::Sub(bounded_exp(hn::Sub(logit, prior_lse)), r);
      },
      row.logits, posterior);
  const auto chain = [](FloatVec r, FloatVec slope) { return hn::Neg(hn::Mul(r, slope)); };
  put(dx + n, chain, posterior, row.d_means);
  put(dx + 2 * n, chain, posterior, row.d_log_scales);
}

void logistic_mixture_backward_rows(const kernels::LogisticMixtureBackward& args, int64_t begin,
                                    int64_t end) {
  const kernels::LogisticMixture& f = args.forward;
  const Row row(f.components);
  with_type(args.d_parameters.dtype, [&](auto* gradient) {
    using G = std::remove_pointer_t<decltype(gradient)>;
    for (int64_t i = begin; i < end; ++i) {
      G* dx = static_cast<G*>(args.d_parameters.data) + i * 3 * f.components;
      if (f.targets[i] != f.ignore) {
        with_type(f.parameters.dtype, [&](auto* type) {
          fill_row<true, std::remove_pointer_t<decltype(type)>>(f, i, row);
        });
        backward_row(args, i, row, dx);
      } else if (!args.accumulate) {
        std::fill_n(dx, 3 * f.components, G(0.0F));
      }
    }
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace heed
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed {
HWY_EXPORT(logistic_mixture_rows);
HWY_EXPORT(logistic_mixture_backward_rows);

namespace kernels {
namespace {

constexpr int64_t kOperations = 64;  // per component: some exponentials and logarithms

}  // namespace

void logistic_mixture(const LogisticMixture& args) {
  parallel_rows(args.rows, kOperations * args.components, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(logistic_mixture_rows)(args, begin, end);
  });
}

void logistic_mixture_backward(const LogisticMixtureBackward& args) {
  const LogisticMixture& f = args.forward;
  parallel_rows(f.rows, kOperations * f.components, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(logistic_mixture_backward_rows)(args, begin, end);
  });
}

}  // namespace kernels
}  // namespace heed
#endif  // HWY_ONCE
