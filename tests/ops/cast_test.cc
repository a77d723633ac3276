#include "ops/shape/cast.h"

#include <gtest/gtest.h>

#include "support/error_of.h"
#include "support/op_case.h"

namespace heed::testing {
namespace {

// To the other dtype, so f32 runs are rounded to 8 bits on the way.
const bool kRegistered =
    add_cases({{.op = "cast",
                .name = "other",
                .inputs = {{.shape = {3, 17}}},
                .run =
                    [](const std::vector<Tensor>& t) {
                      return std::vector<Tensor>{
                          cast(t[0], t[0].dtype() == DType::f32 ? DType::bf16 : DType::f32)};
                    },
                .reference = [](const std::vector<Array>& x) { return x; },
                .tolerance = 0.005,
                .bf16_tolerance = 0.005}});

TEST(Cast, SameDtypeIsTheSameTensor) {
  const Tensor x = Tensor::full({3}, 1.5F);
  EXPECT_EQ(cast(x, DType::f32).raw(), x.raw());
}

TEST(Cast, RefusesIntegers) {
  EXPECT_EQ(error_of([] { cast(Tensor::full({2}, 1.0F), DType::i32); }),
            "[cast] to i32, expected f32 or bf16");
}

}  // namespace
}  // namespace heed::testing
