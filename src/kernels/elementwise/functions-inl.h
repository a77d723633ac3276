// The table of pointwise functions: a row for each enumerator of functions.h.
//
// A row has, side by side, the function on vectors and its derivative, and the same maths on
// doubles, plain, as the tests compare with:
//
//   unary:  value(x), derivative(s)           f(x) and f'; s is what kSaved says
//           or chain(s, dy) = dy f'           where that is shorter or more exact
//           reference(x), reference_derivative(x)
//   binary: value(a, b), da(a, b, dy), db(a, b, dy), reference, reference_da, reference_db
//           kReadsDa and kReadsDb say which operands da and db read; the others are not loaded
//
// Every function has its limit at infinity, passes NaN on, and is finite where the maths is.
#if defined(HEED_KERNELS_ELEMENTWISE_FUNCTIONS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_KERNELS_ELEMENTWISE_FUNCTIONS_INL_H_
#undef HEED_KERNELS_ELEMENTWISE_FUNCTIONS_INL_H_
#else
#define HEED_KERNELS_ELEMENTWISE_FUNCTIONS_INL_H_
#endif

#include <cmath>
#include <utility>

#include "kernels/elementwise/functions.h"
#include "kernels/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed {
namespace HWY_NAMESPACE {

using kernels::Domain;
using kernels::Reads;
using kernels::Saved;

// ---- What several rows share, on vectors. Given NaN and a number, Max and Min return their second
// argument.

// At least 6e-39, for Highway's exp is defined up to 104 only.
HWY_INLINE FloatVec floored_sigmoid(FloatVec x) {
  const FloatVec most = hn::Min(hn::Neg(x), set(88.0F));
  const FloatVec y = hn::Div(set(1.0F), hn::Add(set(1.0F), exp(most)));
  return hn::IfThenElse(hn::IsNaN(x), x, y);
}

// Exactly 0 for very negative x, where rounding has left something.
HWY_INLINE FloatVec vanishing(FloatVec x, FloatVec y) {
  return hn::IfThenZeroElse(hn::Lt(x, set(-104.0F)), y);
}

HWY_INLINE FloatVec sigmoid(FloatVec x) { return vanishing(x, floored_sigmoid(x)); }

// Abramowitz and Stegun 7.1.26: at most 1.5e-7 off, also where erf is as small as that.
HWY_INLINE FloatVec coarse_erf(FloatVec x) {
  const FloatVec magnitude = hn::Abs(x);
  const FloatVec t = hn::Div(set(1.0F), hn::MulAdd(set(0.3275911F), magnitude, set(1.0F)));
  FloatVec polynomial = hn::MulAdd(set(1.061405429F), t, set(-1.453152027F));
  polynomial = hn::MulAdd(polynomial, t, set(1.421413741F));
  polynomial = hn::MulAdd(polynomial, t, set(-0.284496736F));
  polynomial = hn::MulAdd(polynomial, t, set(0.254829592F));
  polynomial = hn::Mul(polynomial, t);
  const FloatVec tail = exp(hn::Neg(hn::Mul(magnitude, magnitude)));
  return hn::CopySign(hn::NegMulAdd(polynomial, tail, set(1.0F)), x);
}

HWY_INLINE FloatVec gaussian_cdf(FloatVec x) {
  return hn::MulAdd(set(0.5F), coarse_erf(hn::Mul(x, set(0.70710678F))), set(0.5F));
}

HWY_INLINE FloatVec softplus(FloatVec x) {
  // log(1 + e^x) = max(x, 0) + log(1 + e^-|x|)
  return hn::Add(hn::Max(zero(), x), hn::Log1p(FloatTag(), exp(hn::Neg(hn::Abs(x)))));
}

// x * share, for shares that are 0 long before x is -200. There x is bounded: -inf * 0 is NaN.
HWY_INLINE FloatVec share_of(FloatVec x, FloatVec share) {
  return hn::Mul(hn::Max(set(-200.0F), x), share);
}

// For derivatives that have arrived at their limits long before x is -200 or 200.
HWY_INLINE FloatVec bounded(FloatVec x) { return hn::Min(set(200.0F), hn::Max(set(-200.0F), x)); }

// Highway's sin and cos are defined up to 39000; the lanes beyond are computed one by one.
template <typename Exact>
HWY_INLINE FloatVec with_far_lanes(FloatVec x, FloatVec near, const Exact& exact) {
  constexpr float kLimit = 39000.0F;
  if (HWY_LIKELY(hn::AllTrue(FloatTag(), hn::Lt(hn::Abs(x), set(kLimit))))) {
    return near;
  }
  HWY_ALIGN float arguments[HWY_MAX_BYTES / sizeof(float)];
  HWY_ALIGN float values[HWY_MAX_BYTES / sizeof(float)];
  store(x, arguments);
  store(near, values);
  for (size_t i = 0; i < hn::Lanes(FloatTag()); ++i) {
    if (!(std::abs(arguments[i]) < kLimit)) {
      values[i] = exact(arguments[i]);
    }
  }
  return load(values);
}

HWY_INLINE FloatVec sin(FloatVec x) {
  return with_far_lanes(x, hn::Sin(FloatTag(), x), [](float v) { return std::sin(v); });
}

HWY_INLINE FloatVec cos(FloatVec x) {
  return with_far_lanes(x, hn::Cos(FloatTag(), x), [](float v) { return std::cos(v); });
}

// ---- What several rows share, on doubles.

inline double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
inline double softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }
// x * share; the share vanishes faster than x grows.
inline double share_of(double x, double share) { return share == 0 ? 0 : x * share; }

