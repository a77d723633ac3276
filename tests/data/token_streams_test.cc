// Streams through a long text: each row goes on where it was, and a state says it all.
#include "data/text/token_streams.h"

#include <gtest/gtest.h>

#include <numeric>
#include <set>

#include "support/error_of.h"

namespace heed::testing {
namespace {

// Token i is i, so that a token tells its place.
std::vector<int32_t> places(int64_t count) {
  std::vector<int32_t> tokens(static_cast<size_t>(count));
  std::iota(tokens.begin(), tokens.end(), 0);
  return tokens;
}

TEST(TokenStreams, EachRowContinuesThatOfTheBatchBefore) {
  constexpr int64_t kLength = 8;
  for (const int64_t count : {9, 16, 17, 24, 31, 100, 103, 1000}) {
    const TokenStreams streams(places(count), {.length = kLength, .rows = 3, .seed = 5});
    DataState state;
    std::set<int32_t> beginnings;
    for (int64_t epoch = 0; epoch < 6; ++epoch) {
      std::set<int32_t> shown;
      std::vector<int32_t> next;
      for (int64_t batch = 0; batch < streams.epoch_batches(); ++batch) {
        EXPECT_EQ(state, (DataState{.epoch = epoch, .batch = batch}));
        EXPECT_EQ(TokenStreams::begins(state), batch == 0);
        const auto window = streams.at(state);
        ASSERT_EQ(std::ssize(window.input), streams.rows() * kLength);
        ASSERT_EQ(window.target.size(), window.input.size());
        std::vector<int32_t> last;
        for (size_t i = 0; i < window.input.size(); ++i) {
          EXPECT_TRUE(shown.insert(window.input[i]).second) << window.input[i];
          EXPECT_EQ(window.target[i], window.input[i] + 1);
          EXPECT_LT(window.target[i], count);
          if (i % kLength > 0) {
            EXPECT_EQ(window.input[i], window.target[i - 1]);
          } else if (batch > 0) {
            EXPECT_EQ(window.input[i], next[i / kLength]);
          }
          if (i % kLength == kLength - 1) {
            last.push_back(window.target[i]);
          }
        }
        next = last;
        state = window.after;
      }
      beginnings.insert(*shown.begin());
      EXPECT_EQ(state, DataState{.epoch = epoch + 1});
    }
    EXPECT_GT(beginnings.size(), count > 17 ? 1U : 0U) << count;
  }
}

TEST(TokenStreams, AStateSaysItAll) {
  const WindowOptions options{.length = 4, .rows = 2, .seed = 9};
  const TokenStreams one(places(60), options);
  const TokenStreams other(places(60), options);
  const DataState state{.epoch = 3, .batch = 2};
  EXPECT_EQ(one.at(state).input, other.at(state).input);
}

TEST(TokenStreams, SaysWhatIsWrong) {
  EXPECT_EQ(error_of([] { TokenStreams(places(8), {.length = 8}); }),
            "[text] there are 8 tokens, expected more than a segment of 8; give more text or a "
            "smaller data.max_length");
  const TokenStreams streams(places(60), {.length = 4, .rows = 2});
  EXPECT_EQ(error_of([&] { streams.at({.batch = 7}); }),
            "[text] the run continues with batch 7, but an epoch has only 7; have the files or the "
            "options changed?");
}

}  // namespace
}  // namespace heed::testing
