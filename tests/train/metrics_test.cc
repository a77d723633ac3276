// Scores of predictions against values computed by hand.
#include "train/metrics/metrics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "support/error_of.h"

namespace heed::testing {
namespace {

using Classes = std::vector<int32_t>;
using Numbers = std::vector<double>;

// 4 true positives, 1 false positive, 2 false negatives, 3 true negatives.
const Classes kTruth{1, 1, 1, 1, 1, 1, 0, 0, 0, 0};
const Classes kPredicted{1, 1, 1, 1, 0, 0, 1, 0, 0, 0};

// Three classes; rows are the truth: [2 1 0; 0 3 1; 1 0 2].
const Classes kTruth3{0, 0, 0, 1, 1, 1, 1, 2, 2, 2};
const Classes kPredicted3{0, 0, 1, 1, 1, 1, 2, 0, 2, 2};

TEST(Metrics, Accuracy) {
  EXPECT_DOUBLE_EQ(accuracy(kPredicted, kTruth), 0.7);
  EXPECT_DOUBLE_EQ(accuracy(kTruth, kTruth), 1.0);
  EXPECT_DOUBLE_EQ(accuracy(Classes{0}, Classes{1}), 0.0);
}

TEST(Metrics, F1OfTwoClassesIsThatOfTheSecond) {
  EXPECT_DOUBLE_EQ(f1(kPredicted, kTruth, 2), 2.0 * 4 / (2 * 4 + 1 + 2));
  EXPECT_DOUBLE_EQ(f1(kTruth, kTruth, 2), 1.0);
  EXPECT_DOUBLE_EQ(f1(Classes{0, 0}, Classes{0, 0}, 2), 0.0);  // never said, never right
  EXPECT_DOUBLE_EQ(f1(Classes{0, 0}, Classes{1, 1}, 2), 0.0);
}

TEST(Metrics, F1OfMoreClassesIsTheirMean) {
  // Precision and recall: 2/3 and 2/3; 3/4 and 3/4; 2/3 and 2/3.
  EXPECT_DOUBLE_EQ(f1(kPredicted3, kTruth3, 3), (2.0 / 3 + 3.0 / 4 + 2.0 / 3) / 3);
  // A fourth class that never occurs counts as 0.
  EXPECT_DOUBLE_EQ(f1(kPredicted3, kTruth3, 4), (2.0 / 3 + 3.0 / 4 + 2.0 / 3) / 4);
}

TEST(Metrics, MatthewsOfTwoClasses) {
  const double expected = (4.0 * 3 - 1.0 * 2) / std::sqrt((4.0 + 1) * (4 + 2) * (3 + 1) * (3 + 2));
  EXPECT_NEAR(matthews(kPredicted, kTruth, 2), expected, 1e-12);
  EXPECT_NEAR(matthews(kTruth, kTruth, 2), 1.0, 1e-12);
  EXPECT_NEAR(matthews(Classes{0, 1, 0, 1}, Classes{1, 0, 1, 0}, 2), -1.0, 1e-12);
  // The example of scikit-learn's documentation: truth +1 +1 +1 -1, predicted +1 -1 +1 +1.
  EXPECT_NEAR(matthews(Classes{1, 0, 1, 1}, Classes{1, 1, 1, 0}, 2), -1.0 / 3, 1e-12);
  EXPECT_EQ(matthews(Classes{1, 1, 1, 1}, Classes{1, 0, 1, 0}, 2), 0.0);  // always the same
  EXPECT_EQ(matthews(Classes{1, 0, 1, 0}, Classes{1, 1, 1, 1}, 2), 0.0);
}

TEST(Metrics, MatthewsOfMoreClasses) {
  // 7 of 10 right; truth 3 4 3, said 3 4 3: (7*10 - 34) / (100 - 34).
  EXPECT_NEAR(matthews(kPredicted3, kTruth3, 3), 36.0 / 66, 1e-12);
  EXPECT_NEAR(matthews(kTruth3, kTruth3, 3), 1.0, 1e-12);
}

TEST(Metrics, Pearson) {
  const Numbers a{1, 2, 3, 4, 5};
  EXPECT_NEAR(pearson(a, Numbers{10, 20, 30, 40, 50}), 1.0, 1e-12);
  EXPECT_NEAR(pearson(a, Numbers{3, 1, -1, -3, -5}), -1.0, 1e-12);
  // Differences from the means: -2 -1 0 1 2 and -2 0 -1 2 1; 2+... = 8 of 10 and 10.
  EXPECT_NEAR(pearson(a, Numbers{1, 3, 2, 5, 4}), 0.8, 1e-12);
  EXPECT_NEAR(pearson(a, Numbers{1e9 + 1, 1e9 + 3, 1e9 + 2, 1e9 + 5, 1e9 + 4}), 0.8, 1e-9);
  EXPECT_NEAR(pearson(Numbers{1e-120, 3e-120}, Numbers{2e-120, 3e-120}), 1.0, 1e-9);
}

TEST(Metrics, SpearmanLooksAtRanks) {
  EXPECT_NEAR(spearman(Numbers{1, 10, 100, 1000}, Numbers{-5, 0, 0.1, 7}), 1.0, 1e-12);
  EXPECT_NEAR(spearman(Numbers{4, 3, 2, 1}, Numbers{0, 1, 10, 11}), -1.0, 1e-12);
  // 1 - 6 * sum of squared differences / (n (n^2 - 1)): IQ and hours of television.
  EXPECT_NEAR(spearman(Numbers{106, 100, 86, 101, 99, 103, 97, 113, 112, 110},
                       Numbers{7, 27, 2, 50, 28, 29, 20, 12, 6, 17}),
              1.0 - 6.0 * 194 / (10 * 99), 1e-12);
}

TEST(Metrics, SpearmanSharesRanksOfTies) {
  // Ranks 1 2.5 2.5 4 against 1 2 3 4: 4.5 / sqrt(4.5 * 5).
  EXPECT_NEAR(spearman(Numbers{1, 2, 2, 3}, Numbers{1, 2, 3, 4}), 4.5 / std::sqrt(4.5 * 5), 1e-12);
  EXPECT_NEAR(spearman(Numbers{5, 5, 7}, Numbers{2, 2, 3}), 1.0, 1e-12);
}

TEST(Metrics, ConstantsCorrelateWithNothing) {
  const Numbers constant(10, 0.1);  // whose mean is not exactly 0.1
  Numbers rising(10);
  for (size_t i = 0; i < rising.size(); ++i) {
    rising[i] = static_cast<double>(i);
  }
  EXPECT_EQ(pearson(constant, rising), 0.0);
  EXPECT_EQ(pearson(rising, constant), 0.0);
  EXPECT_EQ(pearson(constant, Numbers(10, 0.3)), 0.0);
  EXPECT_EQ(spearman(constant, rising), 0.0);
  EXPECT_EQ(pearson(Numbers{1}, Numbers{2}), 0.0);
}

TEST(Metrics, WhatIsNoNumberGivesNone) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(std::isnan(pearson(Numbers{1, nan, 3}, Numbers{1, 2, 3})));
  EXPECT_TRUE(std::isnan(spearman(Numbers{1, nan, 3}, Numbers{1, 2, 3})));
  EXPECT_TRUE(std::isnan(spearman(Numbers{nan, nan, nan}, Numbers{1, 2, 3})));
}

TEST(Metrics, SayWhatIsWrong) {
  expect_error(
      [] {
        accuracy(Classes{1}, Classes{1, 0});
      },
      "[metrics] 1 predictions of 2, expected as many");
  expect_error([] { spearman(Numbers{}, Numbers{}); },
               "[metrics] 0 predictions of 0, expected as many");
  expect_error([] { f1(Classes{2}, Classes{1}, 2); }, "[metrics] class 2 for 1, expected 0 to 1");
  expect_error([] { matthews(Classes{0}, Classes{-1}, 2); },
               "[metrics] class 0 for -1, expected 0 to 1");
}

}  // namespace
}  // namespace heed::testing
