#include "autograd/tape.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "ops/linear.h"
#include "ops/pointwise.h"

namespace heed {
namespace {

Tensor ones(const Shape& shape) { return Tensor::full(shape, 1.0F); }

TEST(Tape, WithoutAScopeNothingIsRecorded) {
  Tape tape;
  const Tensor y = linear(ones({2, 3}), ones({4, 3}), Tensor());
  EXPECT_EQ(y.slot(), nullptr);
  EXPECT_EQ(tape.nodes(), 0U);
}

TEST(Tape, InferenceInTheMiddleIsNotRecorded) {
  Tape tape;
  const TapeScope scope(tape);
  Tensor x = ones({2, 3});
  tape.watch(x);
  {
    const InferenceScope inference;
    EXPECT_EQ(Tape::current(), nullptr);
    EXPECT_EQ(linear(x, ones({4, 3}), Tensor()).slot(), nullptr);
  }
  EXPECT_EQ(Tape::current(), &tape);
  EXPECT_EQ(tape.nodes(), 0U);
  EXPECT_NE(linear(x, ones({4, 3}), Tensor()).slot(), nullptr);
}

TEST(Tape, ConstantsAreNotRecorded) {
  Tape tape;
  const TapeScope scope(tape);
  const Tensor y = linear(ones({2, 3}), ones({4, 3}), Tensor());
  EXPECT_EQ(tape.nodes(), 0U);
  EXPECT_THROW(tape.backward(y, ones({2, 4})), Error);
}

// y = x + x: both uses of x reach its gradient, though add() hands the same tensor to both.
TEST(Tape, AliasedGradientsStayApart) {
  Tape tape;
  const TapeScope scope(tape);
  Tensor x = ones({4});
  tape.watch(x);
  const Tensor y = add(x, x);
  const Tensor z = add(y, x);
  tape.backward(z, ones({4}));
  EXPECT_EQ(x.slot()->grad.to_vector(), (std::vector<float>{3, 3, 3, 3}));
}

TEST(Tape, ReshapeSharesTheGradient) {
  Tape tape;
  const TapeScope scope(tape);
  Tensor x = ones({2, 3});
  tape.watch(x);
  const Tensor y = scale(x.reshape({6}), 2.0F);
  tape.backward(y, ones({6}));
  EXPECT_EQ(x.slot()->grad.to_vector(), std::vector<float>(6, 2.0F));
}

// The first to contribute may be a reshaped handle; the op still gets the gradient in its own
// shape.
TEST(Tape, GradientsHaveTheShapeOfTheOutput) {
  Tape tape;
  const TapeScope scope(tape);
  Tensor a = ones({2, 3, 4});
  Tensor b = ones({2, 4, 5});
  tape.watch(a);
  tape.watch(b);
  const Tensor y = scale(matmul(a, b).reshape({6, 5}), 2.0F);
  tape.backward(y, ones({6, 5}));
  EXPECT_EQ(a.slot()->grad.to_vector(), std::vector<float>(24, 10.0F));
  EXPECT_EQ(b.slot()->grad.to_vector(), std::vector<float>(40, 6.0F));
}

TEST(Tape, BackwardGivesActivationsBack) {
  Tape tape;
  const TapeScope scope(tape);
  Tensor x = ones({64, 64});
  tape.watch(x);
  const size_t before = Arena::global().live_bytes();
  {
    Tensor y = x;
    for (int i = 0; i < 8; ++i) {
      y = square(y);
    }
    tape.backward(y, ones({64, 64}));
  }
  // What is left is the gradient of x.
  EXPECT_LE(Arena::global().live_bytes(), before + 64 * 64 * 4 + 128);
}

}  // namespace
}  // namespace heed