// ---- Unary functions.

template <auto kFunction>
struct Function;  // a missing row is a compile error

template <Saved kWhat, Domain kWhere = Domain::all>
struct UnaryTraits {
  static constexpr Saved kSaved = kWhat;
  static constexpr Domain kDomain = kWhere;
};

template <>
struct Function<Unary::none> : UnaryTraits<Saved::nothing> {
  static constexpr const char* kName = "none";
  static HWY_INLINE FloatVec value(FloatVec x) { return x; }
  static HWY_INLINE FloatVec chain(FloatVec /*s*/, FloatVec dy) { return dy; }
  static double reference(double x) { return x; }
  static double reference_derivative(double /*x*/) { return 1; }
};

template <>
struct Function<Unary::relu> : UnaryTraits<Saved::value, Domain::not_zero> {
  static constexpr const char* kName = "relu";
  static HWY_INLINE FloatVec value(FloatVec x) { return hn::Max(zero(), x); }
  static HWY_INLINE FloatVec derivative(FloatVec y) {  // or x: its sign is all that matters
    return hn::IfThenElseZero(hn::Gt(y, zero()), set(1.0F));
  }
  static double reference(double x) { return std::max(x, 0.0); }
  static double reference_derivative(double x) { return x > 0 ? 1 : 0; }
};

template <>
struct Function<Unary::gelu> : UnaryTraits<Saved::argument> {
  static constexpr const char* kName = "gelu";
  static HWY_INLINE FloatVec value(FloatVec x) { return share_of(x, gaussian_cdf(x)); }
  static HWY_INLINE FloatVec derivative(FloatVec x) {  // Phi(x) + x phi(x)
    const FloatVec density = hn::Mul(set(0.3989422804F), exp(hn::Mul(set(-0.5F), hn::Mul(x, x))));
    return hn::MulAdd(bounded(x), density, gaussian_cdf(x));
  }
  static double reference_cdf(double x) { return std::erfc(-x / std::sqrt(2.0)) / 2; }
  static double reference(double x) { return share_of(x, reference_cdf(x)); }
  static double reference_derivative(double x) {
    return reference_cdf(x) + share_of(x, std::exp(-x * x / 2) / std::sqrt(2 * M_PI));
  }
};

template <>
struct Function<Unary::gelu_tanh> : UnaryTraits<Saved::argument> {
  static constexpr const char* kName = "gelu_tanh";
  static constexpr float kScale = 0.7978845608F;  // sqrt(2 / pi)
  static constexpr float kCubic = 0.044715F;
  // The argument of tanh, times two: 0.5 (1 + tanh(u)) = sigmoid(2u).
  static HWY_INLINE FloatVec argument(FloatVec x) {
    const FloatVec inner = hn::MulAdd(set(kCubic), hn::Mul(x, x), set(1.0F));
    return hn::Mul(set(2.0F * kScale), hn::Mul(x, inner));
  }
  static HWY_INLINE FloatVec share(FloatVec x) {
    return vanishing(x, floored_sigmoid(argument(x)));
  }
  static HWY_INLINE FloatVec value(FloatVec x) { return share_of(x, share(x)); }
  static HWY_INLINE FloatVec derivative(FloatVec unbounded) {  // s + x s (1 - s) (2u)'
    const FloatVec one = set(1.0F);
    const FloatVec x = bounded(unbounded);
    const FloatVec s = share(x);
    const FloatVec slope =
        hn::Mul(set(2.0F * kScale), hn::MulAdd(set(3.0F * kCubic), hn::Mul(x, x), one));
    return hn::MulAdd(hn::Mul(x, slope), hn::Mul(s, hn::Sub(one, s)), s);
  }
  static double twice_u(double x) { return 2 * std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x); }
  static double reference(double x) { return share_of(x, sigmoid(twice_u(x))); }
  static double reference_derivative(double x) {
    const double slope = 2 * std::sqrt(2 / M_PI) * (1 + 3 * 0.044715 * x * x);
    return sigmoid(twice_u(x)) + share_of(x * slope, sigmoid(twice_u(x)) * sigmoid(-twice_u(x)));
  }
};

