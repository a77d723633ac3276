#include "ops/loss/agreement.h"

#include <gtest/gtest.h>

#include <cmath>

#include "support/error_of.h"
#include "support/op_case.h"

namespace heed::testing {
namespace {

std::vector<double> log_softmax(const double* x, int64_t n) {
  double total = 0;
  for (int64_t i = 0; i < n; ++i) {
    total += std::exp(x[i]);
  }
  std::vector<double> y;
  for (int64_t i = 0; i < n; ++i) {
    y.push_back(x[i] - std::log(total));
  }
  return y;
}

// sum over v of (p - q) (log p - log q) / 2
double divergence(const double* x, const double* y, int64_t n) {
  const std::vector<double> log_p = log_softmax(x, n);
  const std::vector<double> log_q = log_softmax(y, n);
  double total = 0;
  for (size_t i = 0; i < log_p.size(); ++i) {
    total += (std::exp(log_p[i]) - std::exp(log_q[i])) * (log_p[i] - log_q[i]) / 2;
  }
  return total;
}

OpCase agreement_case(const std::string& name, const std::vector<double>& targets,
                      int64_t classes) {
  const auto pairs = static_cast<int64_t>(targets.size());
  const auto run = [](const std::vector<Tensor>& t) {
    return std::vector<Tensor>{agreement(t[0], t[1], -1)};
  };
  const auto reference = [=](const std::vector<Array>& a) {
    double total = 0;
    double count = 0;
    for (int64_t i = 0; i < pairs; ++i) {
      if (targets[static_cast<size_t>(i)] != -1) {
        const double* x = a[0].values.data();
        total += divergence(x + i * classes, x + (pairs + i) * classes, classes);
        ++count;
      }
    }
    return std::vector<Array>{{Shape{}, {total / std::max(count, 1.0)}}};
  };
  return {.op = "agreement",
          .name = name,
          .inputs = {{.shape = {2 * pairs, classes}, .scale = 2.0},
                     {.shape = {pairs}, .kind = Kind::integer, .values = targets}},
          .run = run,
          .reference = reference};
}

const bool kRegistered = add_cases({
    agreement_case("plain", {0, 6, 3}, 7),
    agreement_case("wide", {40, 0}, 41),
    agreement_case("ignored", {2, -1, 3, -1}, 33),
    agreement_case("nothing_counts", {-1, -1}, 5),
});

TEST(Agreement, OfEqualsIsZero) {
  std::vector<float> row(19);
  for (size_t i = 0; i < row.size(); ++i) {
    row[i] = static_cast<float>(i % 5) * 10.0F;
  }
  std::vector<float> both = row;
  both.insert(both.end(), row.begin(), row.end());
  const std::vector<int32_t> target{3};
  EXPECT_EQ(agreement(Tensor::from(both, {2, 19}), Tensor::from_ints(target, {1})).item(), 0.0F);
}

TEST(Agreement, NamesTheShapes) {
  EXPECT_EQ(error_of([] {
              agreement(Tensor::zeros({3, 5}), Tensor::from_ints(std::vector<int32_t>{1}, {1}));
            }),
            "[agreement] logits is [3,5], targets is [1]: expected two rows of logits for each "
            "target");
}

}  // namespace
}  // namespace heed::testing
