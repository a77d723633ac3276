// GPT-2's tokenizer against expected ids of others, and against BPE written out.
#include "text/bpe/byte_bpe.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>

#include "base/file.h"
#include "tests/support/error_of.h"
#include "text/bpe/byte_alphabet.h"
#include "text/bpe/gpt2_split.h"
#include "text/unicode.h"

namespace heed {
namespace {

using testing::error_of;
using testing::expect_error;
using Ids = std::vector<int32_t>;

std::filesystem::path data() {
  const char* root = std::getenv("HEED_DATA");
  return root != nullptr ? root : "../shared/data";
}

const ByteBpe& gpt2() {
  static const auto tokenizer =
      ByteBpe::from_gpt2(read_file(data() / "tokenizers/gpt2/gpt2-vocab.json"),
                         read_file(data() / "tokenizers/gpt2/gpt2-merges.txt"), "gpt2");
  return *tokenizer;
}

#define HEED_SKIP_WITHOUT(path)                                \
  if (!std::filesystem::exists(path)) {                        \
    GTEST_SKIP() << "skipped: no data at " << (path).string(); \
  }                                                            \
  static_assert(true)

#define HEED_SKIP_WITHOUT_GPT2() HEED_SKIP_WITHOUT(data() / "tokenizers/gpt2")

// The 256 bytes, then a piece for each merge: "a b" adds "ab".
ByteBpe::Content content_of(const std::vector<std::pair<std::string, std::string>>& merges) {
  ByteBpe::Content content;
  for (const uint8_t byte : byte_alphabet_order()) {
    content.pieces.push_back(to_byte_alphabet(std::string(1, static_cast<char>(byte))));
  }
  for (const auto& [left, right] : merges) {
    const std::string merged = left + right;
    if (std::find(content.pieces.begin(), content.pieces.end(), merged) == content.pieces.end()) {
      content.pieces.push_back(merged);
    }
  }
  content.merges = merges;
  return content;
}

// BPE by the book, on the pieces' texts.
class SlowBpe {
 public:
  explicit SlowBpe(const ByteBpe& tokenizer) : tokenizer_(tokenizer) {
    for (const auto& merge : tokenizer.content().merges) {
      ranks_.emplace(merge, ranks_.size());
    }
  }

  Ids encode(std::string_view text) const {
    Ids ids;
    for_each_gpt2_word(text, [&](std::string_view word) {
      for (const std::string& piece : merge(word)) {
        ids.push_back(tokenizer_.find(piece).value());
      }
    });
    return ids;
  }

 private:
  std::vector<std::string> merge(std::string_view word) const {
    std::vector<std::string> parts;
    for (const char byte : word) {
      parts.push_back(to_byte_alphabet(std::string(1, byte)));
    }
    while (true) {
      size_t best = std::numeric_limits<size_t>::max();
      size_t at = 0;
      for (size_t i = 0; i + 1 < parts.size(); ++i) {
        const auto found = ranks_.find({parts[i], parts[i + 1]});
        if (found != ranks_.end() && found->second < best) {
          best = found->second;
          at = i;
        }
      }
      if (best == std::numeric_limits<size_t>::max()) {
        return parts;
      }
      parts[at] += parts[at + 1];
      parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(at) + 1);
    }
  }

