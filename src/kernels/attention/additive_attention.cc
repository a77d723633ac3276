#include "kernels/attention/additive_attention.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/attention/additive_attention.cc"
#include <hwy/foreach_target.h>
// Must come after foreach_target.h.
#include <hwy/highway.h>

#include <algorithm>
#include <limits>

#include "base/parallel.h"
#include "base/scratch.h"
#include "kernels/elementwise/gate-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed {
namespace HWY_NAMESPACE {
namespace {

// e^2q e^2k stays far from infinity and from subnormal numbers while |q| and |k| are below this.
constexpr float kBound = kGateLimit / 4;

template <typename T>
HWY_INLINE bool bounded(const T* x, size_t n) {
  const size_t lanes = hn::Lanes(FloatTag());
  FloatVec most = zero();
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    most = hn::Max(most, hn::Abs(load(x + i)));
  }
  if (i < n) {
    most = hn::Max(most, hn::Abs(load_n(x + i, n - i)));
  }
  return max(most) < kBound;
}

// e^2x of a row, and whether it may be used.
template <typename T>
HWY_INLINE bool exp_row(const T* x, size_t n, float* e) {
  map(
      n, e, [](FloatVec a) { return gate_exp_twice(a); }, x);
  return bounded(x, n);
}

// v . tanh(q + k)
template <typename T>
HWY_INLINE float direct_score(const T* q, const T* k, const float* v, size_t n) {
  return reduce(
      n,
      [](FloatVec a, FloatVec b, FloatVec w) {
        return hn::Mul(w, tanh_from_fraction(gate_fraction(gate_exp_twice(hn::Add(a, b)))));
      },
      q, k, v);
}

HWY_INLINE float exp_score(const float* eq, const float* ek, const float* v, size_t n) {
  return reduce(
      n,
      [](FloatVec a, FloatVec b, FloatVec w) {
        return hn::Mul(w, tanh_from_fraction(gate_fraction(hn::Mul(a, b))));
      },
      eq, ek, v);
}

template <typename T>
HWY_INLINE void softmax_row(float* scores, int64_t valid, int64_t keys, T* weights) {
  std::fill(weights + valid, weights + keys, T(0.0F));
  float most = -std::numeric_limits<float>::infinity();
  for (int64_t j = 0; j < valid; ++j) {
    most = std::max(most, scores[j]);
  }
  const FloatVec top = set(most);
  const size_t n = static_cast<size_t>(valid);
  const auto exponential = [&](FloatVec s) { return exp(hn::Sub(s, top)); };
  map(n, scores, exponential, scores);
  const FloatVec scale = set(1.0F / reduce(
                                        n, [](FloatVec e) { return e; }, scores));
  map(
      n, weights, [&](FloatVec e) { return hn::Mul(e, scale); }, scores);
}

}  // namespace

// Rows [begin, end) of x as e^2x, and the rows that may not be used so.
void additive_exp_rows(const kernels::In& x, int64_t width, int64_t begin, int64_t end, float* e,
                       uint8_t* usable) {
  with_type(x.dtype, [&](auto* type) {
    const auto* rows = static_cast<decltype(type)>(const_cast<void*>(x.data));
    for (int64_t row = begin; row < end; ++row) {
      usable[row] = exp_row(rows + row * width, static_cast<size_t>(width), e + row * width);
    }
  });
}

