#include "kernels/elementwise/pointwise.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/elementwise/pointwise.cc"
#include <hwy/foreach_target.h>
// Must come after foreach_target.h.
#include <hwy/highway.h>

#include "base/parallel.h"
#include "kernels/block-inl.h"
#include "kernels/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed {
namespace HWY_NAMESPACE {

using kernels::Binary;
using kernels::Unary;

template <Unary kFunction>
HWY_INLINE FloatVec unary_value(FloatVec x) {
  if constexpr (kFunction == Unary::exp) {
    return whole_exp(x);
  } else if constexpr (kFunction == Unary::log) {
    return whole_log(x);
  } else if constexpr (kFunction == Unary::sqrt) {
    return hn::Sqrt(x);
  } else if constexpr (kFunction == Unary::rsqrt) {
    return hn::Div(set(1.0F), hn::Sqrt(x));
  } else if constexpr (kFunction == Unary::square) {
    return hn::Mul(x, x);
  } else if constexpr (kFunction == Unary::abs) {
    return hn::Abs(x);
  } else if constexpr (kFunction == Unary::neg) {
    return hn::Neg(x);
  } else if constexpr (kFunction == Unary::sin) {
    return hn::Sin(FloatTag(), x);
  } else if constexpr (kFunction == Unary::cos) {
    return hn::Cos(FloatTag(), x);
  } else if constexpr (kFunction == Unary::erf) {
    return whole_erf(x);
  } else {
    return hn::Div(set(1.0F), x);
  }
}

// dy f'(x); s is x, or y where derives_from_output.
template <Unary kFunction>
HWY_INLINE FloatVec unary_chain(FloatVec s, FloatVec dy) {
  if constexpr (kFunction == Unary::exp) {
    return hn::Mul(dy, s);
  } else if constexpr (kFunction == Unary::log) {
    return hn::Div(dy, s);
  } else if constexpr (kFunction == Unary::sqrt) {
    return hn::Div(hn::Mul(set(0.5F), dy), s);
  } else if constexpr (kFunction == Unary::rsqrt) {
    return hn::Mul(hn::Mul(set(-0.5F), dy), hn::Mul(s, hn::Mul(s, s)));
  } else if constexpr (kFunction == Unary::square) {
    return hn::Mul(hn::Add(dy, dy), s);
  } else if constexpr (kFunction == Unary::abs) {
    return hn::IfThenZeroElse(hn::Eq(s, zero()), hn::Xor(dy, hn::And(s, set(-0.0F))));
  } else if constexpr (kFunction == Unary::neg) {
    return hn::Neg(dy);
  } else if constexpr (kFunction == Unary::sin) {
    return hn::Mul(dy, hn::Cos(FloatTag(), s));
  } else if constexpr (kFunction == Unary::cos) {
    return hn::Neg(hn::Mul(dy, hn::Sin(FloatTag(), s)));
  } else if constexpr (kFunction == Unary::erf) {
    return hn::Mul(hn::Mul(set(1.128379167F), dy), bounded_exp(hn::Neg(hn::Mul(s, s))));
  } else {
    return hn::Neg(hn::Mul(dy, hn::Mul(s, s)));
  }
}

// Whether maximum or minimum takes b; NaN wins, and a wins among equals.
template <Binary kFunction>
HWY_INLINE auto second_wins(FloatVec a, FloatVec b) {
  const auto beaten = kFunction == Binary::maximum ? hn::Lt(a, b) : hn::Gt(a, b);
  return hn::Or(beaten, hn::IsNaN(b));
}

template <Binary kFunction>
HWY_INLINE FloatVec binary_value(FloatVec a, FloatVec b) {
  if constexpr (kFunction == Binary::add) {
    return hn::Add(a, b);
  } else if constexpr (kFunction == Binary::sub) {
    return hn::Sub(a, b);
  } else if constexpr (kFunction == Binary::mul) {
    return hn::Mul(a, b);
  } else if constexpr (kFunction == Binary::div) {
    return hn::Div(a, b);
  } else {
    return hn::IfThenElse(second_wins<kFunction>(a, b), b, a);
  }
}

// Calls fn.template operator()<function>() for a function known only at run time.
template <typename Fn>
HWY_INLINE void with_unary(Unary function, const Fn& fn) {
  switch (function) {
#define HEED_CASE(name)                    \
  case Unary::name:                        \
    fn.template operator()<Unary::name>(); \
    return;
    HEED_CASE(exp)
    HEED_CASE(log)
    HEED_CASE(sqrt)
    HEED_CASE(rsqrt)
    HEED_CASE(square)
    HEED_CASE(abs)
    HEED_CASE(neg)
    HEED_CASE(sin)
    HEED_CASE(cos)
    HEED_CASE(erf)
    HEED_CASE(reciprocal)
#undef HEED_CASE
  }
}

template <typename Fn>
HWY_INLINE void with_binary(Binary function, const Fn& fn) {
  switch (function) {
#define HEED_CASE(name)                     \
  case Binary::name:                        \
    fn.template operator()<Binary::name>(); \
    return;
    HEED_CASE(add)
    HEED_CASE(sub)
    HEED_CASE(mul)
    HEED_CASE(div)
    HEED_CASE(maximum)
    HEED_CASE(minimum)
#undef HEED_CASE
  }
}

void unary_range(const kernels::MapUnary& args, int64_t begin, int64_t end) {
  Plain x(args.x);
  with_unary(args.function, [&]<Unary kFunction>() {
    map_blocks(
        begin, end, args.y, false, [](FloatVec v) { return unary_value<kFunction>(v); }, x);
  });
}

void unary_backward_range(const kernels::UnaryBackward& args, int64_t begin, int64_t end) {
  Plain saved(args.saved);
  Plain dy(args.dy);
  with_unary(args.function, [&]<Unary kFunction>() {
    map_blocks(
        begin, end, args.dx, args.accumulate,
        [](FloatVec s, FloatVec g) { return unary_chain<kFunction>(s, g); }, saved, dy);
  });
}

void binary_range(const kernels::MapBinary& args, int64_t begin, int64_t end) {
  Plain a(args.a);
  Repeated b(args.b.in, args.b.period);
  with_binary(args.function, [&]<Binary kFunction>() {
    map_blocks(
        begin, end, args.y, false,
        [](FloatVec v, FloatVec w) { return binary_value<kFunction>(v, w); }, a, b);
  });
}

template <Binary kFunction>
HWY_INLINE void pick_backward(const kernels::BinaryBackward& args, int64_t begin, int64_t end) {
  Plain a(args.a);
  Repeated b(args.b.in, args.b.period);
  Plain dy(args.dy);
  const auto chain = [&](FloatVec v, FloatVec w, FloatVec g) {
    const auto second = second_wins<kFunction>(v, w);
    return args.first ? hn::IfThenZeroElse(second, g) : hn::IfThenElseZero(second, g);
  };
  map_blocks(begin, end, args.out, args.accumulate, chain, a, b, dy);
}

// mul: da = dy b, db = dy a. div: da = dy / b, db = -dy a / b^2.
// maximum, minimum: dy goes to the one that was taken.
void binary_backward_range(const kernels::BinaryBackward& args, int64_t begin, int64_t end) {
  if (args.function == Binary::maximum) {
    pick_backward<Binary::maximum>(args, begin, end);
    return;
  }
  if (args.function == Binary::minimum) {
    pick_backward<Binary::minimum>(args, begin, end);
    return;
  }
  Plain dy(args.dy);
  const bool is_mul = args.function == Binary::mul;
  if (is_mul && !args.first) {
    Plain a(args.a);
    map_blocks(
        begin, end, args.out, args.accumulate, [](FloatVec v, FloatVec g) { return hn::Mul(g, v); },
        a, dy);
    return;
  }
  Repeated b(args.b.in, args.b.period);
  if (is_mul) {
    map_blocks(
        begin, end, args.out, args.accumulate, [](FloatVec w, FloatVec g) { return hn::Mul(g, w); },
        b, dy);
  } else if (args.first) {
    map_blocks(
        begin, end, args.out, args.accumulate, [](FloatVec w, FloatVec g) { return hn::Div(g, w); },
        b, dy);
  } else {
    Plain a(args.a);
    map_blocks(
        begin, end, args.out, args.accumulate,
        [](FloatVec v, FloatVec w, FloatVec g) {
          return hn::Neg(hn::Div(hn::Mul(hn::Div(v, w), g), w));
        },
        a, b, dy);
  }
}

void select_range(const kernels::Select& args, int64_t begin, int64_t end) {
  Repeated mask({args.mask, DType::i8}, args.mask_period);
  Repeated a(args.a.in, args.a.period);
  Repeated b(args.b.in, args.b.period);
  map_blocks(
      begin, end, args.y, args.accumulate,
      [](FloatVec m, FloatVec v, FloatVec w) { return hn::IfThenElse(hn::Eq(m, zero()), w, v); },
      mask, a, b);
}

}  // namespace HWY_NAMESPACE
}  // namespace heed
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed {
HWY_EXPORT(unary_range);
HWY_EXPORT(unary_backward_range);
HWY_EXPORT(binary_range);
HWY_EXPORT(binary_backward_range);
HWY_EXPORT(select_range);

namespace kernels {

void unary(const MapUnary& args) {
  parallel_for(args.n, kParallelGrain, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(unary_range)(args, begin, end);
  });
}

void unary_backward(const UnaryBackward& args) {
  parallel_for(args.n, kParallelGrain, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(unary_backward_range)(args, begin, end);
  });
}

void binary(const MapBinary& args) {
  parallel_for(args.n, kParallelGrain, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(binary_range)(args, begin, end);
  });
}

void binary_backward(const BinaryBackward& args) {
  parallel_for(args.n, kParallelGrain, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(binary_backward_range)(args, begin, end);
  });
}

void select(const Select& args) {
  parallel_for(args.n, kParallelGrain, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(select_range)(args, begin, end);
  });
}

}  // namespace kernels
}  // namespace heed
#endif  // HWY_ONCE
