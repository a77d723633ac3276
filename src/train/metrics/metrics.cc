#include "train/metrics/metrics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "base/error.h"

namespace heed {
namespace {

void check_sizes(size_t predicted, size_t truth) {
  check(predicted == truth && truth > 0, "[metrics] {} predictions of {}, expected as many",
        predicted, truth);
}

// counts[t * classes + p]
std::vector<double> confusion(std::span<const int32_t> predicted, std::span<const int32_t> truth,
                              int32_t classes) {
  check_sizes(predicted.size(), truth.size());
  std::vector<double> counts(static_cast<size_t>(classes) * static_cast<size_t>(classes));
  for (size_t i = 0; i < truth.size(); ++i) {
    check(truth[i] >= 0 && truth[i] < classes && predicted[i] >= 0 && predicted[i] < classes,
          "[metrics] class {} for {}, expected 0 to {}", predicted[i], truth[i], classes - 1);
    ++counts[static_cast<size_t>(truth[i]) * static_cast<size_t>(classes) +
             static_cast<size_t>(predicted[i])];
  }
  return counts;
}

struct Marginals {
  std::vector<double> truth;      // how often each class is right
  std::vector<double> predicted;  // and said
  double right = 0.0;
  double all = 0.0;
};

Marginals marginals(const std::vector<double>& counts, size_t classes) {
  Marginals m{std::vector<double>(classes), std::vector<double>(classes)};
  for (size_t t = 0; t < classes; ++t) {
    for (size_t p = 0; p < classes; ++p) {
      const double count = counts[t * classes + p];
      m.truth[t] += count;
      m.predicted[p] += count;
      m.right += t == p ? count : 0.0;
      m.all += count;
    }
  }
  return m;
}

std::vector<double> ranks(std::span<const double> values) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return values[a] < values[b]; });
  std::vector<double> rank(values.size());
  for (size_t begin = 0; begin < order.size();) {
    size_t end = begin;
    while (end < order.size() && values[order[end]] == values[order[begin]]) {
      ++end;
    }
    for (size_t i = begin; i < end; ++i) {
      rank[order[i]] = static_cast<double>(begin + end - 1) / 2;
    }
    begin = end;
  }
  return rank;
}

// Asked before the mean is taken away: rounding would leave differences that mean nothing.
bool constant(std::span<const double> values) {
  return std::all_of(values.begin(), values.end(),
                     [&](double value) { return value == values.front(); });
}

}  // namespace

double accuracy(std::span<const int32_t> predicted, std::span<const int32_t> truth) {
  check_sizes(predicted.size(), truth.size());
  size_t right = 0;
  for (size_t i = 0; i < truth.size(); ++i) {
    right += predicted[i] == truth[i] ? 1 : 0;
  }
  return static_cast<double>(right) / static_cast<double>(truth.size());
}

double f1(std::span<const int32_t> predicted, std::span<const int32_t> truth, int32_t classes) {
  const std::vector<double> counts = confusion(predicted, truth, classes);
  const auto size = static_cast<size_t>(classes);
  const Marginals m = marginals(counts, size);
  const auto of_class = [&](size_t c) {
    const double both = m.truth[c] + m.predicted[c];
    return both > 0.0 ? 2.0 * counts[c * size + c] / both : 0.0;
  };
  if (classes == 2) {
    return of_class(1);
  }
  double total = 0.0;
  for (size_t c = 0; c < size; ++c) {
    total += of_class(c);
  }
  return total / static_cast<double>(classes);
}

double matthews(std::span<const int32_t> predicted, std::span<const int32_t> truth,
                int32_t classes) {
  const auto size = static_cast<size_t>(classes);
  const Marginals m = marginals(confusion(predicted, truth, classes), size);
  double cross = 0.0;
  double truth_squares = 0.0;
  double predicted_squares = 0.0;
  for (size_t c = 0; c < size; ++c) {
    cross += m.truth[c] * m.predicted[c];
    truth_squares += m.truth[c] * m.truth[c];
    predicted_squares += m.predicted[c] * m.predicted[c];
  }
  const double spread = (m.all * m.all - predicted_squares) * (m.all * m.all - truth_squares);
  return spread > 0.0 ? (m.right * m.all - cross) / std::sqrt(spread) : 0.0;
}

double pearson(std::span<const double> predicted, std::span<const double> truth) {
  check_sizes(predicted.size(), truth.size());
  if (constant(predicted) || constant(truth)) {
    return 0.0;
  }
  const auto count = static_cast<double>(truth.size());
  const double mean_p = std::accumulate(predicted.begin(), predicted.end(), 0.0) / count;
  const double mean_t = std::accumulate(truth.begin(), truth.end(), 0.0) / count;
  double both = 0.0;
  double squares_p = 0.0;
  double squares_t = 0.0;
  for (size_t i = 0; i < truth.size(); ++i) {
    const double p = predicted[i] - mean_p;
    const double t = truth[i] - mean_t;
    both += p * t;
    squares_p += p * p;
    squares_t += t * t;
  }
  return both / (std::sqrt(squares_p) * std::sqrt(squares_t));
}

double spearman(std::span<const double> predicted, std::span<const double> truth) {
  check_sizes(predicted.size(), truth.size());
  const auto unordered = [](double value) { return std::isnan(value); };
  if (std::any_of(predicted.begin(), predicted.end(), unordered) ||
      std::any_of(truth.begin(), truth.end(), unordered)) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  return pearson(ranks(predicted), ranks(truth));
}

}  // namespace heed