// Pairs of queries and keys, counted over [batch, queries, keys].
void additive_score_pairs(const kernels::AdditiveScores& args, int64_t begin, int64_t end) {
  const kernels::AdditiveShape& s = args.weights->shape;
  const size_t n = static_cast<size_t>(s.width);
  const float* v = args.weights->v;
  with_type(s.dtype, [&](auto* type) {
    const auto* q = static_cast<decltype(type)>(const_cast<void*>(args.weights->q));
    const auto* k = static_cast<decltype(type)>(const_cast<void*>(args.weights->k));
    for (int64_t pair = begin; pair < end; ++pair) {
      const int64_t query = pair / s.keys;
      const int64_t row = query / s.queries;
      const int64_t j = pair % s.keys;
      const int64_t key = row * s.keys + j;
      if (j >= s.length(row)) {
        continue;
      }
      const bool fast = args.eq != nullptr && args.usable_q[query] != 0 && args.usable_k[key] != 0;
      args.scores[pair] = fast ? exp_score(args.eq + query * s.width, args.ek + key * s.width, v, n)
                               : direct_score(q + query * s.width, k + key * s.width, v, n);
    }
  });
}

// Rows of [batch, queries]. The scores are overwritten.
void additive_softmax_rows(const kernels::AdditiveScores& args, int64_t begin, int64_t end) {
  const kernels::AdditiveShape& s = args.weights->shape;
  with_type(s.dtype, [&](auto* type) {
    auto* weights = static_cast<decltype(type)>(args.weights->weights);
    for (int64_t query = begin; query < end; ++query) {
      softmax_row(args.scores + query * s.keys, s.length(query / s.queries), s.keys,
                  weights + query * s.keys);
    }
  });
}

// ds = w (dw - sum of w dw), in place.
void additive_softmax_backward_rows(const kernels::AdditiveWeightsBackward& args, int64_t begin,
                                    int64_t end) {
  const size_t keys = static_cast<size_t>(args.shape.keys);
  with_type(args.shape.dtype, [&](auto* type) {
    const auto* weights = static_cast<decltype(type)>(const_cast<void*>(args.weights));
    for (int64_t query = begin; query < end; ++query) {
      const auto* w = weights + query * args.shape.keys;
      float* d = args.d_weights + query * args.shape.keys;
      // Weights rounded to bf16 do not add up to 1; unless their mean of dw knows, an error of the
      // size of dw would remain of it.
      const float total = reduce(
          keys, [](FloatVec a) { return a; }, w);
      const FloatVec mean =
          set(reduce(
                  keys, [](FloatVec a, FloatVec b) { return hn::Mul(a, b); }, w, d) /
              std::max(total, 0.5F));
      map(
          keys, d, [&](FloatVec a, FloatVec b) { return hn::Mul(a, hn::Sub(b, mean)); }, w, d);
    }
  });
}

namespace {

// One batch row and a strip of columns of the backward pass, whole in itself.
template <typename T>
class StripBackward {
 public:
  StripBackward(const kernels::AdditiveWeightsBackward& args, int64_t row, int64_t column,
                float* dv)
      : args_(args),
        s_(args.shape),
        row_(row),
        column_(column),
        count_(static_cast<size_t>(std::min(kernels::kAdditiveStrip, s_.width - column))),
        keys_(s_.length(row)),
        dv_(dv) {
    thread_local Scratch scratch;
    const size_t strip = static_cast<size_t>(kernels::kAdditiveStrip);
    const size_t keys = static_cast<size_t>(s_.keys);
    k_ = scratch.get<float>(3 * keys * strip + 4 * strip + keys);
    ek_ = k_ + keys * strip;
    dk_ = ek_ + keys * strip;
    q_ = dk_ + keys * strip;
    eq_ = q_ + strip;
    dq_ = eq_ + strip;
    v_ = dq_ + strip;
    usable_ = reinterpret_cast<uint8_t*>(v_ + strip);
  }

