#include "ops/softmax.h"

#include <gtest/gtest.h>

#include <limits>

#include "autograd/tape.h"
#include "base/error.h"
#include "kernels/reference/softmax.h"
#include "support/op_case.h"

namespace heed::testing {
namespace {

OpCase softmax_case(bool log, std::string name, Shape x, int axis) {
  return {.op = log ? "log_softmax" : "softmax",
          .name = std::move(name),
          .inputs = {{.shape = x, .scale = 2.0}},
          .run =
              [=](const std::vector<Tensor>& t) {
                return std::vector<Tensor>{log ? log_softmax(t[0], axis) : softmax(t[0], axis)};
              },
          .reference =
              [=](const std::vector<Array>& a) {
                const int along = x.axis(axis, "softmax");
                return std::vector<Array>{
                    {x, reference::softmax<double>(a[0].values, x[along],
                                                   x.product(along + 1, x.rank()), log)}};
              }};
}

std::vector<OpCase> cases() {
  std::vector<OpCase> result;
  for (const bool log : {false, true}) {
    result.push_back(softmax_case(log, "last", {2, 3, 17}, -1));
    result.push_back(softmax_case(log, "wide", {1, 100}, 1));
    result.push_back(softmax_case(log, "one", {7, 1}, -1));
    result.push_back(softmax_case(log, "first", {7, 33}, 0));
    result.push_back(softmax_case(log, "middle", {2, 7, 3}, 1));
  }
  return result;
}

const bool kRegistered = add_cases(cases());

TEST(Softmax, RowsWithoutMassGiveZeros) {
  const float nothing = -std::numeric_limits<float>::infinity();
  Tape tape;
  const TapeScope scope(tape);
  Tensor x = Tensor::from(std::vector<float>{nothing, nothing, 0, nothing}, {2, 2});
  tape.watch(x);
  const Tensor y = softmax(x);
  EXPECT_EQ(y.to_vector(), (std::vector<float>{0, 0, 1, 0}));
  EXPECT_EQ(log_softmax(x).to_vector(), (std::vector<float>{nothing, nothing, 0, nothing}));
  tape.backward(y, Tensor::full({2, 2}, 3.0F));
  EXPECT_EQ(x.slot()->grad.to_vector(), (std::vector<float>{0, 0, 0, 0}));
}

TEST(Softmax, Errors) {
  try {
    softmax(Tensor::zeros({2, 3}), 2);
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "[softmax] axis is 2, expected -2 to 1 for [2,3]");
  }
  try {
    log_softmax(Tensor::from_ints(std::vector<int32_t>(2), {2}));
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "[log_softmax] x is i32 [2], expected f32 or bf16");
  }
}

}  // namespace
}  // namespace heed::testing