template <>
struct Function<Unary::sigmoid> : UnaryTraits<Saved::argument> {
  static constexpr const char* kName = "sigmoid";
  static HWY_INLINE FloatVec value(FloatVec x) { return sigmoid(x); }
  static HWY_INLINE FloatVec derivative(FloatVec x) {
    const FloatVec s = sigmoid(x);
    return hn::Mul(s, hn::Sub(set(1.0F), s));
  }
  static double reference(double x) { return sigmoid(x); }
  static double reference_derivative(double x) { return sigmoid(x) * sigmoid(-x); }
};

template <>
struct Function<Unary::tanh> : UnaryTraits<Saved::argument> {
  static constexpr const char* kName = "tanh";
  static HWY_INLINE FloatVec value(FloatVec x) { return hn::Tanh(FloatTag(), x); }
  static HWY_INLINE FloatVec derivative(FloatVec x) {
    const FloatVec t = hn::Tanh(FloatTag(), x);
    return hn::NegMulAdd(t, t, set(1.0F));
  }
  static double reference(double x) { return std::tanh(x); }
  static double reference_derivative(double x) { return 1 - std::tanh(x) * std::tanh(x); }
};

template <>
struct Function<Unary::silu> : UnaryTraits<Saved::argument> {
  static constexpr const char* kName = "silu";
  static HWY_INLINE FloatVec value(FloatVec x) { return share_of(x, sigmoid(x)); }
  static HWY_INLINE FloatVec derivative(FloatVec x) {  // s + x s (1 - s)
    const FloatVec s = sigmoid(x);
    return hn::MulAdd(hn::Mul(bounded(x), s), hn::Sub(set(1.0F), s), s);
  }
  static double reference(double x) { return share_of(x, sigmoid(x)); }
  static double reference_derivative(double x) {
    return sigmoid(x) + share_of(x, sigmoid(x) * sigmoid(-x));
  }
};

template <>
struct Function<Unary::softplus> : UnaryTraits<Saved::argument> {
  static constexpr const char* kName = "softplus";
  static HWY_INLINE FloatVec value(FloatVec x) { return softplus(x); }
  static HWY_INLINE FloatVec derivative(FloatVec x) { return sigmoid(x); }
  static double reference(double x) { return softplus(x); }
  static double reference_derivative(double x) { return sigmoid(x); }
};

template <>
struct Function<Unary::mish> : UnaryTraits<Saved::argument> {
  static constexpr const char* kName = "mish";
  static HWY_INLINE FloatVec value(FloatVec x) {
    return share_of(x, hn::Tanh(FloatTag(), softplus(x)));
  }
  static HWY_INLINE FloatVec derivative(FloatVec x) {  // t + x sigmoid(x) (1 - t^2)
    const FloatVec t = hn::Tanh(FloatTag(), softplus(x));
    return hn::MulAdd(hn::Mul(bounded(x), sigmoid(x)), hn::NegMulAdd(t, t, set(1.0F)), t);
  }
  static double reference(double x) { return share_of(x, std::tanh(softplus(x))); }
  static double reference_derivative(double x) {
    const double t = std::tanh(softplus(x));
    return t + share_of(x, sigmoid(x) * (1 - t * t));
  }
};

template <>
struct Function<Unary::elu> : UnaryTraits<Saved::argument, Domain::not_zero> {
  static constexpr const char* kName = "elu";
  static HWY_INLINE FloatVec value(FloatVec x) {
    return hn::IfThenElse(hn::Gt(x, zero()), x, hn::Expm1(FloatTag(), hn::Min(zero(), x)));
  }
  static HWY_INLINE FloatVec derivative(FloatVec x) {
    return hn::IfThenElse(hn::Gt(x, zero()), set(1.0F), exp(hn::Min(x, zero())));
  }
  static double reference(double x) { return x > 0 ? x : std::expm1(x); }
  static double reference_derivative(double x) { return x > 0 ? 1 : std::exp(x); }
};

