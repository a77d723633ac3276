#include "text/bpe/byte_bpe_train.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <random>

#include "base/file.h"
#include "tests/support/error_of.h"
#include "text/bpe/byte_alphabet.h"
#include "text/bpe/gpt2_split.h"

namespace heed {
namespace {

using testing::expect_error;
using Merges = std::vector<std::pair<std::string, std::string>>;

TEST(ByteBpeTraining, MergesTheMostFrequentPairFirst) {
  // low 5, lower 2, newest 6, widest 3, as in Sennrich et al.: es 9, est 9, then lo 7, low 7.
  std::string text;
  for (const auto& [word, count] :
       std::map<std::string, int>{{"low", 5}, {"lower", 2}, {"newest", 6}, {"widest", 3}}) {
    for (int i = 0; i < count; ++i) {
      text += word + "\n";
    }
  }
  const auto tokenizer = train_byte_bpe({text}, 256 + 4 + 1);
  EXPECT_EQ(tokenizer->content().merges,
            (Merges{{"e", "s"}, {"es", "t"}, {"l", "o"}, {"lo", "w"}}));
  EXPECT_EQ(tokenizer->size(), 261);
  EXPECT_EQ(tokenizer->special().end, 260);
  EXPECT_EQ(tokenizer->encode("lowest"), (std::vector<int32_t>{259, 257}));
}

TEST(ByteBpeTraining, StopsWhenNoPairOccursTwice) {
  EXPECT_EQ(train_byte_bpe({"abcdef"}, 1000)->size(), 257);
  EXPECT_EQ(train_byte_bpe({"", ""}, 1000)->size(), 257);
  const auto tokenizer = train_byte_bpe({"abc abc<|endoftext|>abc"}, 1000);
  EXPECT_EQ(tokenizer->content().merges, (Merges{{"a", "b"}, {"ab", "c"}}));
}

TEST(ByteBpeTraining, ChecksWhatItIsGiven) {
  expect_error([] { train_byte_bpe({"a"}, 256); },
               "[tokenizer] vocabulary is 256, expected at least 257: bytes and \"<|endoftext|>\"");
  expect_error([] { train_byte_bpe({}, 300); }, "[tokenizer] there are no texts to train from");
}

// The whole corpus counted anew before each merge.
Merges slow_training(const std::vector<std::string>& texts, size_t merges) {
  std::map<std::string, int32_t> ids;
  std::vector<std::vector<std::string>> words;
  for (const uint8_t byte : byte_alphabet_order()) {
    ids.emplace(to_byte_alphabet(std::string(1, static_cast<char>(byte))), ids.size());
  }
  for (const std::string& text : texts) {
    for_each_gpt2_word(text, [&](std::string_view word) {
      words.emplace_back();
      for (const char byte : word) {
        words.back().push_back(to_byte_alphabet(std::string(1, byte)));
      }
    });
  }
  Merges result;
  while (result.size() < merges) {
    std::map<std::pair<int32_t, int32_t>, int> counts;
    std::map<std::pair<int32_t, int32_t>, std::pair<std::string, std::string>> names;
    for (const auto& word : words) {
      for (size_t i = 0; i + 1 < word.size(); ++i) {
        const std::pair pair{ids.at(word[i]), ids.at(word[i + 1])};
        if (ids.count(word[i] + word[i + 1]) == 0) {
          ++counts[pair];
          names[pair] = {word[i], word[i + 1]};
        }
      }
    }
    const auto best =
        std::max_element(counts.begin(), counts.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    if (best == counts.end() || best->second < 2) {
      break;
    }
    const auto [left, right] = names.at(best->first);
    result.emplace_back(left, right);
    ids.emplace(left + right, ids.size());
    for (auto& word : words) {
      for (size_t i = 0; i + 1 < word.size(); ++i) {
        if (word[i] == left && word[i + 1] == right) {
          word[i] += word[i + 1];
          word.erase(word.begin() + static_cast<std::ptrdiff_t>(i) + 1);
        }
      }
    }
  }
  return result;
}

TEST(ByteBpeTraining, AgreesWithCountingAnew) {
  std::mt19937 random(5);
  for (const std::string_view characters : {"ab", "aab c", "abcdefgh  \n.1"}) {
    for (int round = 0; round < 10; ++round) {
      std::vector<std::string> texts(3);
      for (std::string& text : texts) {
        for (size_t i = random() % 300; i > 0; --i) {
          text += characters[random() % characters.size()];
        }
      }
      const auto expected = slow_training(texts, 60);
      ASSERT_EQ(train_byte_bpe(texts, 257 + 60)->content().merges, expected);
      std::reverse(texts.begin(), texts.end());
      ASSERT_EQ(train_byte_bpe(texts, 257 + 60)->content().merges, expected);
    }
  }
}

TEST(ByteBpeTraining, LearnsShakespeare) {
  const char* root = std::getenv("HEED_DATA");
  const std::filesystem::path file =
      std::filesystem::path(root != nullptr ? root : "../shared/data") /
      "tinyshakespeare/input.txt";
  if (!std::filesystem::exists(file)) {
    GTEST_SKIP() << "skipped: no data at " << file.string();
  }
  const std::string text = read_file(file);
  const auto tokenizer = train_byte_bpe({text}, 8000);
  EXPECT_EQ(tokenizer->size(), 8000);
  EXPECT_EQ(tokenizer->piece(7999), "<|endoftext|>");
  const auto ids = tokenizer->encode(text);
  EXPECT_EQ(tokenizer->decode(ids), text);
  // Learned from this very text, 8,000 pieces do better than GPT-2's 50,257, which take 338,025.
  EXPECT_LT(ids.size(), 338025U);
  EXPECT_TRUE(tokenizer->find("ĠRomeo").has_value());
}

}  // namespace
}  // namespace heed
