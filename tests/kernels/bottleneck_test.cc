#include "kernels/reference/bottleneck.h"

#include "kernels/bottleneck/nearest_code.h"
#include "kernels/bottleneck/noise.h"
#include "kernels/bottleneck/semantic_hash.h"
#include "support/kernel_buffer.h"

namespace heed::testing {
namespace {

TEST(NearestCode, IsTheReference) {
  for_each_isa([] {
    for (const DType dtype : kFloatTypes) {
      for (const int64_t width : {1, 3, 8, 17, 40}) {
        for (const int64_t codes : {1, 2, 4, 7, 33}) {
          SCOPED_TRACE(::testing::Message() << "width " << width << " codes " << codes);
          constexpr int64_t kRows = 5;
          constexpr int64_t kSlices = 3;
          const Buffer x = Buffer(kRows * kSlices * width, dtype, 3).fill(21);
          const Buffer book = Buffer(kSlices * codes * width, DType::f32, 1).fill(22);
          std::vector<int32_t> nearest(kRows * kSlices, -1);
          kernels::nearest_code({.rows = kRows,
                                 .slices = kSlices,
                                 .codes = codes,
                                 .width = width,
                                 .x = x.in(),
                                 .codebook = static_cast<const float*>(book.raw()),
                                 .nearest = nearest.data()});
          const std::vector<int64_t> expected =
              reference::nearest_codes<double>(x.values(), book.values(), kSlices, width);
          EXPECT_TRUE(std::equal(nearest.begin(), nearest.end(), expected.begin()));
        }
      }
    }
  });
}

// A row's code does not depend on the rows beside it, and of equal codes the first is taken.
TEST(NearestCode, OfARowAlone) {
  for_each_isa([] {
    const Buffer x = Buffer(50 * 24, DType::f32, 1).fill(31);
    Buffer book = Buffer(64 * 24, DType::f32, 0).fill(32);
    for (int64_t i = 0; i < 24; ++i) {
      book.set(40 * 24 + i, book.get(9 * 24 + i));
    }
    kernels::NearestCode args{.rows = 50,
                              .slices = 1,
                              .codes = 64,
                              .width = 24,
                              .x = x.in(),
                              .codebook = static_cast<const float*>(book.raw()),
                              .nearest = nullptr};
    std::vector<int32_t> all(50);
    args.nearest = all.data();
    kernels::nearest_code(args);
    for (int64_t row = 0; row < 50; ++row) {
      int32_t alone = -1;
      args.rows = 1;
      args.x = {static_cast<const float*>(x.raw()) + row * 24, DType::f32};
      args.nearest = &alone;
      kernels::nearest_code(args);
      EXPECT_EQ(alone, all[static_cast<size_t>(row)]);
      EXPECT_NE(alone, 40);
    }
  });
}

TEST(SemanticHashKernel, IsTheReference) {
  for_each_isa([] {
    for (const DType dtype : kFloatTypes) {
      for (const int64_t width : {1, 7, 16, 33}) {
        SCOPED_TRACE(width);
        const Buffer v = Buffer(4 * width, DType::f32, 3).fill(41, 2.0);
        Buffer y(4 * width, dtype, 1);
        Buffer soft(4 * width, DType::f32, 2);
        const std::vector<int8_t> discrete{0, 1, 0, 1};
        kernels::semantic_hash({.rows = 4,
                                .width = width,
                                .v = static_cast<const float*>(v.raw()),
                                .discrete = discrete.data(),
                                .y = y.out(),
                                .soft = soft.data<float>()});
        std::vector<double> values;
        std::vector<double> sigmoids;
        for (int64_t i = 0; i < v.size(); ++i) {
          sigmoids.push_back(reference::saturating_sigmoid(v.get(i)));
          const bool bits = discrete[static_cast<size_t>(i / width)] != 0;
          values.push_back(bits ? (v.get(i) > 0 ? 1.0 : 0.0) : sigmoids.back());
        }
        expect_close(y, values);
        expect_close(soft, sigmoids);
      }
    }
  });
}

TEST(Noise, IsAFunctionOfTheElement) {
  constexpr RandomStream kStream{5, 9};
  for (const kernels::Noise kind : {kernels::Noise::normal, kernels::Noise::gumbel}) {
    const Buffer x = Buffer(3001, DType::bf16, 1).fill(51);
    Buffer y(3001);
    kernels::add_noise({.n = x.size(),
                        .x = x.in(),
                        .y = y.data<float>(),
                        .kind = kind,
                        .amount = 0.5F,
                        .scale = 3.0F,
                        .stream = kStream});
    std::vector<double> expected;
    for (int64_t i = 0; i < x.size(); ++i) {
      const double noise =
          static_cast<double>(kernels::noise_at(kind, kStream, static_cast<uint64_t>(i)));
      expected.push_back(3.0 * (x.get(i) + 0.5 * noise));
    }
    expect_close(y, expected);
  }
}

}  // namespace
}  // namespace heed::testing