template <>
struct Function<Unary::leaky_relu> : UnaryTraits<Saved::argument, Domain::not_zero> {
  static constexpr const char* kName = "leaky_relu";
  static constexpr float kSlope = 0.01F;
  static HWY_INLINE FloatVec value(FloatVec x) { return hn::Max(x, hn::Mul(x, set(kSlope))); }
  static HWY_INLINE FloatVec derivative(FloatVec x) {
    return hn::IfThenElse(hn::Gt(x, zero()), set(1.0F), set(kSlope));
  }
  static double reference(double x) { return x > 0 ? x : double{kSlope} * x; }
  static double reference_derivative(double x) { return x > 0 ? 1 : double{kSlope}; }
};

template <>
struct Function<Unary::exp> : UnaryTraits<Saved::value> {
  static constexpr const char* kName = "exp";
  static HWY_INLINE FloatVec value(FloatVec x) { return whole_exp(x); }
  static HWY_INLINE FloatVec derivative(FloatVec y) { return y; }
  static double reference(double x) { return std::exp(x); }
  static double reference_derivative(double x) { return std::exp(x); }
};

template <>
struct Function<Unary::log> : UnaryTraits<Saved::argument, Domain::positive> {
  static constexpr const char* kName = "log";
  static HWY_INLINE FloatVec value(FloatVec x) { return whole_log(x); }
  static HWY_INLINE FloatVec chain(FloatVec x, FloatVec dy) { return hn::Div(dy, x); }
  static double reference(double x) { return std::log(x); }
  static double reference_derivative(double x) { return 1 / x; }
};

template <>
struct Function<Unary::sqrt> : UnaryTraits<Saved::value, Domain::positive> {
  static constexpr const char* kName = "sqrt";
  static HWY_INLINE FloatVec value(FloatVec x) { return hn::Sqrt(x); }
  static HWY_INLINE FloatVec chain(FloatVec y, FloatVec dy) {
    return hn::Div(hn::Mul(set(0.5F), dy), y);
  }
  static double reference(double x) { return std::sqrt(x); }
  static double reference_derivative(double x) { return 1 / (2 * std::sqrt(x)); }
};

template <>
struct Function<Unary::rsqrt> : UnaryTraits<Saved::value, Domain::positive> {
  static constexpr const char* kName = "rsqrt";
  static HWY_INLINE FloatVec value(FloatVec x) { return hn::Div(set(1.0F), hn::Sqrt(x)); }
  static HWY_INLINE FloatVec chain(FloatVec y, FloatVec dy) {
    return hn::Mul(hn::Mul(set(-0.5F), dy), hn::Mul(y, hn::Mul(y, y)));
  }
  static double reference(double x) { return 1 / std::sqrt(x); }
  static double reference_derivative(double x) { return -1 / (2 * x * std::sqrt(x)); }
};

template <>
struct Function<Unary::square> : UnaryTraits<Saved::argument> {
  static constexpr const char* kName = "square";
  static HWY_INLINE FloatVec value(FloatVec x) { return hn::Mul(x, x); }
  static HWY_INLINE FloatVec chain(FloatVec x, FloatVec dy) { return hn::Mul(hn::Add(dy, dy), x); }
  static double reference(double x) { return x * x; }
  static double reference_derivative(double x) { return 2 * x; }
};

template <>
struct Function<Unary::abs> : UnaryTraits<Saved::argument, Domain::not_zero> {
  static constexpr const char* kName = "abs";
  static HWY_INLINE FloatVec value(FloatVec x) { return hn::Abs(x); }
  static HWY_INLINE FloatVec chain(FloatVec x, FloatVec dy) {
    return hn::IfThenZeroElse(hn::Eq(x, zero()), hn::Xor(dy, hn::And(x, set(-0.0F))));
  }
  static double reference(double x) { return std::abs(x); }
  static double reference_derivative(double x) { return x > 0 ? 1 : x < 0 ? -1 : 0; }
};

template <>
struct Function<Unary::neg> : UnaryTraits<Saved::nothing> {
  static constexpr const char* kName = "neg";
  static HWY_INLINE FloatVec value(FloatVec x) { return hn::Neg(x); }
  static HWY_INLINE FloatVec chain(FloatVec /*s*/, FloatVec dy) { return hn::Neg(dy); }
  static double reference(double x) { return -x; }
  static double reference_derivative(double /*x*/) { return -1; }
};

