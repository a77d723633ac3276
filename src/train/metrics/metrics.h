// Scores of predictions: classes against classes, numbers against numbers.
#pragma once

#include <cstdint>
#include <span>

namespace heed {

double accuracy(std::span<const int32_t> predicted, std::span<const int32_t> truth);
// With two classes, the F1 of class 1; with more, the mean over the classes (macro).
double f1(std::span<const int32_t> predicted, std::span<const int32_t> truth, int32_t classes);
// Matthews' correlation, for any number of classes (Gorodkin 2004): 1 perfect, 0 chance.
double matthews(std::span<const int32_t> predicted, std::span<const int32_t> truth,
                int32_t classes);

// 0 where one side is constant; not a number where one of the numbers is none.
double pearson(std::span<const double> predicted, std::span<const double> truth);
double spearman(std::span<const double> predicted, std::span<const double> truth);  // ties share

}  // namespace heed
