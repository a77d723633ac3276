// Texts as encoders read them: special tokens, truncation, batches, epochs.
#include "data/text/texts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "support/error_of.h"
#include "support/text_files.h"

namespace heed::testing {
namespace {

constexpr int32_t kStart = 1;
constexpr int32_t kEnd = 2;
constexpr SpecialIds kNone{.pad = -1, .start = -1, .end = -1, .unk = -1};

using Ids = std::vector<int32_t>;

// base, base + 1, ...
Ids ids(int32_t base, size_t count) {
  Ids result(count);
  std::iota(result.begin(), result.end(), base);
  return result;
}

TEST(JoinTexts, PutsSpecialTokensAround) {
  const WordTokenizer tokenizer;
  const EncodedText one = encode_text(tokenizer, "6 7", 0);
  EXPECT_EQ(one.tokens, (Ids{kStart, 10, 11, kEnd}));
  EXPECT_EQ(one.first, 4);
  const EncodedText two = join_texts(tokenizer, {10, 11}, Ids{12}, 0);
  EXPECT_EQ(two.tokens, (Ids{kStart, 10, 11, kEnd, 12, kEnd}));
  EXPECT_EQ(two.first, 4);
  const EncodedText empty = join_texts(tokenizer, {}, Ids{}, 0);
  EXPECT_EQ(empty.tokens, (Ids{kStart, kEnd, kEnd}));
  EXPECT_EQ(empty.first, 2);
}

TEST(JoinTexts, LeavesOutSpecialTokensThatAreNotThere) {
  const WordTokenizer none(kNone);
  EXPECT_EQ(join_texts(none, {10, 11}, Ids{12}, 0).tokens, (Ids{10, 11, 12}));
  EXPECT_EQ(join_texts(none, {10, 11}, Ids{12}, 0).first, 2);
  EXPECT_EQ(join_texts(none, {}, Ids{12}, 0).first, 0);
  const WordTokenizer end_only({.pad = -1, .start = -1, .end = 9, .unk = -1});
  EXPECT_EQ(join_texts(end_only, {10, 11}, Ids{12}, 0).tokens, (Ids{10, 11, 9, 12, 9}));
  // A model cannot read nothing.
  EXPECT_EQ(encode_text(none, "", 0).tokens, (Ids{0}));
  EXPECT_EQ(encode_text(none, "", 0).first, 1);
  const WordTokenizer unknown({.pad = -1, .start = -1, .end = -1, .unk = 7});
  EXPECT_EQ(encode_text(unknown, "", 1).tokens, (Ids{7}));
}

TEST(JoinTexts, CutsTheEndOfASingleText) {
  const WordTokenizer tokenizer;
  for (size_t length = 0; length <= 6; ++length) {
    for (int64_t longest = 1; longest <= 10; ++longest) {
      SCOPED_TRACE(fmt::format("{} tokens, at most {}", length, longest));
      const EncodedText text = join_texts(tokenizer, ids(10, length), std::nullopt, longest);
      const int64_t room = std::max<int64_t>(0, longest - 2);
      Ids expected{kStart};
      const Ids kept = ids(10, std::min(length, static_cast<size_t>(room)));
      expected.insert(expected.end(), kept.begin(), kept.end());
      expected.push_back(kEnd);
      expected.resize(std::min(expected.size(), static_cast<size_t>(longest)));
      EXPECT_EQ(text.tokens, expected);
      EXPECT_EQ(text.first, std::ssize(text.tokens));
    }
  }
}

// One token after the other from the end of the longer text, and of equally long ones as many from
// each up to one.
TEST(JoinTexts, CutsTheLongerTextOfAPairFirst) {
  const WordTokenizer tokenizer;
  for (size_t a = 0; a <= 7; ++a) {
    for (size_t b = 0; b <= 7; ++b) {
      for (size_t longest = 3; longest <= 18; ++longest) {
        SCOPED_TRACE(fmt::format("{} and {} tokens, at most {}", a, b, longest));
        const EncodedText text =
            join_texts(tokenizer, ids(10, a), ids(30, b), static_cast<int64_t>(longest));
        const size_t total = std::min(longest, a + b + 3);  // nothing is cut without need
        ASSERT_EQ(text.tokens.size(), total);
        const auto first = static_cast<size_t>(text.first) - 2;
        const size_t second = total - 3 - first;
        Ids expected{kStart};
        const auto append = [&](const Ids& more) {
          expected.insert(expected.end(), more.begin(), more.end());
          expected.push_back(kEnd);
        };
        append(ids(10, first));
        append(ids(30, second));
        EXPECT_EQ(text.tokens, expected);
        // One that was cut is not shorter than the other, up to one token.
        EXPECT_TRUE(first == a || first + 1 >= second) << first << " and " << second;
        EXPECT_TRUE(second == b || second + 1 >= first) << first << " and " << second;
      }
    }
  }
}

TEST(JoinTexts, KeepsTinyLimitsWithPairs) {
  const WordTokenizer tokenizer;
  EXPECT_EQ(join_texts(tokenizer, {10}, Ids{12}, 2).tokens, (Ids{kStart, kEnd}));
  EXPECT_EQ(join_texts(tokenizer, {10}, Ids{12}, 2).first, 2);
  EXPECT_EQ(join_texts(tokenizer, {10}, Ids{12}, 1).tokens, (Ids{kStart}));
  EXPECT_EQ(join_texts(tokenizer, {10}, Ids{12}, 1).first, 1);
}

TEST(PadTexts, PadsAndMarksTheSecondText) {
  const std::vector<EncodedText> texts{{{1, 5, 2}, 3}, {{1, 6, 2, 7, 8, 2}, 3}, {{1, 2}, 2}};
  const std::vector<int64_t> order{1, 2};
  const HostTexts batch = pad_texts(texts, order, 9);
  EXPECT_EQ(batch.rows, 2);
  EXPECT_EQ(batch.width, 6);
  EXPECT_EQ(batch.tokens, (Ids{1, 6, 2, 7, 8, 2, 1, 2, 9, 9, 9, 9}));
  EXPECT_EQ(batch.types, (Ids{0, 0, 0, 1, 1, 1, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(batch.lengths, (Ids{6, 2}));
  EXPECT_EQ(batch.indices, order);
  EXPECT_EQ(batch.count, 8);
  EXPECT_EQ(pad_texts(texts, order, -1).tokens.back(), 0);
}

// Of many lengths; text i begins with the token 100 + i.
std::vector<EncodedText> many_texts(size_t count) {
  std::vector<EncodedText> texts;
  for (size_t i = 0; i < count; ++i) {
    const size_t length = 1 + i * i % 23;
    texts.push_back({ids(static_cast<int32_t>(100 + i), length), static_cast<int64_t>(length)});
  }
  return texts;
}

// Counts each text and compares its row with it.
void count_rows(const HostTexts& batch, const std::vector<EncodedText>& texts,
                std::map<int64_t, int>& seen) {
  ASSERT_EQ(batch.rows, std::ssize(batch.indices));
  for (int64_t row = 0; row < batch.rows; ++row) {
    const int64_t index = batch.indices[static_cast<size_t>(row)];
    const EncodedText& text = texts[static_cast<size_t>(index)];
    ++seen[index];
    ASSERT_EQ(batch.lengths[static_cast<size_t>(row)], std::ssize(text.tokens));
    EXPECT_TRUE(std::equal(text.tokens.begin(), text.tokens.end(),
                           batch.tokens.begin() + row * batch.width));
  }
}

void expect_all_once(const std::map<int64_t, int>& seen, size_t count) {
  EXPECT_EQ(seen.size(), count);
  EXPECT_TRUE(std::all_of(seen.begin(), seen.end(), [](const auto& s) { return s.second == 1; }));
}

TEST(BatchTexts, HoldsEveryTextOnceWithinTheBudget) {
  const std::vector<EncodedText> texts = many_texts(50);
  for (const int64_t budget : {1, 7, 23, 64, 100000}) {
    SCOPED_TRACE(budget);
    std::map<int64_t, int> seen;
    int64_t before = 0;
    for (const HostTexts& batch : batch_texts(texts, budget, 0)) {
      EXPECT_TRUE(batch.rows == 1 || batch.rows * batch.width <= budget);
      EXPECT_GE(batch.width, before);
      before = batch.width;
      count_rows(batch, texts, seen);
    }
    expect_all_once(seen, texts.size());
  }
  EXPECT_EQ(batch_texts(texts, 100000, 0).size(), 1U);
  EXPECT_EQ(batch_texts(texts, 1, 0).size(), 50U);
  EXPECT_TRUE(batch_texts({}, 64, 0).empty());
}

TEST(TextEpochs, HasEveryTextOnceInEachEpoch) {
  const std::vector<EncodedText> texts = many_texts(50);
  for (const int64_t budget : {1, 40, 200, 100000}) {
    SCOPED_TRACE(budget);
    TextEpochs epochs(texts, {.batch_tokens = budget, .seed = 3, .pad = 0});
    const int64_t batches = epochs.epoch_batches();
    DataState state;
    std::vector<std::vector<int64_t>> orders;
    for (int64_t epoch = 0; epoch < 3; ++epoch) {
      std::map<int64_t, int> seen;
      std::vector<int64_t>& order = orders.emplace_back();
      for (int64_t batch = 0; batch < batches; ++batch) {
        EXPECT_EQ(state, (DataState{.epoch = epoch, .batch = batch}));
        const HostTexts host = epochs.next(state);
        EXPECT_TRUE(host.rows == 1 || host.rows * host.width <= budget);
        count_rows(host, texts, seen);
        order.insert(order.end(), host.indices.begin(), host.indices.end());
      }
      expect_all_once(seen, texts.size());
      EXPECT_EQ(epochs.epoch_batches(), batches);
    }
    EXPECT_NE(orders[0], orders[1]);
    EXPECT_NE(orders[1], orders[2]);
  }
}

TEST(TextEpochs, ContinuesFromAnyState) {
  const std::vector<EncodedText> texts = many_texts(30);
  const TextEpochs::Options options{.batch_tokens = 60, .seed = 5, .pad = 0};
  TextEpochs whole(texts, options);
  std::vector<DataState> states;
  std::vector<HostTexts> batches;
  DataState state;
  for (int64_t i = 0; i < 3 * whole.epoch_batches(); ++i) {
    states.push_back(state);
    batches.push_back(whole.next(state));
  }
  TextEpochs jumping(texts, options);
  for (size_t i = states.size(); i-- > 0;) {  // backwards: nothing is left from the batch before
    DataState at = states[i];
    const HostTexts batch = jumping.next(at);
    EXPECT_EQ(batch.tokens, batches[i].tokens);
    EXPECT_EQ(batch.indices, batches[i].indices);
    EXPECT_EQ(at, i + 1 < states.size() ? states[i + 1] : state);
  }
  TextEpochs other(texts, {.batch_tokens = 60, .seed = 6, .pad = 0});
  std::vector<int64_t> a, b;
  DataState at_a, at_b;
  for (int64_t i = 0; i < other.epoch_batches(); ++i) {
    const auto append = [](std::vector<int64_t>& all, const HostTexts& more) {
      all.insert(all.end(), more.indices.begin(), more.indices.end());
    };
    append(a, whole.next(at_a));
    append(b, other.next(at_b));
  }
  EXPECT_NE(a, b);
}

TEST(TextEpochs, SaysWhatIsWrong) {
  expect_error([] { TextEpochs({}, {}); }, "[texts] there is nothing to train on");
  TextEpochs epochs(many_texts(3), {.batch_tokens = 1000, .seed = 1, .pad = 0});
  DataState late{.epoch = 2, .batch = 1};
  expect_error([&] { epochs.next(late); },
               "[texts] the run continues with batch 1, but an epoch has only 1; have the files or "
               "the options changed?");
}

}  // namespace
}  // namespace heed::testing
