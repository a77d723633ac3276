#include "tasks/setup/training_lines.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "text/sentences.h"

namespace heed {
namespace {

constexpr size_t kMostPairs = 100000;  // seconds to read, and more would not tell more

struct Measured {
  std::vector<int64_t> tokens;
  std::vector<int64_t> sentences;
  std::vector<double> ratios;
};

void measure(const Corpus& corpus, const std::string& language, size_t most, Measured& measured) {
  TextPairs pairs(corpus.files);
  TextPair pair;
  for (size_t read = 0; read < most && pairs.next(pair); ++read) {
    const auto source = static_cast<int64_t>(corpus.source->encode(pair.source).size());
    const auto target = static_cast<int64_t>(corpus.target->encode(pair.target).size());
    if (source == 0 || target == 0 || std::max(source, target) > corpus.max_length) {
      continue;  // not learned from
    }
    measured.tokens.push_back(source);
    measured.sentences.push_back(std::ssize(split_sentences(pair.source, language)));
    measured.ratios.push_back(static_cast<double>(target) / static_cast<double>(source));
  }
}

// The value that this share of the values does not exceed.
template <typename T>
T quantile(std::vector<T>& values, double share) {
  const auto place =
      static_cast<int64_t>(std::lround(share * static_cast<double>(values.size() - 1)));
  std::nth_element(values.begin(), values.begin() + place, values.end());
  return values[static_cast<size_t>(place)];
}

}  // namespace

TrainingLines measure_training_lines(const Corpus& corpus, const std::string& language) {
  constexpr double kNearlyAll = 0.995;
  constexpr double kHardlyAny = 0.001;
  Measured measured;
  for (const PairFiles& files : corpus.files) {
    Corpus one = corpus;
    one.files = {files};
    measure(one, language, std::max<size_t>(1, kMostPairs / corpus.files.size()), measured);
  }
  if (measured.tokens.empty()) {
    return {};
  }
  return {.typical_tokens = quantile(measured.tokens, 0.5),
          .most_tokens = quantile(measured.tokens, kNearlyAll),
          .most_sentences = quantile(measured.sentences, kNearlyAll),
          .least_ratio = quantile(measured.ratios, kHardlyAny)};
}

}  // namespace heed
