// Windows of a long text: what they hold, that an epoch has no token twice, and that a state says
// it all.
#include "data/text/token_windows.h"

#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <set>

#include "support/error_of.h"
#include "support/text_files.h"

namespace heed::testing {
namespace {

// Token i is i, so that a token tells its place.
std::vector<int32_t> counting(int64_t count) {
  std::vector<int32_t> tokens(static_cast<size_t>(count));
  std::iota(tokens.begin(), tokens.end(), 0);
  return tokens;
}

TEST(TokenWindows, EpochsShowEachPlaceAtMostOnce) {
  for (const int64_t count : {9, 16, 17, 24, 25, 31, 100, 103, 1000}) {
    constexpr int64_t kLength = 8;
    const TokenWindows windows(counting(count), {.length = kLength, .rows = 3, .seed = 5});
    const int64_t batches = windows.epoch_batches();
    DataState state;
    for (int64_t epoch = 0; epoch < 5; ++epoch) {
      std::set<int32_t> shown;
      for (int64_t batch = 0; batch < batches; ++batch) {
        EXPECT_EQ(state, (DataState{.epoch = epoch, .batch = batch}));
        const auto window = windows.at(state);
        ASSERT_EQ(std::ssize(window.input), windows.rows() * kLength);
        ASSERT_EQ(window.target.size(), window.input.size());
        for (size_t i = 0; i < window.input.size(); ++i) {
          EXPECT_TRUE(shown.insert(window.input[i]).second) << window.input[i];
          EXPECT_EQ(window.target[i], window.input[i] + 1);
          EXPECT_LT(window.target[i], count);
          EXPECT_TRUE(i % kLength == 0 || window.input[i] == window.input[i - 1] + 1);
        }
        state = window.after;
      }
      EXPECT_EQ(std::ssize(shown), batches * windows.rows() * kLength);
      EXPECT_EQ(state, DataState{.epoch = epoch + 1});
    }
  }
}

// With several targets a window's last inputs have theirs, too.
TEST(TokenWindows, ShowWhatFollowsTheWindow) {
  for (const int64_t count : {11, 18, 19, 27, 103}) {
    constexpr int64_t kLength = 8;
    constexpr int64_t kTargets = 3;
    const TokenWindows windows(counting(count),
                               {.length = kLength, .rows = 2, .targets = kTargets, .seed = 5});
    for (int64_t epoch = 0; epoch < 9; ++epoch) {
      const auto window = windows.at({.epoch = epoch});
      const int64_t wide = kLength + kTargets - 1;
      ASSERT_EQ(std::ssize(window.target), windows.rows() * wide);
      for (int64_t i = 0; i < windows.rows() * wide; ++i) {
        const int32_t first = window.input[static_cast<size_t>(i / wide * kLength)];
        EXPECT_EQ(window.target[static_cast<size_t>(i)], first + 1 + i % wide);
        EXPECT_LT(window.target[static_cast<size_t>(i)], count);
      }
    }
  }
  EXPECT_EQ(error_of([] { TokenWindows(counting(10), {.length = 8, .targets = 3}); }),
            "[text] there are 10 tokens, expected more than the context of 10; give more text or a "
            "smaller model.context");
}

TEST(TokenWindows, HowManyThereAre) {
  const auto batches = [](int64_t count, int64_t length, int64_t rows) {
    const TokenWindows windows(counting(count), {.length = length, .rows = rows});
    return std::pair(windows.rows(), windows.epoch_batches());
  };
  using Pair = std::pair<int64_t, int64_t>;
  EXPECT_EQ(batches(9, 8, 4), (Pair{1, 1}));
  EXPECT_EQ(batches(23, 8, 4), (Pair{1, 1}));
  EXPECT_EQ(batches(24, 8, 4), (Pair{2, 1}));
  EXPECT_EQ(batches(88, 8, 4), (Pair{4, 2}));  // 10 windows, of which 2 are left over
  EXPECT_EQ(batches(2, 1, 1), (Pair{1, 1}));
  EXPECT_EQ(batches(100, 1, 9), (Pair{9, 11}));
}

// Shuffled, and cut at other places in every epoch, so that in the end all tokens were shown.
TEST(TokenWindows, EpochsDiffer) {
  const TokenWindows windows(counting(200), {.length = 8, .rows = 4, .seed = 5});
  std::set<int32_t> offsets;
  std::set<int32_t> shown;
  int in_order = 0;
  for (int64_t epoch = 0; epoch < 60; ++epoch) {
    const auto window = windows.at({.epoch = epoch});
    offsets.insert(window.input[0] % 8);
    in_order += window.input[8] == window.input[0] + 8 ? 1 : 0;
    for (int64_t batch = 0; batch < windows.epoch_batches(); ++batch) {
      const auto inputs = windows.at({.epoch = epoch, .batch = batch}).input;
      shown.insert(inputs.begin(), inputs.end());
    }
  }
  EXPECT_EQ(offsets.size(), 8U);
  EXPECT_LT(in_order, 15);
  EXPECT_EQ(shown.size(), 199U);  // the last has no next
}

TEST(TokenWindows, AStateSaysItAll) {
  const TokenWindows one(counting(300), {.length = 7, .rows = 5, .seed = 9});
  const TokenWindows same(counting(300), {.length = 7, .rows = 5, .seed = 9});
  const TokenWindows other(counting(300), {.length = 7, .rows = 5, .seed = 10});
  int equal = 0;
  for (int64_t epoch = 3; epoch-- > 0;) {
    for (int64_t batch = one.epoch_batches(); batch-- > 0;) {
      const DataState state{.epoch = epoch, .batch = batch};
      EXPECT_EQ(one.at(state).input, same.at(state).input);
      EXPECT_EQ(one.at(state).target, same.at(state).target);
      EXPECT_EQ(one.at(state).after, same.at(state).after);
      equal += one.at(state).input == other.at(state).input ? 1 : 0;
    }
  }
  EXPECT_EQ(equal, 0);
}

TEST(TokenWindows, Errors) {
  EXPECT_EQ(error_of([] { TokenWindows(counting(8), {.length = 8}); }),
            "[text] there are 8 tokens, expected more than the context of 8; give "
            "more text or a smaller model.context");
  EXPECT_EQ(error_of([] { TokenWindows(counting(9), {.length = 8}); }), "no error");
  EXPECT_EQ(error_of([] { TokenWindows(counting(9), {.length = 0, .rows = 2}); }),
            "[text] 2 windows of 0 tokens, expected more");
  EXPECT_EQ(error_of([] { TokenWindows(counting(9), {.length = 3, .rows = 0}); }),
            "[text] 0 windows of 3 tokens, expected more");
  const TokenWindows windows(counting(100), {.length = 8, .rows = 2});
  EXPECT_EQ(error_of([&] { windows.at({.batch = 5}); }),
            "[text] the run continues with batch 5, but an epoch has only 5; have the files or the "
            "options changed?");
  EXPECT_NE(error_of([&] { windows.at({.batch = -1}); }), "no error");
  EXPECT_NE(error_of([&] { windows.at({.epoch = -1}); }), "no error");
}

TEST(ReadText, GivesLinesWithTheirEnds) {
  const TemporaryFolder folder;
  EXPECT_EQ(read_text(folder.write("a", "one\n\ntwo\n")), "one\n\ntwo\n");
  EXPECT_EQ(read_text(folder.write("b", "one\r\ntwo")), "one\ntwo\n");
  EXPECT_EQ(read_text(folder.write("c", "")), "");
  EXPECT_EQ(read_text(folder.write_gzip("d.gz", "one\ntwo\n")), "one\ntwo\n");
  EXPECT_NE(error_of([&] { read_text(folder / "none"); }).find("none"), std::string::npos);
}

TEST(ReadTokens, EndOfFilesAndOfLines) {
  const TemporaryFolder folder;
  const std::string first = folder.write("first", "1 2\n\n3\n").string();
  const std::string second = folder.write_gzip("second", "4").string();
  const std::string empty = folder.write("empty", "").string();
  const auto read = [&](const SpecialIds& special, bool line_end) {
    return read_tokens({.files = {first, empty, second},
                        .tokenizer = std::make_shared<WordTokenizer>(special),
                        .line_end = line_end});
  };
  using Ids = std::vector<int32_t>;
  EXPECT_EQ(read({}, false), (Ids{5, 6, 7, 2, 2, 8, 2}));
  EXPECT_EQ(read({}, true), (Ids{5, 6, 2, 2, 7, 2, 8, 2}));
  const SpecialIds no_end{.pad = 0, .start = 1, .end = -1, .unk = 3};
  EXPECT_EQ(read(no_end, false), (Ids{5, 6, 7, 8}));
  EXPECT_EQ(error_of([&] { read(no_end, true); }),
            "[text] lines are to end with the END token, but the tokenizer has none");
}

// The characters of a text, line ends among them, are its tokens.
TEST(ReadTokens, Characters) {
  const TemporaryFolder folder;
  const std::shared_ptr<const Tokenizer> tokenizer =
      train_tokenizer({"to be\n", "or not"}, {.kind = "char"});
  const std::string file = folder.write("text", "to be\nor not\n").string();
  auto tokens = read_tokens({.files = {file}, .tokenizer = tokenizer});
  EXPECT_EQ(tokens.size(), 14U);
  EXPECT_EQ(tokens.back(), tokenizer->special().end);
  EXPECT_EQ(tokenizer->decode(tokens), "to be\nor not\n");
  tokens = read_tokens({.files = {file}, .tokenizer = tokenizer, .line_end = true});
  EXPECT_EQ(tokenizer->decode(tokens), "to beor not");
  EXPECT_EQ(tokens[5], tokenizer->special().end);
}

}  // namespace
}  // namespace heed::testing
