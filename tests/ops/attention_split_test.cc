// Attention of few heads and long sequences, whose work is cut into parts.
#include <gtest/gtest.h>

#include "autograd/tape.h"
#include "base/parallel.h"
#include "base/random.h"
#include "ops/attention/attention.h"

namespace heed {
namespace {

constexpr int64_t kLength = 1200;
constexpr int64_t kDim = 20;
constexpr int64_t kTableRows = 300;

// The same random numbers for each of `heads` heads: [1, length, heads, kDim].
Tensor repeated_heads(int64_t length, int64_t heads, uint64_t stream, DType dtype) {
  const RandomStream random{7, stream};
  std::vector<float> values;
  for (int64_t i = 0; i < length * heads; ++i) {
    for (int64_t d = 0; d < kDim; ++d) {
      values.push_back(random.normal(static_cast<uint64_t>(i / heads * kDim + d)));
    }
  }
  return Tensor::from(values, {1, length, heads, kDim}, dtype);
}

struct Result {
  std::vector<float> y, dq, dk, dv, d_relative;
};

Result forward_and_backward(int64_t heads, DType dtype, bool relative) {
  Tensor q = repeated_heads(kLength, heads, 1, dtype);
  Tensor k = repeated_heads(kLength, heads, 2, dtype);
  Tensor v = repeated_heads(kLength, heads, 3, dtype);
  // One table for all heads.
  Tensor table = repeated_heads(kTableRows, 1, 4, dtype).reshape({kTableRows, kDim});
  Tape tape;
  const TapeScope scope(tape);
  for (Tensor* input : {&q, &k, &v, &table}) {
    tape.watch(*input);
  }
  AttentionOptions options{.causal = true};
  if (relative) {
    options.relative = table;
  }
  const Tensor y = attention(q, k, v, options).y;
  tape.backward(y, repeated_heads(kLength, heads, 5, dtype));
  const auto gradient = [](const Tensor& t) { return t.slot()->grad.to_vector(); };
  return {y.to_vector(), gradient(q), gradient(k), gradient(v),
          relative ? gradient(table) : std::vector<float>()};
}

class AttentionSplit : public ::testing::TestWithParam<std::tuple<DType, bool>> {
 protected:
  const int before_ = num_threads();
  void TearDown() override { set_num_threads(before_); }
};

TEST_P(AttentionSplit, OneHeadHasTheSameBitsOnAnyNumberOfThreads) {
  const auto [dtype, relative] = GetParam();
  set_num_threads(1);
  const Result alone = forward_and_backward(1, dtype, relative);
  for (const int threads : {2, 3, 5}) {
    set_num_threads(threads);
    const Result result = forward_and_backward(1, dtype, relative);
    EXPECT_EQ(result.y, alone.y) << threads;
    EXPECT_EQ(result.dq, alone.dq) << threads;
    EXPECT_EQ(result.dk, alone.dk) << threads;
    EXPECT_EQ(result.dv, alone.dv) << threads;
    EXPECT_EQ(result.d_relative, alone.d_relative) << threads;
  }
}

// Eight heads are enough not to be cut; each of them is the one head again.
TEST_P(AttentionSplit, OneHeadIsOneOfEight) {
  const auto [dtype, relative] = GetParam();
  const Result one = forward_and_backward(1, dtype, relative);
  const Result eight = forward_and_backward(8, dtype, relative);
  const double tolerance = dtype == DType::f32 ? 2e-5 : 0.03;
  const auto expect_near = [&](const std::vector<float>& a, const std::vector<float>& b,
                               const char* what) {
    for (int64_t i = 0; i < kLength; ++i) {
      for (int64_t d = 0; d < kDim; ++d) {
        const double expected = a[static_cast<size_t>(i * kDim + d)];
        ASSERT_NEAR(b[static_cast<size_t>((i * 8 + 5) * kDim + d)], expected,
                    tolerance * (1.0 + std::abs(expected)))
            << what << " at " << i << ", " << d;
      }
    }
  };
  expect_near(one.y, eight.y, "y");
  expect_near(one.dq, eight.dq, "dq");
  expect_near(one.dk, eight.dk, "dk");
  expect_near(one.dv, eight.dv, "dv");
  for (size_t i = 0; i < one.d_relative.size(); ++i) {
    const double expected = 8.0 * one.d_relative[i];
    ASSERT_NEAR(eight.d_relative[i], expected, 8.0 * tolerance * (1.0 + std::abs(expected))) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(All, AttentionSplit,
                         ::testing::Combine(::testing::Values(DType::f32, DType::bf16),
                                            ::testing::Bool()));

// Decoding behind a past of several chunks: the same bits beside a longer row and alone.
TEST(AttentionPast, ARowHasTheSameBitsAloneAndBesideALongerPast) {
  constexpr int64_t kPast = 3000;
  for (const DType dtype : {DType::f32, DType::bf16}) {
    const Tensor q = repeated_heads(1, 2, 1, dtype);
    const Tensor k = repeated_heads(kPast, 2, 2, dtype);
    const Tensor v = repeated_heads(kPast, 2, 3, dtype);
    const auto past_of = [&](int64_t keys) {
      const auto first = [&](const Tensor& t) {
        return t.reshape({kPast, 2, kDim}).rows(0, keys).reshape({1, keys, 2, kDim});
      };
      const Tensor lengths = Tensor::from_ints(std::vector<int32_t>{700}, {1});
      return attention(q, first(k), first(v), {.lengths = lengths}).y.to_vector();
    };
    const std::vector<float> alone = past_of(700);
    EXPECT_EQ(past_of(1500), alone);
    EXPECT_EQ(past_of(kPast), alone);
  }
}

}  // namespace
}  // namespace heed
