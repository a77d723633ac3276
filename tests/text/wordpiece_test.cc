// WordPiece against ids from elsewhere and by hand.
#include "text/wordpiece.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "base/file.h"
#include "data/text/lines.h"
#include "tests/support/error_of.h"
#include "text/unicode.h"

namespace heed {
namespace {

using testing::error_of;
using testing::expect_error;
using Ids = std::vector<int32_t>;

std::filesystem::path data_folder() {
  const char* data = std::getenv("HEED_DATA");
  return std::filesystem::path(data != nullptr ? data : "../shared/data") /
         "tokenizers/bert-base-uncased";
}

#define SKIP_WITHOUT_DATA()                                  \
  if (!std::filesystem::exists(data_folder())) {             \
    GTEST_SKIP() << "skipped: no data at " << data_folder(); \
  }

std::shared_ptr<const WordPiece> bert() {
  return WordPiece::from_vocab(read_file(data_folder() / "vocab.txt"), {}, "vocab.txt");
}

std::shared_ptr<const WordPiece> from_pieces(std::initializer_list<const char*> pieces,
                                             const WordPieceOptions& options = {}) {
  std::string text;
  for (const char* piece : pieces) {
    text += std::string(piece) + "\n";
  }
  return WordPiece::from_vocab(text, options, "vocab.txt");
}

TEST(WordPiece, EdgeCasesOfBert) {
  SKIP_WITHOUT_DATA();
  const auto tokenizer = bert();
  const auto cases = nlohmann::json::parse(read_file(data_folder() / "edge_cases.json"));
  EXPECT_EQ(cases.size(), 24U);
  for (const auto& c : cases) {
    const auto text = c["text"].get<std::string>();
    EXPECT_EQ(tokenizer->encode(text), c["ids"].get<Ids>()) << text;
  }
}

TEST(WordPiece, QuestionsOfSquad) {
  SKIP_WITHOUT_DATA();
  const auto tokenizer = bert();
  int questions = 0;
  for (const std::string& line :
       read_lines(data_folder() / "squad_questions_expected_ids.tsv.gz")) {
    const size_t tab = line.rfind('\t');
    ASSERT_NE(tab, std::string::npos);
    std::istringstream stream(line.substr(tab + 1));
    Ids expected;
    for (int32_t id = 0; stream >> id;) {
      expected.push_back(id);
    }
    ASSERT_EQ(tokenizer->encode(line.substr(0, tab)), expected) << line;
    ++questions;
  }
  EXPECT_EQ(questions, 5285);
}

TEST(WordPiece, BertsVocabulary) {
  SKIP_WITHOUT_DATA();
  const auto tokenizer = bert();
  EXPECT_EQ(tokenizer->size(), 30522);
  EXPECT_EQ(tokenizer->kind(), "wordpiece");
  EXPECT_EQ(tokenizer->special().pad, 0);
  EXPECT_EQ(tokenizer->special().unk, 100);
  EXPECT_EQ(tokenizer->special().start, 101);
  EXPECT_EQ(tokenizer->special().end, 102);
  EXPECT_EQ(tokenizer->find("[MASK]"), 103);
  EXPECT_EQ(tokenizer->piece(7592), "hello");
  EXPECT_EQ(tokenizer->vocab_txt(), read_file(data_folder() / "vocab.txt"));
  EXPECT_EQ(tokenizer->encode("Paris is the [MASK] of France.[SEP]"),
            (Ids{3000, 2003, 1996, 103, 1997, 2605, 1012, 102}));
  EXPECT_EQ(tokenizer->decode(Ids{101, 3000, 2003, 1996, 3007, 1997, 2605, 1012, 102, 0, 0}),
            "paris is the capital of france.");
  EXPECT_EQ(tokenizer->decode(tokenizer->encode("It's unaffable, isn't it? \"Yes!\"")),
            "it's unaffable, isn't it? \" yes! \"");
}

TEST(WordPiece, LongestPiecesFirst) {
  const auto tokenizer = from_pieces(
      {"[UNK]", "un", "unable", "##able", "##aff", "##a", "a", "##f", "ü", "##ü", "#", "##"},
      {.lower_case = true, .strip_accents = false});
  EXPECT_EQ(tokenizer->encode("unable"), (Ids{2}));
  EXPECT_EQ(tokenizer->encode("unaffable"), (Ids{1, 4, 3}));
  EXPECT_EQ(tokenizer->encode("UNAFFA"), (Ids{1, 4, 5}));
  EXPECT_EQ(tokenizer->encode("unb"), (Ids{0}));        // no way through: unknown as a whole
  EXPECT_EQ(tokenizer->encode("able a"), (Ids{0, 6}));  // "##able" begins no word
  EXPECT_EQ(tokenizer->encode("aÜü"), (Ids{6, 9, 9}));
  EXPECT_EQ(tokenizer->encode("##"), (Ids{10, 10}));  // marks, one by one
  EXPECT_EQ(tokenizer->encode("aq"), (Ids{0}));       // "##" alone is no piece of a word
}

TEST(WordPiece, LongWordsAreUnknown) {
  const auto tokenizer = from_pieces({"[UNK]", "x", "##x", "ж", "##ж"}, {.lower_case = false});
  EXPECT_EQ(tokenizer->encode(std::string(100, 'x')).size(), 100U);
  EXPECT_EQ(tokenizer->encode(std::string(101, 'x')), (Ids{0}));
  std::string cyrillic;  // characters count, not bytes
  for (int i = 0; i < 100; ++i) {
    cyrillic += "ж";
  }
  EXPECT_EQ(tokenizer->encode(cyrillic).size(), 100U);
  EXPECT_EQ(tokenizer->encode(cyrillic + "ж"), (Ids{0}));
}

TEST(WordPiece, AddedTokens) {
  const WordPiece tokenizer({.pieces = {"[UNK]", "[MASK]", "a", "b", "<name>"},
                             .added = {{.id = 6, .text = "[B]", .special = true},
                                       {.id = 1, .text = "[MASK]", .special = true},
                                       {.id = 5, .text = "<Name>", .special = false},
                                       {.id = 0, .text = "[UNK]", .special = true}},
                             .options = {}},
                            "test");
  EXPECT_EQ(tokenizer.size(), 7);
  EXPECT_EQ(tokenizer.piece(5), "<Name>");
  EXPECT_EQ(tokenizer.piece(6), "[B]");
  EXPECT_EQ(tokenizer.find("[B]"), 6);
  EXPECT_EQ(tokenizer.find("[C]"), std::nullopt);
  EXPECT_EQ(tokenizer.encode("A[MASK]b <Name>[B][UNK][mask]"), (Ids{2, 1, 3, 5, 6, 0, 0, 0, 0}));
  EXPECT_EQ(tokenizer.decode(Ids{2, 1, 6, 5, 0, 3}), "a <Name> [UNK] b");
  EXPECT_EQ(tokenizer.special().pad, -1);
  EXPECT_EQ(tokenizer.special().start, -1);
  EXPECT_EQ(tokenizer.special().end, -1);
  EXPECT_EQ(tokenizer.special().unk, 0);
  EXPECT_EQ(tokenizer.vocab_txt(), "[UNK]\n[MASK]\na\nb\n<name>\n<Name>\n[B]\n");
}

TEST(WordPiece, Decoding) {
  const auto tokenizer = from_pieces({"[UNK]", "[CLS]", "it", "'", "s", ",", "done", ".", "##ly",
                                      "don", "t", "?", "!", "we", "ve", "(", ")"});
  EXPECT_EQ(tokenizer->decode({}), "");
  EXPECT_EQ(tokenizer->decode(Ids{1, 2, 3, 4, 6, 8, 5, 0, 7}), "it's donely, [UNK].");
  EXPECT_EQ(tokenizer->decode(Ids{9, 3, 10, 11, 12}), "don't?!");
  EXPECT_EQ(tokenizer->decode(Ids{13, 3, 14, 15, 2, 16}), "we've ( it )");
  EXPECT_EQ(tokenizer->decode(Ids{8, 2}), "##ly it");  // nothing that it goes on with
  expect_error(
      [&] {
        tokenizer->decode(Ids{2, 17});
      },
      "[tokenizer] id 17 is out of range, expected 0 to 16");
  expect_error([&] { tokenizer->piece(-1); },
               "[tokenizer] id -1 is out of range, expected 0 to 16");
}

TEST(WordPiece, AnyBytesHaveIds) {
  const auto tokenizer = from_pieces({"[UNK]", "a", "##b"});
  uint32_t state = 7;
  for (int round = 0; round < 1000; ++round) {
    std::string text;
    for (int i = 0; i < 50; ++i) {
      state = state * 1664525U + 1013904223U;
      text += (state & 0x300000U) == 0 ? 'a' : static_cast<char>(state >> 24U);
    }
    EXPECT_TRUE(valid_utf8(tokenizer->decode(tokenizer->encode(text))));
  }
}

TEST(WordPiece, LinesOfAVocabulary) {
  EXPECT_EQ(WordPiece::from_vocab("[UNK]\r\na\r\n\u2028\r\n", {}, "v")->size(), 3);
  EXPECT_EQ(WordPiece::from_vocab("[UNK]\na", {}, "v")->vocab_txt(), "[UNK]\na\n");
}

TEST(WordPiece, SaysWhatIsWrong) {
  const auto error = [](const std::string& vocab) {
    return error_of([&] { WordPiece::from_vocab(vocab, {}, "vocab.txt"); });
  };
  EXPECT_EQ(error(""),
            "[vocab.txt] the piece for unknown words, \"[UNK]\", is not in the vocabulary");
  EXPECT_EQ(error("a\nb\n"),
            "[vocab.txt] the piece for unknown words, \"[UNK]\", is not in the vocabulary");
  EXPECT_EQ(error("[UNK]\nb\na\nb\n"), "[vocab.txt] pieces 1 and 3 are both \"b\"");
  EXPECT_EQ(error("[UNK]\n\na\n"), "[vocab.txt] piece 1 is empty");
  EXPECT_EQ(error("[UNK]\n\xFF\n"), "[vocab.txt] piece 1 is not UTF-8");
  const auto added = [](int32_t id, const char* text) {
    return error_of([&] {
      WordPiece({.pieces = {"[UNK]", "a"}, .added = {{.id = id, .text = text}}, .options = {}},
                "w");
    });
  };
  EXPECT_EQ(added(0, "a"), "[w] added token \"a\" has id 0, but is piece 1");
  EXPECT_EQ(added(0, "x"), "[w] added token \"x\" has id 0, which is piece \"[UNK]\"");
  EXPECT_EQ(added(3, "x"), "[w] added token \"x\" has id 3, expected 2, the next that is free");
  EXPECT_EQ(added(-1, "x"), "[w] added token \"x\" has id -1, expected at least 0");
  EXPECT_EQ(added(2, ""), "[w] added token 2 is empty");
}

}  // namespace
}  // namespace heed
