#include "data/algorithms.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "support/error_of.h"

namespace heed::testing {
namespace {

AlgorithmExamples examples(Algorithm algorithm, const AlgorithmLengths& lengths = {}) {
  return {.algorithm = algorithm, .lengths = lengths, .seed = 5};
}

TEST(Algorithms, CopyAndReverse) {
  for (int64_t i = 0; i < 50; ++i) {
    const AlgorithmExample copied = examples(Algorithm::copy)(i);
    EXPECT_EQ(copied.source, copied.target);
    const AlgorithmExample reversed = examples(Algorithm::reverse)(i);
    EXPECT_EQ(reversed.target, std::string(reversed.source.rbegin(), reversed.source.rend()));
    EXPECT_EQ(reversed.source.find_first_not_of("0123456789"), std::string::npos);
  }
}

// Small enough for the machine's own addition.
TEST(Algorithms, Addition) {
  const auto number = [](std::string text) {
    std::reverse(text.begin(), text.end());
    return std::stoll(text);
  };
  bool padded = false;
  for (int64_t i = 0; i < 200; ++i) {
    const AlgorithmExample example = examples(Algorithm::addition, {.most = 35})(i);
    const size_t plus = example.source.find('+');
    ASSERT_EQ(example.source.size(), 2 * plus + 1) << example.source;
    EXPECT_EQ(example.target.size(), plus + 1);
    EXPECT_EQ(number(example.source.substr(0, plus)) + number(example.source.substr(plus + 1)),
              number(example.target))
        << example.source;
    padded = padded || (plus > 2 && example.source.ends_with("00"));
  }
  EXPECT_TRUE(padded);
}

TEST(Algorithms, LengthsAreThoseAskedFor) {
  std::set<size_t> lengths;
  for (int64_t i = 0; i < 400; ++i) {
    lengths.insert(examples(Algorithm::copy, {.least = 3, .most = 12})(i).source.size());
  }
  EXPECT_EQ(lengths, (std::set<size_t>{3, 4, 5, 6, 7, 8, 9, 10, 11, 12}));
  EXPECT_EQ(examples(Algorithm::reverse, {.least = 400, .most = 400})(7).source.size(), 400U);
  EXPECT_EQ(examples(Algorithm::addition, {.least = 400, .most = 400})(7).source.size(), 399U);
  EXPECT_EQ(error_of([] { examples(Algorithm::addition, {.most = 2})(0); }),
            "[algorithm] sources have 2 symbols at most, expected 3 or more");
}

// An example is a function of seed, name and number.
TEST(Algorithms, ExamplesAreKnownByTheirNumber) {
  AlgorithmExamples all = examples(Algorithm::copy, {.least = 20, .most = 20});
  const std::string first = all(3).source;
  EXPECT_EQ(all(3).source, first);
  EXPECT_NE(all(4).source, first);
  all.name = "test";
  EXPECT_NE(all(3).source, first);
  all.name = "train";
  all.seed = 6;
  EXPECT_NE(all(3).source, first);
}

TEST(Algorithms, Names) {
  EXPECT_EQ(algorithm_of("addition"), Algorithm::addition);
  EXPECT_EQ(error_of([] { algorithm_of("sort"); }),
            "[algorithm] it is sort, expected one of copy, reverse, addition");
  const auto tokenizer = algorithm_tokenizer();
  EXPECT_EQ(tokenizer->decode(tokenizer->encode("90+12")), "90+12");
  EXPECT_EQ(tokenizer->encode("90+12").size(), 5U);
  EXPECT_EQ(tokenizer->size(), 4 + 11);
}

TEST(AlgorithmEpochs, ContinueAnywhere) {
  const AlgorithmEpochs::Options options{
      .examples = examples(Algorithm::reverse), .size = 100, .batch_tokens = 400};
  AlgorithmEpochs whole(options);
  DataState state;
  std::vector<HostBatch> batches;
  while (state.epoch < 3) {
    batches.push_back(whole.next(state));
  }
  int64_t rows = 0;
  for (const HostBatch& batch : batches) {
    rows += batch.rows;
  }
  EXPECT_EQ(rows, 300);
  AlgorithmEpochs later(options);
  DataState middle = batches[7].after;
  for (size_t i = 8; i < batches.size(); ++i) {
    const HostBatch batch = later.next(middle);
    EXPECT_EQ(batch.source, batches[i].source);
    EXPECT_EQ(batch.target, batches[i].target);
    EXPECT_EQ(batch.after, batches[i].after);
  }
  EXPECT_NE(batches.front().source, batches.back().source);
  DataState beyond{.epoch = 0, .batch = 1000};
  EXPECT_TRUE(error_of([&] {
                later.next(beyond);
              }).starts_with("[algorithm] the run continues with batch 1000, but epoch 0 has"));
}

}  // namespace
}  // namespace heed::testing
