#include "data/algorithms.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/random.h"
#include "data/shuffle.h"

namespace heed {
namespace {

// Draws one number after the other.
class Draws {
 public:
  explicit Draws(const RandomStream& random) : random_(random) {}
  // From 0 to below - 1.
  int64_t below(int64_t below) {
    return static_cast<int64_t>((uint64_t{random_.bits(next_++)} * static_cast<uint64_t>(below)) >>
                                32);
  }
  std::string digits(int64_t count) {
    std::string text;
    for (int64_t i = 0; i < count; ++i) {
      text += static_cast<char>('0' + below(10));
    }
    return text;
  }

 private:
  RandomStream random_;
  uint64_t next_ = 0;
};

// The sum of numbers of as many digits, the last digit first.
std::string sum_of(const std::string& a, const std::string& b) {
  std::string sum;
  int carry = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const int digit = (a[i] - '0') + (b[i] - '0') + carry;
    sum += static_cast<char>('0' + digit % 10);
    carry = digit / 10;
  }
  return sum + static_cast<char>('0' + carry);
}

AlgorithmExample sum_example(int64_t symbols, Draws& draws) {
  const int64_t digits = (symbols - 1) / 2;
  std::string longer = draws.digits(digits);
  std::string shorter = draws.digits(1 + draws.below(digits));
  shorter.resize(static_cast<size_t>(digits), '0');
  if (draws.below(2) == 1) {
    std::swap(longer, shorter);
  }
  return {longer + "+" + shorter, sum_of(longer, shorter)};
}

}  // namespace

const std::vector<std::string>& algorithm_names() {
  static const std::vector<std::string> names{"copy", "reverse", "addition"};
  return names;
}

Algorithm algorithm_of(std::string_view name) {
  const std::vector<std::string>& names = algorithm_names();
  const auto found = std::find(names.begin(), names.end(), name);
  check(found != names.end(), "[algorithm] it is {}, expected one of {}", name,
        fmt::join(names, ", "));
  return static_cast<Algorithm>(found - names.begin());
}

int64_t least_symbols(Algorithm algorithm) { return algorithm == Algorithm::addition ? 3 : 1; }

AlgorithmExample AlgorithmExamples::operator()(int64_t number) const {
  const int64_t least = std::max(lengths.least, least_symbols(algorithm));
  check(least <= lengths.most, "[algorithm] sources have {} symbols at most, expected {} or more",
        lengths.most, least);
  const std::string stream = fmt::format(
      "algorithm {} {} {}", algorithm_names().at(static_cast<size_t>(algorithm)), name, number);
  Draws draws({seed, stream_of(stream)});
  const int64_t symbols = least + draws.below(lengths.most - least + 1);
  if (algorithm == Algorithm::addition) {
    return sum_example(symbols, draws);
  }
  const std::string source = draws.digits(symbols);
  return {source,
          algorithm == Algorithm::copy ? source : std::string(source.rbegin(), source.rend())};
}

std::shared_ptr<const Tokenizer> algorithm_tokenizer() {
  return train_tokenizer({"0123456789+"}, {.kind = "char"});
}

// Examples of similar lengths share a batch; the order of the batches is random.
void AlgorithmEpochs::plan(int64_t epoch) {
  if (epoch == epoch_) {
    return;
  }
  epoch_ = epoch;
  std::vector<EncodedPair> pairs;
  for (int64_t i = 0; i < options_.size; ++i) {
    const AlgorithmExample example = options_.examples(epoch * options_.size + i);
    pairs.push_back(
        {tokenizer_->encode(example.source), tokenizer_->encode(example.target), i + 1});
  }
  batches_ = make_batches(pairs, {.batch_tokens = options_.batch_tokens}, tokenizer_->special(),
                          tokenizer_->special());
  shuffle(batches_, {options_.examples.seed, stream_of(fmt::format("algorithm order {}", epoch))});
}

HostBatch AlgorithmEpochs::next(DataState& state) {
  plan(state.epoch);
  check(state.batch >= 0 && state.batch < std::ssize(batches_),
        "[algorithm] the run continues with batch {}, but epoch {} has only {}; have the options "
        "changed?",
        state.batch, state.epoch, batches_.size());
  HostBatch batch = batches_[static_cast<size_t>(state.batch)];
  state = state.batch + 1 < std::ssize(batches_)
              ? DataState{.epoch = state.epoch, .batch = state.batch + 1}
              : DataState{.epoch = state.epoch + 1};
  batch.after = state;
  return batch;
}

}  // namespace heed
