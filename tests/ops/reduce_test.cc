#include "ops/reduce.h"

#include <gtest/gtest.h>

#include <optional>

#include "autograd/tape.h"
#include "base/error.h"
#include "kernels/reference/axis_reduction.h"
#include "support/op_case.h"

namespace heed::testing {
namespace {

struct Over {
  std::optional<int> axis;
  bool keep_dim = false;
};

Tensor reduce(const std::string& op, const Tensor& x, Over over) {
  if (!over.axis) {
    return op == "sum" ? sum(x) : op == "mean" ? mean(x) : max(x);
  }
  const int axis = *over.axis;
  return op == "sum"    ? sum(x, axis, over.keep_dim)
         : op == "mean" ? mean(x, axis, over.keep_dim)
                        : max(x, axis, over.keep_dim);
}

// All different, with gaps that differences do not reach across.
std::vector<double> distinct(int64_t n) {
  std::vector<double> values;
  for (int64_t i = 0; i < n; ++i) {
    values.push_back(0.0625 * static_cast<double>((i * 29) % 127 - 60));
  }
  return values;
}

OpCase reduce_case(std::string op, std::string name, Shape x, Shape y, Over over) {
  Input input{.shape = x};
  if (op == "max") {
    input.values = distinct(x.size());
  }
  const int along = over.axis ? x.axis(*over.axis, "test") : 0;
  const int64_t n = over.axis ? x[along] : x.size();
  const int64_t inner = over.axis ? x.product(along + 1, x.rank()) : 1;
  return {
      .op = op,
      .name = std::move(name),
      .inputs = {input},
      .run =
          [=](const std::vector<Tensor>& t) { return std::vector<Tensor>{reduce(op, t[0], over)}; },
      .reference =
          [=](const std::vector<Array>& a) {
            Array result{y, op == "max" ? reference::axis_max<double>(a[0].values, n, inner)
                                        : reference::axis_sum<double>(a[0].values, n, inner)};
            for (double& value : result.values) {
              value /= op == "mean" ? static_cast<double>(n) : 1.0;
            }
            return std::vector<Array>{result};
          }};
}

std::vector<OpCase> cases() {
  std::vector<OpCase> result;
  for (const char* op : {"sum", "mean", "max"}) {
    result.push_back(reduce_case(op, "all", {3, 33}, {}, {}));
    result.push_back(reduce_case(op, "last", {3, 2, 17}, {3, 2}, {-1}));
    result.push_back(reduce_case(op, "last_kept", {3, 17}, {3, 1}, {1, true}));
    result.push_back(reduce_case(op, "first", {7, 17}, {17}, {0}));
    result.push_back(reduce_case(op, "middle", {2, 7, 3}, {2, 3}, {1}));
    result.push_back(reduce_case(op, "middle_kept", {2, 7, 3}, {2, 1, 3}, {-2, true}));
    result.push_back(reduce_case(op, "vector", {100}, {}, {0}));
  }
  return result;
}

const bool kRegistered = add_cases(cases());

TEST(Reduce, TheFirstMaximumGetsTheGradient) {
  Tape tape;
  const TapeScope scope(tape);
  Tensor x = Tensor::from(std::vector<float>{1, 3, 3, 2, 2, 1}, {2, 3});
  tape.watch(x);
  const Tensor y = max(x, 1);
  EXPECT_EQ(y.to_vector(), (std::vector<float>{3, 2}));
  tape.backward(y, Tensor::from(std::vector<float>{5, 7}, {2}));
  EXPECT_EQ(x.slot()->grad.to_vector(), (std::vector<float>{0, 5, 0, 7, 0, 0}));
}

// A running sum in f32 would stop growing at 2^24.
TEST(Reduce, LongSumsAreAccurate) {
  const int64_t n = (int64_t{1} << 24) + 1000;
  EXPECT_EQ(sum(Tensor::full({n}, 1.0F)).item(), static_cast<float>(n));
  const double rows = static_cast<double>(n / 8);
  const float columns = sum(Tensor::full({n / 8, 8}, 0.1F), 0).to_vector()[3];
  EXPECT_NEAR(static_cast<double>(columns) / (static_cast<double>(0.1F) * rows), 1.0, 1e-6);
}

TEST(Reduce, Errors) {
  const auto error_of = [](const auto& run) -> std::string {
    try {
      run();
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_EQ(error_of([] {
              sum(Tensor::zeros({2, 3}), 2);
            }),
            "[sum] axis is 2, expected -2 to 1 for [2,3]");
  EXPECT_EQ(error_of([] { mean(Tensor::from_ints(std::vector<int32_t>(2), {2})); }),
            "[mean] x is i32 [2], expected f32 or bf16");
  EXPECT_EQ(error_of([] {
              max(Tensor::zeros({2, 0}), 1);
            }),
            "[max] x is [2,0], expected 1 to 2^31 - 1 elements to choose from");
}

}  // namespace
}  // namespace heed::testing
