#include "ops/pointwise.h"

#include <gtest/gtest.h>

#include <map>

#include "autograd/tape.h"
#include "base/error.h"
#include "kernels/elementwise/dropout.h"
#include "kernels/reference/pointwise.h"
#include "kernels/reference/reference.h"
#include "support/error_of.h"
#include "support/op_case.h"

namespace heed::testing {
namespace {

using kernels::BinaryRow;
using kernels::Domain;
using kernels::UnaryRow;

// At least 0.3 from zero: for divisors and for functions with a pole there.
std::vector<double> away_from_zero(int64_t n, bool positive) {
  std::vector<double> values;
  for (int64_t i = 0; i < n; ++i) {
    const double size = 0.3 + 0.17 * static_cast<double>((i * 7) % 11);
    values.push_back(!positive && i % 3 == 1 ? -size : size);
  }
  return values;
}

// Far enough from each other that a difference never changes sides: a on halves, b on quarters.
std::vector<double> lattice(int64_t n, double offset) {
  std::vector<double> values;
  for (int64_t i = 0; i < n; ++i) {
    values.push_back(0.5 * static_cast<double>((i * 5) % 9 - 4) + offset);
  }
  return values;
}

OpCase binary_case(const BinaryRow& row, std::string name, Shape a, Shape b, Kind b_kind) {
  std::vector<Input> inputs{{.shape = a}, {.shape = b, .kind = b_kind}};
  if (row.domain_b != Domain::all) {
    inputs[1].values = away_from_zero(b.size(), row.domain_b == Domain::positive);
  } else if (row.compares) {
    inputs[0].values = lattice(a.size(), 0.0);
    inputs[1].values = lattice(b.size(), 0.25);
  }
  return {.op = row.name,
          .name = std::move(name),
          .inputs = inputs,
          .run =
              [&row](const std::vector<Tensor>& t) {
                return std::vector<Tensor>{pointwise(row.function, t[0], t[1])};
              },
          .reference =
              [&row, a](const std::vector<Array>& x) {
                return std::vector<Array>{
                    {a, reference::binary<double>(row.function, x[0].values, x[1].values)}};
              }};
}

std::vector<OpCase> binary_cases() {
  std::vector<OpCase> cases;
  for (const BinaryRow& row : kernels::binary_rows()) {
    cases.push_back(binary_case(row, "equal", {3, 17}, {3, 17}, Kind::activation));
    cases.push_back(binary_case(row, "vector", {2, 3, 7}, {7}, Kind::activation));
    cases.push_back(binary_case(row, "matrix", {2, 3, 33}, {3, 33}, Kind::activation));
    cases.push_back(binary_case(row, "one", {2, 33}, {1}, Kind::activation));
    cases.push_back(binary_case(row, "scalar", {100}, {}, Kind::activation));
    cases.push_back(binary_case(row, "f32_vector", {4, 17}, {17}, Kind::parameter));
    cases.push_back(binary_case(row, "f32_equal", {2, 9}, {2, 9}, Kind::parameter));
  }
  return cases;
}

OpCase unary_case(const UnaryRow& row) {
  const Shape shape{3, 33};
  Input input{.shape = shape};
  if (row.domain != Domain::all) {
    input.values = away_from_zero(shape.size(), row.domain == Domain::positive);
  }
  return {.op = row.name,
          .name = "plain",
          .inputs = {input},
          .run =
              [&row](const std::vector<Tensor>& t) {
                return std::vector<Tensor>{pointwise(row.function, t[0])};
              },
          .reference =
              [&row, shape](const std::vector<Array>& x) {
                Array y{shape, {}};
                for (const double value : x[0].values) {
                  y.values.push_back(row.value(value));
                }
                return std::vector<Array>{y};
              }};
}

OpCase affine_case(std::string op, float value) {
  const Shape shape{2, 17};
  const bool scales = op == "scale";
  return {.op = op,
          .name = "plain",
          .inputs = {{.shape = shape}},
          .run =
              [=](const std::vector<Tensor>& t) {
                return std::vector<Tensor>{scales ? scale(t[0], value) : add_scalar(t[0], value)};
              },
          .reference =
              [=](const std::vector<Array>& x) {
                Array y = x[0];
                for (double& v : y.values) {
                  v = scales ? v * static_cast<double>(value) : v + static_cast<double>(value);
                }
                return std::vector<Array>{y};
              }};
}

OpCase dropout_case(std::string name, Shape shape, float p) {
  return {
      .op = "dropout",
      .name = std::move(name),
      .inputs = {{.shape = shape}},
      .run = [=](const std::vector<Tensor>& t) { return std::vector<Tensor>{dropout(t[0], p)}; },
      .reference =
          [=](const std::vector<Array>& x) {
            const kernels::Dropout mask{p, {kCaseSeed, 0}};
            return std::vector<Array>{
                {shape, reference::dropout<double>(x[0].values, mask, shape.size(), shape.size())}};
          }};
}

OpCase where_case(std::string name, Shape mask, Shape a, Shape b) {
  return {
      .op = "where",
      .name = std::move(name),
      .inputs = {{.shape = mask, .kind = Kind::byte, .scale = 2.0}, {.shape = a}, {.shape = b}},
      .run =
          [](const std::vector<Tensor>& t) { return std::vector<Tensor>{where(t[0], t[1], t[2])}; },
      .reference =
          [=](const std::vector<Array>& x) {
            return std::vector<Array>{
                {a, reference::select<double>(x[0].values, x[1].values, x[2].values)}};
          }};
}

std::vector<OpCase> all() {
  std::vector<OpCase> cases = binary_cases();
  for (const UnaryRow& row : kernels::unary_rows()) {
    if (row.function != Unary::none) {  // gives x itself, which no op recorded
      cases.push_back(unary_case(row));
    }
  }
  cases.push_back(affine_case("scale", -1.75F));
  cases.push_back(affine_case("add_scalar", 0.375F));
  cases.push_back(dropout_case("odd", {3, 33}, 0.25F));
  cases.push_back(dropout_case("groups", {3, 100}, 0.5F));
  cases.push_back(where_case("equal", {3, 17}, {3, 17}, {3, 17}));
  cases.push_back(where_case("repeated_mask", {17}, {3, 17}, {3, 17}));
  cases.push_back(where_case("repeated_both", {3, 7}, {2, 3, 7}, {7}));
  cases.push_back(where_case("scalar", {2, 33}, {2, 33}, {}));
  return cases;
}

const bool kRegistered = add_cases(all());

TEST(Elementwise, ErrorsNameTheOpAndBothValues) {
  const Tensor x = Tensor::zeros({2, 3});
  const Tensor ints = Tensor::from_ints(std::vector<int32_t>(6), {2, 3});
  const Tensor mask = Tensor::from_bytes(std::vector<int8_t>(2), {2});
  EXPECT_EQ(error_of([&] { add(x, Tensor::zeros({2})); }),
            "[add] b is [2], expected [2,3], its last axes or one element");
  EXPECT_EQ(error_of([&] {
              mul(x, Tensor::zeros({1, 2, 3}));
            }),
            "[mul] b is [1,2,3], expected [2,3], its last axes or one element");
  EXPECT_EQ(error_of([&] {
              sub(x, Tensor::zeros({2, 3}, DType::bf16));
            }),
            "[sub] b is bf16 [2,3], expected f32");
  EXPECT_EQ(error_of([&] { div(ints, x); }), "[div] a is i32 [2,3], expected f32 or bf16");
  EXPECT_EQ(error_of([&] { exp(ints); }), "[exp] x is i32 [2,3], expected f32 or bf16");
  EXPECT_EQ(error_of([&] { relu(ints); }), "[relu] x is i32 [2,3], expected f32 or bf16");
  EXPECT_EQ(error_of([&] { dropout(x, 1.0F); }), "[dropout] p is 1, expected 0 <= p < 1");
  EXPECT_EQ(error_of([&] { where(x, x, x); }), "[where] mask is f32 [2,3], expected int8");
  EXPECT_EQ(error_of([&] { where(mask, x, x); }),
            "[where] mask is [2], expected [2,3], its last axes or one element");
}

// The functions by their names are the rows of the table.
TEST(Elementwise, NamedFunctions) {
  using UnaryOp = Tensor (*)(const Tensor&);
  using BinaryOp = Tensor (*)(const Tensor&, const Tensor&);
  const std::map<Unary, UnaryOp> unary_ops{{Unary::relu, relu},
                                           {Unary::gelu, gelu},
                                           {Unary::gelu_tanh, gelu_tanh},
                                           {Unary::sigmoid, sigmoid},
                                           {Unary::tanh, tanh},
                                           {Unary::silu, silu},
                                           {Unary::softplus, softplus},
                                           {Unary::mish, mish},
                                           {Unary::elu, elu},
                                           {Unary::leaky_relu, leaky_relu},
                                           {Unary::exp, exp},
                                           {Unary::log, log},
                                           {Unary::sqrt, sqrt},
                                           {Unary::rsqrt, rsqrt},
                                           {Unary::square, square},
                                           {Unary::abs, abs},
                                           {Unary::neg, neg},
                                           {Unary::sin, sin},
                                           {Unary::cos, cos},
                                           {Unary::erf, erf},
                                           {Unary::reciprocal, reciprocal}};
  const std::map<Binary, BinaryOp> binary_ops{
      {Binary::add, add},      {Binary::sub, sub},         {Binary::mul, mul},
      {Binary::div, div},      {Binary::maximum, maximum}, {Binary::minimum, minimum},
      {Binary::swiglu, swiglu}};
  const Tensor x = Tensor::from(std::vector<float>{0.3F, 0.8F, 2.5F}, {3});
  const Tensor b = Tensor::from(std::vector<float>{0.7F, -0.8F, 2.25F}, {3});
  EXPECT_EQ(unary_ops.size() + 1, kernels::unary_rows().size());
  for (const auto& [function, op] : unary_ops) {
    EXPECT_EQ(op(x).to_vector(), pointwise(function, x).to_vector());
  }
  EXPECT_EQ(binary_ops.size(), kernels::binary_rows().size());
  for (const auto& [function, op] : binary_ops) {
    EXPECT_EQ(op(x, b).to_vector(), pointwise(function, x, b).to_vector());
  }
  EXPECT_EQ(pointwise(Unary::none, x).raw(), x.raw());
}

TEST(Elementwise, AddHandsItsGradientOnWithoutACopy) {
  Tape tape;
  const TapeScope scope(tape);
  Tensor a = Tensor::zeros({2, 3});
  Tensor b = Tensor::zeros({2, 3});
  tape.watch(a);
  tape.watch(b);
  const Tensor y = add(a, b);
  const Tensor dy = Tensor::full({2, 3}, 2.0F);
  tape.backward(y, dy);
  EXPECT_EQ(a.slot()->grad.raw(), dy.raw());
  EXPECT_EQ(b.slot()->grad.raw(), dy.raw());
}

TEST(Elementwise, TheSameTensorTwice) {
  Tape tape;
  const TapeScope scope(tape);
  Tensor x = Tensor::from(std::vector<float>{1, 2, 3}, {3});
  tape.watch(x);
  const Tensor y = add(mul(x, x), add(x, x));  // x^2 + 2 x
  tape.backward(y, Tensor::full({3}, 1.0F));
  EXPECT_EQ(x.slot()->grad.to_vector(), (std::vector<float>{4, 6, 8}));
}

TEST(Elementwise, DropoutIsForTrainingOnly) {
  const Tensor x = Tensor::full({100}, 1.0F);
  EXPECT_EQ(dropout(x, 0.5F).raw(), x.raw());
  Tape tape;
  const TapeScope scope(tape);
  EXPECT_NE(dropout(x, 0.5F).to_vector(), x.to_vector());
  EXPECT_EQ(dropout(x, 0.0F).raw(), x.raw());
  EXPECT_EQ(tape.draws(), 1U);
}

// The gradient of a bf16 parameter collects in f32.
TEST(Elementwise, GradientsOfAnotherDtype) {
  GradSlot slot{.grad = Tensor::full({4}, 1.0F), .written = true, .tape = 0};
  Tensor x = Tensor::full({4}, 0.5F, DType::bf16);
  x.set_slot(&slot);
  Tape tape(1);
  const TapeScope scope(tape);
  Tensor y = relu(square(x));
  y = add(where(Tensor::from_bytes(std::vector<int8_t>{1}, {}), y, y), relu(x));
  y = add(y, mul(Tensor::full({4}, 2.0F, DType::bf16), x));
  y = add(y, dropout(x, 0.5F));
  tape.backward(y, Tensor::full({4}, 1.0F, DType::bf16));
  const kernels::Dropout mask{0.5F, {1, 0}};
  EXPECT_EQ(slot.grad.dtype(), DType::f32);
  for (uint64_t i = 0; i < 4; ++i) {
    // What was there, 2 x, 1, 2, and what dropout lets through.
    const float expected = 1.0F + 1.0F + 1.0F + 2.0F + (mask.keeps(i) ? 2.0F : 0.0F);
    EXPECT_EQ(slot.grad.data<float>()[i], expected);
  }
}

}  // namespace
}  // namespace heed::testing
