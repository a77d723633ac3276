#include "kernels/elementwise/pointwise.h"

#include <cassert>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/elementwise/pointwise.cc"
#include <hwy/foreach_target.h>
// Must come after foreach_target.h.
#include <hwy/highway.h>

#include "base/parallel.h"
#include "kernels/block-inl.h"
#include "kernels/elementwise/functions-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed {
namespace HWY_NAMESPACE {

// dy f'(x); s is what the row's kSaved says.
template <Unary kFunction>
HWY_INLINE FloatVec unary_chain(FloatVec s, FloatVec dy) {
  using Row = Function<kFunction>;
  if constexpr (requires { Row::chain(s, dy); }) {
    return Row::chain(s, dy);
  } else {
    return hn::Mul(dy, Row::derivative(s));
  }
}

void unary_range(const kernels::MapUnary& args, int64_t begin, int64_t end) {
  with_type(args.x.dtype, [&](auto* type) {
    const auto* x = static_cast<decltype(type)>(const_cast<void*>(args.x.data)) + begin;
    auto* y = static_cast<decltype(type)>(args.y.data) + begin;
    with_function(args.function, [&]<Unary kFunction>() {
      map(
          static_cast<size_t>(end - begin), y,
          [](FloatVec v) { return Function<kFunction>::value(v); }, x);
    });
  });
}

// Without the detour over blocks, where all dtypes are the same and nothing is added.
void plain_unary_backward_range(const kernels::UnaryBackward& args, int64_t begin, int64_t end) {
  const FloatVec scale = set(args.scale);
  with_type(args.dy.dtype, [&](auto* type) {
    using T = decltype(type);
    const auto* saved = static_cast<T>(const_cast<void*>(args.saved.data)) + begin;
    const auto* dy = static_cast<T>(const_cast<void*>(args.dy.data)) + begin;
    auto* dx = static_cast<T>(args.dx.data) + begin;
    with_function(args.function, [&]<Unary kFunction>() {
      map(
          static_cast<size_t>(end - begin), dx,
          [&](FloatVec s, FloatVec g) { return unary_chain<kFunction>(s, hn::Mul(g, scale)); },
          saved, dy);
    });
  });
}

void unary_backward_range(const kernels::UnaryBackward& args, int64_t begin, int64_t end) {
  if (!args.accumulate && args.saved.dtype == args.dy.dtype && args.dx.dtype == args.dy.dtype) {
    plain_unary_backward_range(args, begin, end);
    return;
  }
  Plain saved(args.saved);
  Plain dy(args.dy);
  const FloatVec scale = set(args.scale);
  with_function(args.function, [&]<Unary kFunction>() {
    map_blocks(
        begin, end, args.dx, args.accumulate,
        [&](FloatVec s, FloatVec g) { return unary_chain<kFunction>(s, hn::Mul(g, scale)); }, saved,
        dy);
  });
}

void binary_range(const kernels::MapBinary& args, int64_t begin, int64_t end) {
  Plain a(args.a);
  Repeated b(args.b.in, args.b.period);
  with_function(args.function, [&]<Binary kFunction>() {
    map_blocks(
        begin, end, args.y, false,
        [](FloatVec v, FloatVec w) { return Function<kFunction>::value(v, w); }, a, b);
  });
}

// chain(a, b, dy) over the operands that it reads; the others are left out, since there may be
// nothing to load.
template <Reads kReads, typename Chain>
HWY_INLINE void partial_range(const kernels::BinaryBackward& args, int64_t begin, int64_t end,
                              const Chain& chain) {
  Plain dy(args.dy);
  if constexpr (!kReads.a && !kReads.b) {
    map_blocks(
        begin, end, args.out, args.accumulate, [&](FloatVec g) { return chain(g, g, g); }, dy);
  } else if constexpr (!kReads.b) {
    Plain a(args.a);
    map_blocks(
        begin, end, args.out, args.accumulate,
        [&](FloatVec v, FloatVec g) { return chain(v, g, g); }, a, dy);
  } else {
    Repeated b(args.b.in, args.b.period);
    if constexpr (kReads.a) {
      Plain a(args.a);
      map_blocks(begin, end, args.out, args.accumulate, chain, a, b, dy);
    } else {
      map_blocks(
          begin, end, args.out, args.accumulate,
          [&](FloatVec w, FloatVec g) { return chain(g, w, g); }, b, dy);
    }
  }
}

void binary_backward_range(const kernels::BinaryBackward& args, int64_t begin, int64_t end) {
  with_function(args.function, [&]<Binary kFunction>() {
    using Row = Function<kFunction>;
    if (args.first) {
      partial_range<Row::kReadsDa>(
          args, begin, end, [](FloatVec a, FloatVec b, FloatVec dy) { return Row::da(a, b, dy); });
    } else {
      partial_range<Row::kReadsDb>(
          args, begin, end, [](FloatVec a, FloatVec b, FloatVec dy) { return Row::db(a, b, dy); });
    }
  });
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
  assert(args.x.dtype == args.y.dtype);
  if (args.function == Unary::none && args.x.data == args.y.data) {
    return;
  }
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