  const ByteBpe& tokenizer_;
  std::map<std::pair<std::string, std::string>, size_t> ranks_;
};

// A text of `length` characters below `limit`, blanks more often than chance gives them.
std::string random_text(std::mt19937& random, size_t length, char32_t limit) {
  std::string text;
  while (length-- > 0) {
    const char32_t c = random() % 5 == 0 ? U' ' : random() % limit;
    text += c >= 0xD800 && c < 0xE000 ? "?" : to_utf8(c);
  }
  return text;
}

TEST(ByteBpe, MergesTheLowestRankFirstAndTheLeftmostOfEquals) {
  const ByteBpe tokenizer(content_of({{"b", "c"}, {"a", "b"}, {"a", "a"}, {"ab", "c"}}), "t");
  const auto pieces = [&](std::string_view text) {
    std::string result;
    for (const int32_t id : tokenizer.encode(text)) {
      result += tokenizer.piece(id) + " ";
    }
    return result;
  };
  // "abc" is a piece, but (b, c) comes before (a, b), so no word ever arrives at it.
  EXPECT_EQ(pieces("abc"), "a bc ");
  EXPECT_EQ(pieces("aab"), "a ab ");
  EXPECT_EQ(pieces("aaaaa"), "aa aa a ");
  EXPECT_EQ(pieces("a b"), "a Ġ b ");
}

TEST(ByteBpe, LongWordsMergeLikeShortOnes) {
  const ByteBpe tokenizer(content_of({{"a", "a"}, {"b", "a"}, {"aa", "b"}, {"aa", "aa"}}), "t");
  const SlowBpe slow(tokenizer);
  std::mt19937 random(3);
  for (const size_t length : {1, 2, 3, 63, 64, 65, 66, 200, 1000}) {
    std::string word(length, 'a');
    EXPECT_EQ(tokenizer.encode(word), slow.encode(word)) << length;
    for (char& c : word) {
      c = random() % 3 == 0 ? 'b' : 'a';
    }
    EXPECT_EQ(tokenizer.encode(word), slow.encode(word)) << word;
  }
}

TEST(ByteBpe, AWordOfMegabytesTakesNoQuadraticTime) {
  const ByteBpe tokenizer(content_of({{"a", "a"}, {"aa", "aa"}, {"aaaa", "aaaa"}}), "t");
  const std::string word(size_t{3} << 20U, 'a');
  EXPECT_EQ(tokenizer.encode(word).size(), word.size() / 8);
  EXPECT_EQ(tokenizer.encode(std::string(size_t{3} << 20U, ' ')).size(), size_t{3} << 20U);
}

TEST(ByteBpe, AnyBytesComeBack) {
  const ByteBpe tokenizer(content_of({{"Ġ", "Ġ"}, {"Ã", "©"}, {"e", "e"}}), "t");
  std::mt19937 random(1);
  for (int round = 0; round < 500; ++round) {
    std::string bytes(random() % 200, '\0');
    for (char& c : bytes) {
      c = static_cast<char>(random() % 4 == 0 ? ' ' : random());
    }
    ASSERT_EQ(tokenizer.decode(tokenizer.encode(bytes)), bytes);
  }
  EXPECT_EQ(tokenizer.encode(""), Ids{});
  EXPECT_EQ(tokenizer.decode({}), "");
}

TEST(ByteBpe, AddedTokensAreFoundInText) {
  ByteBpe::Content content = content_of({{"e", "n"}});
  content.added = {{.id = 258, .text = "<ünd>", .special = false},
                   {.id = 257, .text = "<|endoftext|>"}};
  const ByteBpe tokenizer(std::move(content), "t");
  EXPECT_EQ(tokenizer.size(), 259);
  EXPECT_EQ(tokenizer.encode("en<|endoftext|><ünd>en"), (Ids{256, 257, 258, 256}));
  EXPECT_EQ(tokenizer.decode(Ids{256, 257, 258, 256}), "en<ünd>en");
  EXPECT_EQ(tokenizer.piece(258), "<ünd>");
  EXPECT_EQ(tokenizer.find("<ünd>"), 258);
  EXPECT_EQ(tokenizer.find("<|endoftext|>"), 257);
  EXPECT_EQ(tokenizer.find("en"), 256);
  EXPECT_EQ(tokenizer.find("Ġ"), 220);
  EXPECT_EQ(tokenizer.find(" "), std::nullopt);
  EXPECT_EQ(tokenizer.special().end, 257);
  EXPECT_EQ(tokenizer.special().start, 257);
  EXPECT_EQ(tokenizer.special().pad, -1);
  EXPECT_EQ(tokenizer.special().unk, -1);
  EXPECT_EQ(tokenizer.kind(), "byte_bpe");
  EXPECT_EQ(tokenizer.file_name(), "tokenizer.json");
  expect_error([&] { tokenizer.decode(Ids{259}); },
               "[tokenizer] id 259 is out of range, expected 0 to 258");
  expect_error([&] { tokenizer.piece(-1); },
               "[tokenizer] id -1 is out of range, expected 0 to 258");
}

TEST(ByteBpe, AddsASpaceInFrontIfAsked) {
  ByteBpe::Content content = content_of({{"Ġ", "a"}});
  content.added = {{.id = 257, .text = "<s>"}};
  content.add_prefix_space = true;
  const ByteBpe tokenizer(std::move(content), "t");
  EXPECT_EQ(tokenizer.encode("a a"), (Ids{256, 256}));
  EXPECT_EQ(tokenizer.encode(" a"), (Ids{256}));
  EXPECT_EQ(tokenizer.encode("<s>a<s>"), (Ids{257, 256, 257}));
  EXPECT_EQ(tokenizer.encode(""), Ids{});
}

TEST(ByteBpe, RefusesContradictions) {
  const auto error = [](const auto& change) {
    ByteBpe::Content content = content_of({{"a", "b"}});
    change(content);
    return error_of([&] { ByteBpe(content, "f"); });
  };
  EXPECT_EQ(error([](auto&) {}), "no error");
  EXPECT_EQ(error([](auto& c) { c.pieces[220] = "xy"; }),
            "[f] byte 0x20 has no piece, expected \"Ġ\"");
  EXPECT_EQ(error([](auto& c) { c.pieces.clear(); }), "[f] byte 0x21 has no piece, expected \"!\"");
  EXPECT_EQ(error([](auto& c) { c.pieces[256] = ""; }), "[f] piece 256 is empty");
  EXPECT_EQ(error([](auto& c) { c.pieces[256] = "A"; }), "[f] pieces 32 and 256 are both \"A\"");
  EXPECT_EQ(
      error([](auto& c) { c.pieces[256] = "a b"; }),
      "[f] piece 256 is \"a b\", which is neither an added token nor in GPT-2's byte alphabet");
  EXPECT_EQ(error([](auto& c) { c.pieces[256] = "ac"; }),
            "[f] merge 1 merges \"a\" and \"b\", but \"ab\" is not a piece");
  EXPECT_EQ(error([](auto& c) {
              c.merges.push_back({"ab", "xyz"});
            }),
            "[f] merge 2 merges \"ab\" and \"xyz\", but \"xyz\" is not a piece");
  EXPECT_EQ(error([](auto& c) {
              c.merges.push_back({"", "ab"});
            }),
            "[f] merge 2 merges \"\" and \"ab\", but \"\" is not a piece");
  EXPECT_EQ(error([](auto& c) {
              c.merges.push_back({"a", "b"});
            }),
            "[f] merge 2 merges \"a\" and \"b\", as an earlier one does");
  EXPECT_EQ(error([](auto& c) { c.added = {{.id = 300, .text = "<s>"}}; }),
            "[f] added token \"<s>\" has id 300, expected 0 to 257");
  EXPECT_EQ(error([](auto& c) { c.added = {{.id = -1, .text = "<s>"}}; }),
            "[f] added token \"<s>\" has id -1, expected 0 to 257");
  EXPECT_EQ(error([](auto& c) { c.added = {{.id = 256, .text = "<s>"}}; }),
            "[f] added token 256 is \"<s>\", but piece 256 is \"ab\"");
  EXPECT_EQ(error([](auto& c) { c.added = {{.id = 257, .text = "ab"}}; }),
            "[f] pieces 256 and 257 are both \"ab\"");
}

TEST(ByteBpe, FilesOfGpt2RoundTrip) {
  ByteBpe::Content content = content_of({{"#", "#"}, {"Ġ", "\""}, {"##", "##"}});
  content.added = {{.id = 259, .text = "<|endoftext|>"}};
  const ByteBpe tokenizer(content, "t");
  const auto again = ByteBpe::from_gpt2(tokenizer.vocab_json(), tokenizer.merges_txt(), "t");
  EXPECT_EQ(again->content().pieces, tokenizer.content().pieces);
  EXPECT_EQ(again->content().merges, content.merges);
  EXPECT_EQ(again->special().end, 259);
  EXPECT_EQ(tokenizer.merges_txt(), "#version: 0.2\n# #\nĠ \"\n## ##\n");
}

TEST(ByteBpe, RefusesDamagedFiles) {
  const std::string vocabulary = ByteBpe(content_of({{"a", "b"}}), "t").vocab_json();
  const auto vocabulary_error = [](const std::string& json) {
    return error_of([&] { ByteBpe::from_gpt2(json, "", "f"); });
  };
  EXPECT_EQ(vocabulary_error("{}"), "[f] byte 0x21 has no piece, expected \"!\"");
  EXPECT_EQ(vocabulary_error("[]"), "[f] this is a list, expected an object of pieces and ids");
  EXPECT_EQ(vocabulary_error("7"), "[f] this is 7, expected an object of pieces and ids");
  EXPECT_EQ(vocabulary_error(R"({"a": -1})"), "[f] \"a\" has -1, expected an id");
  EXPECT_EQ(vocabulary_error(R"({"a": 0.5})"), "[f] \"a\" has 0.5, expected an id");
  EXPECT_EQ(vocabulary_error(R"({"a": {"b": 1}})"), "[f] \"a\" has an object, expected an id");
  EXPECT_EQ(vocabulary_error(R"({"a": 0, "b": 2})"),
            "[f] \"b\" has id 2, but the 2 ids must run from 0 to 1");
  EXPECT_EQ(vocabulary_error(R"({"a": 18446744073709551615})"),
            "[f] \"a\" has id 18446744073709551615, but the 1 ids must run from 0 to 0");
  EXPECT_EQ(vocabulary_error(R"({"a": 1, "b": 1})"), "[f] \"a\" and \"b\" both have id 1");
  EXPECT_EQ(vocabulary_error(R"({"a": 0, "a": 1})"), "[f] pieces 0 and 1 are both \"a\"");
  for (const std::string& cut :
       std::vector<std::string>{"", vocabulary.substr(0, 900), "{\"\xFF\":0}",
                                std::string(100000, '['), vocabulary + "x"}) {
    EXPECT_EQ(vocabulary_error(cut).substr(0, 12), "[f] this is ") << cut.substr(0, 20);
  }

  const auto merges_error = [&](const std::string& merges) {
    return error_of([&] { ByteBpe::from_gpt2(vocabulary, merges, "f"); });
  };
  EXPECT_EQ(merges_error("#version: 0.2\r\na b\r\n\r\n"), "no error");
  EXPECT_EQ(merges_error("a b"), "no error");
  EXPECT_EQ(merges_error("#version: 0.2\nab\n"),
            "[f] line 2 is \"ab\", expected two pieces with a space between");
  EXPECT_EQ(merges_error("a b c"),
            "[f] line 1 is \"a b c\", expected two pieces with a space between");
  EXPECT_EQ(merges_error(" b"), "[f] line 1 is \" b\", expected two pieces with a space between");
  EXPECT_EQ(merges_error("a "), "[f] line 1 is \"a \", expected two pieces with a space between");
  EXPECT_EQ(merges_error("#version: 0.2\na b\nb a\n"),
            "[f] line 3 merges \"b\" and \"a\", but \"ba\" is not a piece");
}

TEST(Gpt2Tokenizer, GivesTheExpectedIds) {
  HEED_SKIP_WITHOUT_GPT2();
  const auto cases = nlohmann::json::parse(read_file(data() / "tokenizers/gpt2/edge_cases.json"));
  EXPECT_GE(cases.size(), 20U);
  for (const auto& c : cases) {
    const auto text = c.at("text").get<std::string>();
    EXPECT_EQ(gpt2().encode(text), c.at("ids").get<Ids>()) << text;
    EXPECT_EQ(gpt2().decode(c.at("ids").get<Ids>()), text);
  }
  EXPECT_EQ(gpt2().size(), 50257);
  EXPECT_EQ(gpt2().special().end, 50256);
  EXPECT_EQ(gpt2().encode("a<|endoftext|>"), (Ids{64, 50256}));
}

// nanoGPT reports 301,966 tokens of training and 36,059 of validation text, which are one file cut
// at nine tenths.
TEST(Gpt2Tokenizer, CountsShakespeareLikeOthers) {
  HEED_SKIP_WITHOUT_GPT2();
  HEED_SKIP_WITHOUT(data() / "tinyshakespeare/input.txt");
  const std::string text = read_file(data() / "tinyshakespeare/input.txt");
  const size_t cut = text.size() * 9 / 10;
  EXPECT_EQ(gpt2().encode(text.substr(0, cut)).size(), 301966U);
  EXPECT_EQ(gpt2().encode(text.substr(cut)).size(), 36059U);
  EXPECT_EQ(gpt2().decode(gpt2().encode(text)), text);
}

TEST(Gpt2Tokenizer, AgreesWithSlowBpe) {
  HEED_SKIP_WITHOUT_GPT2();
  const SlowBpe slow(gpt2());
  std::mt19937 random(11);
  for (int round = 0; round < 400; ++round) {
    const char32_t limit = std::array<char32_t, 4>{0x80, 0x250, 0x3000, 0x110000}[random() % 4];
    const std::string text = random_text(random, random() % 150, limit);
    ASSERT_EQ(gpt2().encode(text), slow.encode(text)) << text;
    ASSERT_EQ(gpt2().decode(gpt2().encode(text)), text);
  }
  // Every piece as a word: also those that no merge arrives at.
  for (int32_t id = 0; id < 50256; id += 7) {
    const std::string text = gpt2().decode(Ids{id});
    ASSERT_EQ(gpt2().encode(text), slow.encode(text)) << gpt2().piece(id);
  }
}

TEST(Gpt2Tokenizer, MayBeUsedFromManyThreads) {
  HEED_SKIP_WITHOUT_GPT2();
  std::string text;
  for (int32_t id = 0; id < 50256; id += 20) {
    text += gpt2().decode(Ids{id}) + "\n";
  }
  // A fresh one, since what a tokenizer remembers of its pieces is what the threads share.
  const ByteBpe tokenizer(gpt2().content(), "t");
  std::vector<Ids> found(4);
  std::vector<std::thread> threads;
  threads.reserve(found.size());
  for (Ids& ids : found) {
    threads.emplace_back([&] { ids = tokenizer.encode(text); });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  for (const Ids& ids : found) {
    EXPECT_EQ(ids, gpt2().encode(text));
  }
}

TEST(Gpt2Tokenizer, WritesTheFilesItWasReadFrom) {
  HEED_SKIP_WITHOUT_GPT2();
  EXPECT_EQ(gpt2().merges_txt(), read_file(data() / "tokenizers/gpt2/gpt2-merges.txt"));
  EXPECT_EQ(nlohmann::json::parse(gpt2().vocab_json()),
            nlohmann::json::parse(read_file(data() / "tokenizers/gpt2/gpt2-vocab.json")));
}

}  // namespace
}  // namespace heed
