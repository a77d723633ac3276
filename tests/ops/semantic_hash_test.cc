#include "ops/bottleneck/semantic_hash.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "autograd/tape.h"
#include "kernels/bottleneck/noise.h"
#include "kernels/reference/bottleneck.h"
#include "support/error_of.h"
#include "support/op_case.h"

namespace heed::testing {
namespace {

// The op draws two streams: the noise, and which rows are bits.
double noise_of(int64_t element) {
  return static_cast<double>(
      kernels::noise_at(kernels::Noise::normal, {kCaseSeed, 0}, static_cast<uint64_t>(element)));
}
bool is_discrete(int64_t row, float share) {
  return RandomStream{kCaseSeed, 1}.uniform(static_cast<uint64_t>(row)) < share;
}

// Values: bits in the rows that chance chose. Gradients: those of the saturating sigmoid in all.
OpCase hash_case(const std::string& name, const Shape& shape, const SemanticHashOptions& options) {
  const auto value = [options, shape](const Array& x, bool bits) {
    Array y{x.shape, {}};
    for (int64_t i = 0; i < x.shape.size(); ++i) {
      const double v =
          x.values[static_cast<size_t>(i)] + static_cast<double>(options.noise) * noise_of(i);
      const bool discrete = bits && is_discrete(i / shape[-1], options.discrete);
      y.values.push_back(discrete ? (v > 0 ? 1.0 : 0.0) : reference::saturating_sigmoid(v));
    }
    return std::vector<Array>{y};
  };
  return {.op = "semantic_hash",
          .name = name,
          .inputs = {{.shape = shape}},
          .run =
              [options](const std::vector<Tensor>& t) {
                return std::vector<Tensor>{semantic_hash(t[0], options)};
              },
          .reference = [value](const std::vector<Array>& a) { return value(a[0], true); },
          .surrogate = [value](const std::vector<Array>& a) { return value(a[0], false); }};
}

const bool kRegistered = add_cases({
    hash_case("half", {6, 12}, {}),
    hash_case("all_bits", {3, 2, 7}, {.discrete = 1.0F}),
    hash_case("soft", {3, 19}, {.noise = 0.5F, .discrete = 0.0F}),
    hash_case("no_noise", {2, 5}, {.noise = 0.0F}),
});

TEST(SemanticHash, GivesBitsWithoutATape) {
  const std::vector<float> x{-3.0F, 0.25F, 0.0F, 7.0F};
  EXPECT_EQ(semantic_hash(Tensor::from(x, {4})).to_vector(),
            (std::vector<float>{0.0F, 1.0F, 0.0F, 1.0F}));
}

TEST(SemanticHash, MakesHalfOfTheRowsBits) {
  Tape tape(3);
  const TapeScope scope(tape);
  const Tensor y = semantic_hash(Tensor::zeros({1000, 3}));
  int64_t bits = 0;
  for (int64_t row = 0; row < 1000; ++row) {
    const float* values = y.data<float>() + row * 3;
    bits += std::all_of(values, values + 3, [](float v) { return v == 0.0F || v == 1.0F; }) ? 1 : 0;
  }
  EXPECT_NEAR(static_cast<double>(bits), 500.0, 60.0);
}

TEST(SemanticHash, CodesAndBitsAreTheSame) {
  const std::vector<int32_t> codes{0, 5, 7, 2};
  const Tensor bits = bits_of_codes(Tensor::from_ints(codes, {2, 2}), 3, DType::f32);
  EXPECT_EQ(bits.to_vector(), (std::vector<float>{0, 0, 0, 1, 0, 1, 1, 1, 1, 0, 1, 0}));
  const Tensor back = codes_of_bits(bits, 3);
  EXPECT_EQ(back.shape(), (Shape{2, 2}));
  EXPECT_TRUE(std::equal(codes.begin(), codes.end(), back.data<int32_t>()));
}

TEST(SemanticHash, NamesWhatIsWrong) {
  const Tensor x = Tensor::zeros({2, 5});
  EXPECT_EQ(error_of([&] { semantic_hash(x, {.discrete = 1.5F}); }),
            "[semantic_hash] discrete is 1.5 and noise 1, expected a share of the rows and 0 or "
            "more");
  EXPECT_EQ(error_of([&] { codes_of_bits(x, 3); }),
            "[codes_of_bits] x is [2,5], expected rows of codes of 3 bits");
  EXPECT_EQ(error_of([&] { codes_of_bits(x, 25); }),
            "[codes_of_bits] codes of 25 bits, expected 1 to 24");
  const std::vector<int32_t> codes{8};
  EXPECT_EQ(error_of([&] {
              bits_of_codes(Tensor::from_ints(codes, {1, 1}), 3, DType::f32);
            }),
            "[bits_of_codes] a code is 8, expected 0 to 7");
}

}  // namespace
}  // namespace heed::testing