  void run() {
    load_strip(args_.v + column_, v_);
    for (int64_t j = 0; j < keys_; ++j) {
      const T* key = static_cast<const T*>(args_.k) + (row_ * s_.keys + j) * s_.width + column_;
      usable_[j] = prepare(key, k_ + at(j), ek_ + at(j));
    }
    std::fill_n(dk_, at(keys_), 0.0F);
    std::fill_n(dv_, kernels::kAdditiveStrip, 0.0F);
    for (int64_t i = 0; i < s_.queries; ++i) {
      const int64_t query = row_ * s_.queries + i;
      const T* q = static_cast<const T*>(args_.q) + query * s_.width + column_;
      const bool usable = prepare(q, q_, eq_);
      for (size_t c = 0; c < count_; c += hn::Lanes(FloatTag())) {
        columns(args_.d_weights + query * s_.keys, c, usable);
      }
      put(dq_, args_.dq, query, args_.accumulate_q);
    }
    for (int64_t j = 0; j < s_.keys; ++j) {
      if (j >= keys_) {
        std::fill_n(q_, kernels::kAdditiveStrip, 0.0F);
      }
      put(j < keys_ ? dk_ + at(j) : q_, args_.dk, row_ * s_.keys + j, args_.accumulate_k);
    }
  }

 private:
  static int64_t at(int64_t j) { return j * kernels::kAdditiveStrip; }

  // The strip as f32, zeros past its end.
  template <typename In>
  void load_strip(const In* from, float* to) const {
    std::fill_n(to, kernels::kAdditiveStrip, 0.0F);
    map(
        count_, to, [](FloatVec x) { return x; }, from);
  }

  bool prepare(const T* from, float* x, float* e) const {
    load_strip(from, x);
    return exp_row(x, static_cast<size_t>(kernels::kAdditiveStrip), e);
  }

  // One query against all keys, one vector of columns from c on. Without the factor 4 v of
  // v (1 - t^2) = 4 v e / (1 + e)^2, which put() applies.
  HWY_INLINE void columns(const float* ds, size_t c, bool usable_query) const {
    const FloatVec q = load(q_ + c);
    const FloatVec eq = load(eq_ + c);
    FloatVec dq = zero();
    FloatVec dv = load(dv_ + c);
    for (int64_t j = 0; j < keys_; ++j) {
      const bool fast = usable_query && usable_[j] != 0;
      const FloatVec e = fast ? hn::Mul(eq, load(ek_ + at(j) + c))
                              : gate_exp_twice(hn::Add(q, load(k_ + at(j) + c)));
      const FloatVec part = gate_fraction(e);
      const FloatVec gradient = set(ds[j]);
      const FloatVec slope = hn::Mul(gradient, hn::Mul(hn::Mul(e, part), part));
      dq = hn::Add(dq, slope);
      dv = hn::MulAdd(gradient, tanh_from_fraction(part), dv);
      store(hn::Add(load(dk_ + at(j) + c), slope), dk_ + at(j) + c);
    }
    store(dq, dq_ + c);
    store(dv, dv_ + c);
  }

  void put(const float* sums, const kernels::Out& out, int64_t out_row, bool accumulate) const {
    if (out.data == nullptr) {
      return;
    }
    const FloatVec four = set(4.0F);
    with_type(out.dtype, [&](auto* type) {
      auto* to = static_cast<decltype(type)>(out.data) + out_row * s_.width + column_;
      if (accumulate) {
        map(
            count_, to,
            [&](FloatVec x, FloatVec v, FloatVec old) {
              return hn::MulAdd(hn::Mul(four, v), x, old);
            },
            sums, v_, to);
      } else {
        map(
            count_, to, [&](FloatVec x, FloatVec v) { return hn::Mul(hn::Mul(four, v), x); }, sums,
            v_);
      }
    });
  }

  const kernels::AdditiveWeightsBackward& args_;
  const kernels::AdditiveShape& s_;
  int64_t row_;
  int64_t column_;
  size_t count_;
  int64_t keys_;
  float *k_, *ek_, *dk_;       // [keys, strip]
  float *q_, *eq_, *dq_, *v_;  // [strip]
  uint8_t* usable_;            // [keys]
  float* dv_;                  // [strip], the caller's
};

}  // namespace