template <>
struct Function<Unary::sin> : UnaryTraits<Saved::argument> {
  static constexpr const char* kName = "sin";
  static HWY_INLINE FloatVec value(FloatVec x) { return sin(x); }
  static HWY_INLINE FloatVec derivative(FloatVec x) { return cos(x); }
  static double reference(double x) { return std::sin(x); }
  static double reference_derivative(double x) { return std::cos(x); }
};

template <>
struct Function<Unary::cos> : UnaryTraits<Saved::argument> {
  static constexpr const char* kName = "cos";
  static HWY_INLINE FloatVec value(FloatVec x) { return cos(x); }
  static HWY_INLINE FloatVec derivative(FloatVec x) { return hn::Neg(sin(x)); }
  static double reference(double x) { return std::cos(x); }
  static double reference_derivative(double x) { return -std::sin(x); }
};

template <>
struct Function<Unary::erf> : UnaryTraits<Saved::argument> {
  static constexpr const char* kName = "erf";
  static HWY_INLINE FloatVec value(FloatVec x) { return whole_erf(x); }
  static HWY_INLINE FloatVec chain(FloatVec x, FloatVec dy) {
    return hn::Mul(hn::Mul(set(1.128379167F), dy), bounded_exp(hn::Neg(hn::Mul(x, x))));
  }
  static double reference(double x) { return std::erf(x); }
  static double reference_derivative(double x) { return 2 / std::sqrt(M_PI) * std::exp(-x * x); }
};

template <>
struct Function<Unary::reciprocal> : UnaryTraits<Saved::value, Domain::not_zero> {
  static constexpr const char* kName = "reciprocal";
  static HWY_INLINE FloatVec value(FloatVec x) { return hn::Div(set(1.0F), x); }
  static HWY_INLINE FloatVec derivative(FloatVec y) { return hn::Neg(hn::Mul(y, y)); }
  static double reference(double x) { return 1 / x; }
  static double reference_derivative(double x) { return -1 / (x * x); }
};

// ---- Binary functions.

struct BinaryTraits {
  static constexpr Reads kReadsDa{};
  static constexpr Reads kReadsDb{};
  static constexpr Domain kDomainB = Domain::all;
  static constexpr bool kCompares = false;
};

template <>
struct Function<Binary::add> : BinaryTraits {
  static constexpr const char* kName = "add";
  static constexpr Reads kReadsDa{false, false};
  static constexpr Reads kReadsDb{false, false};
  static HWY_INLINE FloatVec value(FloatVec a, FloatVec b) { return hn::Add(a, b); }
  static HWY_INLINE FloatVec da(FloatVec /*a*/, FloatVec /*b*/, FloatVec dy) { return dy; }
  static HWY_INLINE FloatVec db(FloatVec /*a*/, FloatVec /*b*/, FloatVec dy) { return dy; }
  static double reference(double a, double b) { return a + b; }
  static double reference_da(double /*a*/, double /*b*/) { return 1; }
  static double reference_db(double /*a*/, double /*b*/) { return 1; }
};

template <>
struct Function<Binary::sub> : BinaryTraits {
  static constexpr const char* kName = "sub";
  static constexpr Reads kReadsDa{false, false};
  static constexpr Reads kReadsDb{false, false};
  static HWY_INLINE FloatVec value(FloatVec a, FloatVec b) { return hn::Sub(a, b); }
  static HWY_INLINE FloatVec da(FloatVec /*a*/, FloatVec /*b*/, FloatVec dy) { return dy; }
  static HWY_INLINE FloatVec db(FloatVec /*a*/, FloatVec /*b*/, FloatVec dy) { return hn::Neg(dy); }
  static double reference(double a, double b) { return a - b; }
  static double reference_da(double /*a*/, double /*b*/) { return 1; }
  static double reference_db(double /*a*/, double /*b*/) { return -1; }
};

template <>
struct Function<Binary::mul> : BinaryTraits {
  static constexpr const char* kName = "mul";
  static constexpr Reads kReadsDa{false, true};
  static constexpr Reads kReadsDb{true, false};
  static HWY_INLINE FloatVec value(FloatVec a, FloatVec b) { return hn::Mul(a, b); }
  static HWY_INLINE FloatVec da(FloatVec /*a*/, FloatVec b, FloatVec dy) { return hn::Mul(dy, b); }
  static HWY_INLINE FloatVec db(FloatVec a, FloatVec /*b*/, FloatVec dy) { return hn::Mul(dy, a); }
  static double reference(double a, double b) { return a * b; }
  static double reference_da(double /*a*/, double b) { return b; }
  static double reference_db(double a, double /*b*/) { return a; }
};

