#include "ops/loss/loss.h"

#include <gtest/gtest.h>

#include <functional>

#include "autograd/tape.h"
#include "base/error.h"
#include "kernels/reference/loss.h"
#include "support/op_case.h"

namespace heed::testing {
namespace {

using kernels::Loss;

constexpr const char* kNames[] = {"mse", "binary_cross_entropy_with_logits", "binary_cross_entropy",
                                  "kl_divergence"};
constexpr const char* kReductions[] = {"none", "mean", "sum", "batch_mean"};

Tensor run_loss(Loss loss, const std::vector<Tensor>& t, Reduction reduction) {
  switch (loss) {
    case Loss::mse:
      return mse(t[0], t[1], reduction);
    case Loss::binary_cross_entropy_logits:
      return binary_cross_entropy_with_logits(t[0], t[1], t.size() > 2 ? t[2] : Tensor(),
                                              reduction);
    case Loss::binary_cross_entropy:
      return binary_cross_entropy(t[0], t[1], reduction);
    default:
      return kl_divergence(t[0], t[1], reduction);
  }
}

// Strictly inside (0, 1).
std::vector<double> probabilities(int64_t n, int64_t stride) {
  std::vector<double> values;
  for (int64_t i = 0; i < n; ++i) {
    values.push_back(0.1 + 0.08 * static_cast<double>((i * stride) % 11));
  }
  return values;
}

Array reduced(const Array& values, Reduction reduction) {
  if (reduction == Reduction::none) {
    return values;
  }
  double total = 0;
  for (const double value : values.values) {
    total += value;
  }
  if (reduction == Reduction::mean) {
    total /= static_cast<double>(values.values.size());
  } else if (reduction == Reduction::batch_mean) {
    total /= static_cast<double>(values.shape[0]);
  }
  return {{}, {total}};
}

OpCase loss_case(Loss loss, Reduction reduction, Shape x, Kind target, Shape weight = {0}) {
  Input prediction{.shape = x};
  Input goal{.shape = x, .kind = target};
  if (loss == Loss::binary_cross_entropy) {
    prediction.values = probabilities(x.size(), 7);
  }
  if (loss != Loss::mse) {
    goal.values = probabilities(x.size(), 3);
    goal.gradient = loss == Loss::kl_divergence;
  }
  std::vector<Input> inputs{prediction, goal};
  const bool weighted = weight.size() > 0;
  if (weighted) {
    inputs.push_back({.shape = weight, .kind = target, .offset = 2.0, .gradient = false});
  }
  return {.op = kNames[static_cast<int>(loss)],
          .name = std::string(kReductions[static_cast<int>(reduction)]) + x.str() +
                  (target == Kind::parameter ? "_f32_target" : "") +
                  (weighted ? "_weight" + weight.str() : ""),
          .inputs = inputs,
          .run =
              [=](const std::vector<Tensor>& t) {
                return std::vector<Tensor>{run_loss(loss, t, reduction)};
              },
          .reference =
              [=](const std::vector<Array>& a) {
                Array values{x, {}};
                for (size_t i = 0; i < a[0].values.size(); ++i) {
                  values.values.push_back(reference::loss(loss, a[0].values[i], a[1].values[i]) *
                                          (weighted ? a[2].values[i % a[2].values.size()] : 1.0));
                }
                return std::vector<Array>{reduced(values, reduction)};
              }};
}

std::vector<OpCase> cases() {
  std::vector<OpCase> result;
  for (int i = 0; i < 4; ++i) {
    const Loss loss = static_cast<Loss>(i);
    for (int r = 0; r < 4; ++r) {
      result.push_back(loss_case(loss, static_cast<Reduction>(r), {3, 17}, Kind::activation));
    }
    result.push_back(loss_case(loss, Reduction::mean, {2, 33}, Kind::parameter));
    result.push_back(loss_case(loss, Reduction::none, {2, 1, 7}, Kind::parameter));
  }
  const Loss logits = Loss::binary_cross_entropy_logits;
  result.push_back(loss_case(logits, Reduction::mean, {3, 7}, Kind::activation, {3, 7}));
  result.push_back(loss_case(logits, Reduction::sum, {3, 7}, Kind::parameter, {7}));
  result.push_back(loss_case(logits, Reduction::none, {3, 7}, Kind::activation, {1}));
  return result;
}

const bool kRegistered = add_cases(cases());

TEST(Loss, ReducedLossesAreF32) {
  const Tensor x = Tensor::full({2, 3}, 0.5F, DType::bf16);
  EXPECT_EQ(mse(x, x).dtype(), DType::f32);
  EXPECT_EQ(mse(x, x).shape(), Shape());
  EXPECT_EQ(mse(x, x, Reduction::none).dtype(), DType::bf16);
}

TEST(Loss, NothingTimesLogNothingIsNothing) {
  const Tensor log_q = Tensor::from(std::vector<float>{-INFINITY, 0}, {1, 2});
  const Tensor p = Tensor::from(std::vector<float>{0, 1}, {1, 2});
  EXPECT_EQ(kl_divergence(log_q, p).item(), 0.0F);
}

TEST(Loss, Errors) {
  const auto error_of = [](const std::function<void()>& run) -> std::string {
    try {
      run();
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  const Tensor x = Tensor::zeros({2, 3});
  EXPECT_EQ(error_of([&] {
              mse(x, Tensor::zeros({3, 2}));
            }),
            "[mse] target is f32 [3,2], expected [2,3]");
  EXPECT_EQ(error_of([&] {
              mse(x, Tensor::zeros({2, 3}, DType::bf16));
            }),
            "[mse] target is bf16 [2,3], expected f32");
  EXPECT_EQ(error_of([&] { binary_cross_entropy_with_logits(x, x, Tensor::zeros({2})); }),
            "[binary_cross_entropy_with_logits] weight is [2], expected [2,3], its last axes or "
            "one element");
  EXPECT_EQ(error_of([&] { kl_divergence(Tensor::zeros({}), Tensor::zeros({})); }),
            "[kl_divergence] prediction is [], expected a first axis to average over");
  EXPECT_EQ(error_of([&] { binary_cross_entropy(Tensor(), x); }),
            "[binary_cross_entropy] prediction is an undefined tensor, expected f32 or bf16");
}

}  // namespace
}  // namespace heed::testing