// dv gets the sums of this batch row: [strip].
void additive_backward_strip(const kernels::AdditiveWeightsBackward& args, int64_t row,
                             int64_t column, float* dv) {
  with_type(args.shape.dtype, [&](auto* type) {
    StripBackward<std::remove_pointer_t<decltype(type)>>(args, row, column, dv).run();
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace heed
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed {
HWY_EXPORT(additive_exp_rows);
HWY_EXPORT(additive_score_pairs);
HWY_EXPORT(additive_softmax_rows);
HWY_EXPORT(additive_softmax_backward_rows);
HWY_EXPORT(additive_backward_strip);

namespace kernels {
namespace {

// Element operations of a tanh, for deciding how many threads are worth it.
constexpr int64_t kTanhCost = 4;
// With fewer queries the exponentials of the keys are not used often enough.
constexpr int64_t kWorthExponentials = 3;

void exponentials(In x, int64_t rows, int64_t width, float* e, uint8_t* usable) {
  parallel_rows(rows, kTanhCost * width, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(additive_exp_rows)(x, width, begin, end, e, usable);
  });
}

}  // namespace

void additive_weights(const AdditiveWeights& args) {
  const AdditiveShape& s = args.shape;
  const int64_t queries = s.batch * s.queries;
  const int64_t keys = s.batch * s.keys;
  const bool exponents = s.queries >= kWorthExponentials;
  thread_local Scratch score_scratch;
  thread_local Scratch scratch;
  AdditiveScores scores{.weights = &args,
                        .scores = score_scratch.get<float>(static_cast<size_t>(queries * s.keys))};
  if (exponents) {
    const int64_t elements = (queries + keys) * s.width;
    float* eq = scratch.get<float>(static_cast<size_t>(elements + (queries + keys) / 4 + 1));
    float* ek = eq + queries * s.width;
    auto* usable = reinterpret_cast<uint8_t*>(eq + elements);
    exponentials({args.q, s.dtype}, queries, s.width, eq, usable);
    exponentials({args.k, s.dtype}, keys, s.width, ek, usable + queries);
    scores.eq = eq;
    scores.ek = ek;
    scores.usable_q = usable;
    scores.usable_k = usable + queries;
  }
  parallel_rows(queries * s.keys, kTanhCost * s.width, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(additive_score_pairs)(scores, begin, end);
  });
  parallel_rows(queries, kTanhCost * s.keys, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(additive_softmax_rows)(scores, begin, end);
  });
}

void additive_weights_backward(const AdditiveWeightsBackward& args) {
  const AdditiveShape& s = args.shape;
  parallel_rows(s.batch * s.queries, 4 * s.keys, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(additive_softmax_backward_rows)(args, begin, end);
  });
  const int64_t strips = (s.width + kAdditiveStrip - 1) / kAdditiveStrip;
  const int64_t padded = strips * kAdditiveStrip;
  thread_local Scratch scratch;
  float* partial = scratch.get<float>(static_cast<size_t>(std::max<int64_t>(s.batch, 1) * padded));
  parallel_tasks(s.batch * strips, [&](int64_t task) {
    const int64_t row = task / strips;
    const int64_t column = task % strips * kAdditiveStrip;
    HWY_DYNAMIC_DISPATCH(additive_backward_strip)
    (args, row, column, partial + row * padded + column);
  });
  if (args.dv.data == nullptr) {
    return;
  }
  // Rows are added in their order, whichever thread made them.
  for (int64_t row = 1; row < s.batch; ++row) {
    copy({.n = padded,
          .from = {partial + row * padded, DType::f32},
          .to = {partial, DType::f32},
          .accumulate = true});
  }
  if (s.batch == 0) {
    std::fill_n(partial, padded, 0.0F);
  }
  copy({.n = s.width,
        .from = {partial, DType::f32},
        .to = args.dv,
        .accumulate = args.accumulate_v});
}

}  // namespace kernels
}  // namespace heed
#endif  // HWY_ONCE