template <>
struct Function<Binary::div> : BinaryTraits {
  static constexpr const char* kName = "div";
  static constexpr Reads kReadsDa{false, true};
  static constexpr Domain kDomainB = Domain::not_zero;
  static HWY_INLINE FloatVec value(FloatVec a, FloatVec b) { return hn::Div(a, b); }
  static HWY_INLINE FloatVec da(FloatVec /*a*/, FloatVec b, FloatVec dy) { return hn::Div(dy, b); }
  static HWY_INLINE FloatVec db(FloatVec a, FloatVec b, FloatVec dy) {  // -dy a / b^2
    return hn::Neg(hn::Div(hn::Mul(hn::Div(a, b), dy), b));
  }
  static double reference(double a, double b) { return a / b; }
  static double reference_da(double /*a*/, double b) { return 1 / b; }
  static double reference_db(double a, double b) { return -a / b / b; }
};

// maximum and minimum: kMore tells which. dy goes to the one that was taken.
template <bool kMore>
struct Pick : BinaryTraits {
  static constexpr bool kCompares = true;
  static HWY_INLINE auto second_wins(FloatVec a, FloatVec b) {
    const auto beaten = kMore ? hn::Lt(a, b) : hn::Gt(a, b);
    return hn::Or(beaten, hn::IsNaN(b));
  }
  static HWY_INLINE FloatVec value(FloatVec a, FloatVec b) {
    return hn::IfThenElse(second_wins(a, b), b, a);
  }
  static HWY_INLINE FloatVec da(FloatVec a, FloatVec b, FloatVec dy) {
    return hn::IfThenZeroElse(second_wins(a, b), dy);
  }
  static HWY_INLINE FloatVec db(FloatVec a, FloatVec b, FloatVec dy) {
    return hn::IfThenElseZero(second_wins(a, b), dy);
  }
  static double reference_db(double a, double b) {
    return std::isnan(b) || (kMore ? a < b : a > b) ? 1 : 0;
  }
  static double reference_da(double a, double b) { return 1 - reference_db(a, b); }
  static double reference(double a, double b) { return reference_db(a, b) == 1 ? b : a; }
};

template <>
struct Function<Binary::maximum> : Pick<true> {
  static constexpr const char* kName = "maximum";
};

template <>
struct Function<Binary::minimum> : Pick<false> {
  static constexpr const char* kName = "minimum";
};

template <>
struct Function<Binary::swiglu> : BinaryTraits {
  using Silu = Function<Unary::silu>;
  static constexpr const char* kName = "swiglu";
  static constexpr Reads kReadsDb{true, false};
  static HWY_INLINE FloatVec value(FloatVec a, FloatVec b) { return hn::Mul(Silu::value(a), b); }
  static HWY_INLINE FloatVec da(FloatVec a, FloatVec b, FloatVec dy) {
    return hn::Mul(dy, hn::Mul(b, Silu::derivative(a)));
  }
  static HWY_INLINE FloatVec db(FloatVec a, FloatVec /*b*/, FloatVec dy) {
    return hn::Mul(dy, Silu::value(a));
  }
  static double reference(double a, double b) { return Silu::reference(a) * b; }
  static double reference_da(double a, double b) { return Silu::reference_derivative(a) * b; }
  static double reference_db(double a, double /*b*/) { return Silu::reference(a); }
};

// ---- Finding a row at run time.

template <typename Enum, typename Fn, size_t... kIndex>
HWY_INLINE void with_function_of(Enum function, const Fn& fn,
                                 std::index_sequence<kIndex...> /*all*/) {
  const bool found = ((function == static_cast<Enum>(kIndex) &&
                       (fn.template operator()<static_cast<Enum>(kIndex)>(), true)) ||
                      ...);
  HWY_DASSERT(found);
  (void)found;
}

// Calls fn.template operator()<function>() for a function known only at run time.
template <typename Enum, typename Fn>
HWY_INLINE void with_function(Enum function, const Fn& fn) {
  with_function_of(function, fn, std::make_index_sequence<static_cast<size_t>(Enum::kCount)>());
}

}  // namespace HWY_NAMESPACE
}  // namespace heed
HWY_AFTER_NAMESPACE();

#endif  // HEED_KERNELS_ELEMENTWISE_FUNCTIONS_INL_H_
