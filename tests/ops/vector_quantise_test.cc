#include "ops/bottleneck/vector_quantise.h"

#include <gtest/gtest.h>

#include "autograd/tape.h"
#include "kernels/reference/bottleneck.h"
#include "support/error_of.h"
#include "support/op_case.h"

namespace heed::testing {
namespace {

// Values: the nearest vectors in the rows that chance chose. Gradients: those of x itself.
OpCase quantise_case(const std::string& name, const Shape& shape, const Shape& codebook,
                     float discrete = 1.0F) {
  const auto reference = [=](const std::vector<Array>& a) {
    const int64_t slices = codebook[0];
    const int64_t width = codebook[2];
    const std::vector<int64_t> nearest =
        reference::nearest_codes<double>(a[0].values, a[1].values, slices, width);
    Array y = a[0];
    for (int64_t i = 0; i < shape.size(); ++i) {
      const int64_t part = i / width;
      const int64_t row = part / slices;
      const bool chosen = RandomStream{kCaseSeed, 0}.uniform(static_cast<uint64_t>(row)) < discrete;
      if (chosen) {
        const int64_t code = part % slices * codebook[1] + nearest[static_cast<size_t>(part)];
        y.values[static_cast<size_t>(i)] =
            a[1].values[static_cast<size_t>(code * width + i % width)];
      }
    }
    return std::vector<Array>{y};
  };
  return {
      .op = "vector_quantise",
      .name = name,
      .inputs = {{.shape = shape}, {.shape = codebook, .kind = Kind::parameter, .gradient = false}},
      .run =
          [discrete](const std::vector<Tensor>& t) {
            return std::vector<Tensor>{vector_quantise(t[0], t[1], discrete).y};
          },
      .reference = reference,
      .surrogate = [](const std::vector<Array>& a) { return std::vector<Array>{a[0]}; }};
}

const bool kRegistered = add_cases({
    quantise_case("plain", {5, 7}, {1, 6, 7}),
    quantise_case("slices", {2, 3, 12}, {3, 5, 4}),
    quantise_case("some_rows", {9, 4}, {2, 8, 2}, 0.5F),
});

TEST(VectorQuantise, FindsTheNearestCodes) {
  const std::vector<float> codebook{0, 0, 1, 1, /* second slice */ 5, 5, -5, -5};
  const std::vector<float> x{0.9F, 0.8F, -1.0F, -2.0F, 0.1F, 0.2F, 4.0F, 0.0F};
  const Tensor book = Tensor::from(codebook, {2, 2, 2});
  const Quantised result = vector_quantise(Tensor::from(x, {2, 4}), book);
  EXPECT_EQ(result.codes.shape(), (Shape{2, 2}));
  EXPECT_EQ(result.codes.to_vector(), (std::vector<float>{1, 1, 0, 0}));
  EXPECT_EQ(result.y.to_vector(), (std::vector<float>{1, 1, -5, -5, 0, 0, 5, 5}));
  EXPECT_EQ(code_vectors(result.codes, book).to_vector(), result.y.to_vector());
}

TEST(VectorQuantise, GivesTheCodebookNoGradient) {
  Tape tape(1);
  const TapeScope scope(tape);
  Tensor x = Tensor::full({1, 2}, 0.5F);
  Tensor codebook = Tensor::full({1, 3, 2}, 0.25F);
  tape.watch(x);
  tape.watch(codebook);
  const Tensor y = vector_quantise(x, codebook).y;
  tape.backward(y, Tensor::full({1, 2}, 3.0F));
  EXPECT_EQ(x.slot()->grad.to_vector(), (std::vector<float>{3.0F, 3.0F}));
  EXPECT_FALSE(codebook.slot()->written);
}

TEST(VectorQuantise, NamesTheShapes) {
  const Tensor x = Tensor::zeros({2, 5});
  EXPECT_EQ(error_of([&] {
              vector_quantise(x, Tensor::zeros({2, 4, 3}));
            }),
            "[vector_quantise] x is [2,5], codebook is [2,4,3]: expected rows of 6 elements");
  EXPECT_EQ(error_of([&] {
              vector_quantise(x, Tensor::zeros({4, 5}));
            }),
            "[vector_quantise] codebook is [4,5], expected [slices, codes, width]");
  EXPECT_EQ(error_of([&] {
              vector_quantise(x, Tensor::zeros({1, 4, 5}), 2.0F);
            }),
            "[vector_quantise] discrete is 2, expected a share of the rows");
  const std::vector<int32_t> codes{0, 4};
  EXPECT_EQ(error_of([&] {
              code_vectors(Tensor::from_ints(codes, {2, 1}), Tensor::zeros({1, 4, 5}));
            }),
            "[code_vectors] a code is 4, expected 0 to 3");
  EXPECT_EQ(error_of([&] {
              code_vectors(Tensor::from_ints(codes, {1, 2}), Tensor::zeros({1, 4, 5}));
            }),
            "[code_vectors] codes is [1,2], codebook is [1,4,5]: expected a code for each slice");
}

}  // namespace
}  // namespace heed::testing
