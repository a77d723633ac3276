// Tokens as text while they come: whole characters, and nothing of a stop text.
#include "decode/text/text_stream.h"

#include <gtest/gtest.h>

#include <map>

#include "support/error_of.h"
#include "text/unicode.h"

namespace heed::testing {
namespace {

// Pieces given as text; a leading "_" is a space, and the first one of a text vanishes. An empty
// piece is a special token.
class PieceTokenizer : public Tokenizer {
 public:
  explicit PieceTokenizer(std::vector<std::string> pieces, bool sentence_piece = false)
      : pieces_(std::move(pieces)), sentence_piece_(sentence_piece) {}

  std::vector<int32_t> encode(std::string_view /*text*/) const override { return {}; }
  Encoding encode_with_offsets(std::string_view /*text*/) const override { return {}; }
  std::string decode(std::span<const int32_t> ids) const override {
    std::string text;
    for (const int32_t id : ids) {
      std::string piece = pieces_.at(static_cast<size_t>(id));
      if (sentence_piece_ && piece.starts_with("_")) {
        piece.replace(0, 1, text.empty() ? "" : " ");
      }
      text += piece;
    }
    return text;
  }
  int32_t size() const override { return static_cast<int32_t>(pieces_.size()); }
  std::string piece(int32_t id) const override { return pieces_.at(static_cast<size_t>(id)); }
  std::optional<int32_t> find(std::string_view /*piece*/) const override { return std::nullopt; }
  const SpecialIds& special() const override { return special_; }
  std::string_view kind() const override { return "bpe"; }
  std::string_view file_name() const override { return "none"; }
  std::string serialize() const override { return ""; }

 private:
  std::vector<std::string> pieces_;
  bool sentence_piece_;
  SpecialIds special_;
};

// Id n is byte n.
class ByteTokenizer : public PieceTokenizer {
 public:
  ByteTokenizer() : PieceTokenizer(all()) {}

 private:
  static std::vector<std::string> all() {
    std::vector<std::string> pieces;
    for (int i = 0; i < 256; ++i) {
      pieces.emplace_back(1, static_cast<char>(i));
    }
    return pieces;
  }
};

std::vector<int32_t> bytes_of(const std::string& text) {
  std::vector<int32_t> ids;
  for (const char c : text) {
    ids.push_back(static_cast<unsigned char>(c));
  }
  return ids;
}

struct Told {
  std::vector<std::string> pieces;  // of each push, and then of finish()
  std::string text;
  bool stopped = false;
};

Told tell(const Tokenizer& tokenizer, const std::vector<int32_t>& ids,
          const std::vector<std::string>& stop = {}, const std::vector<int32_t>& prompt = {}) {
  TextStream stream(tokenizer, stop);
  stream.begin(prompt);
  Told told;
  for (const int32_t id : ids) {
    told.pieces.push_back(stream.push(id));
  }
  told.pieces.push_back(stream.finish());
  for (const std::string& piece : told.pieces) {
    EXPECT_TRUE(valid_utf8(piece)) << piece;
    told.text += piece;
  }
  told.stopped = stream.stopped();
  return told;
}

using Pieces = std::vector<std::string>;

TEST(TextStream, WaitsForWholeCharacters) {
  const ByteTokenizer bytes;
  EXPECT_EQ(tell(bytes, bytes_of("aé€🦊b")).pieces,
            (Pieces{"a", "", "é", "", "", "€", "", "", "", "🦊", "b", ""}));
  const std::string text = "naïve 日本語 – 👩‍🔬 Ω";
  EXPECT_EQ(tell(bytes, bytes_of(text)).text, text);
  EXPECT_EQ(tell(bytes, {}).text, "");
}

TEST(TextStream, BytesThatAreNoCharactersAreReplaced) {
  const ByteTokenizer bytes;
  EXPECT_EQ(tell(bytes, bytes_of("a\xE2\x82")).pieces.back(), "\uFFFD\uFFFD");  // cut off
  EXPECT_EQ(tell(bytes, bytes_of("\xFFz")).text, "\uFFFDz");
  EXPECT_EQ(tell(bytes, bytes_of("\x80\x80z")).text, "\uFFFD\uFFFDz");
  EXPECT_EQ(tell(bytes, bytes_of("\xC3z\xA9")).text, "\uFFFDz\uFFFD");
}

// SentencePiece shows bytes that are no character yet as U+FFFD.
TEST(TextStream, WaitsForBytesOfSentencePiece) {
  const auto tokenizer = train_tokenizer(
      {"the quick brown fox jumps over the lazy dog", "a dog and a fox and the dog again"},
      {.kind = "unigram", .vocabulary = 300, .byte_fallback = true});
  for (const std::string& text :
       {std::string("the fox 🦊 and the dog"), std::string("Ωmega"), std::string("日本"),
        std::string("a quick fox"), std::string("dog \uFFFD fox")}) {
    const Told told = tell(*tokenizer, tokenizer->encode(text));
    EXPECT_EQ(told.text, tokenizer->decode(tokenizer->encode(text)));
    if (text.find("\uFFFD") == std::string::npos) {
      for (const std::string& piece : told.pieces) {
        EXPECT_EQ(piece.find("\uFFFD"), std::string::npos) << piece;
      }
    }
  }
}

TEST(TextStream, JoinsAsTheWholeTextDoes) {
  const PieceTokenizer pieces({"_the", "_fox", "es", "_", ".", ""}, true);
  EXPECT_EQ(tell(pieces, {0, 1, 2, 4}).pieces, (Pieces{"the", " fox", "es", ".", ""}));
  // Behind a prompt a word begins with its space.
  EXPECT_EQ(tell(pieces, {1, 2}, {}, {0}).pieces, (Pieces{" fox", "es", ""}));
  EXPECT_EQ(tell(pieces, {1, 2}, {}, {0, 1, 2, 4, 0, 1, 2, 4}).pieces, (Pieces{" fox", "es", ""}));
  EXPECT_EQ(tell(pieces, {0, 1}, {}, {5}).pieces, (Pieces{"the", " fox", ""}));
  // Special tokens say nothing, and what follows them joins all the same.
  EXPECT_EQ(tell(pieces, {0, 5, 5, 1, 5}).pieces, (Pieces{"the", "", "", " fox", "", ""}));
}

TEST(TextStream, CharacterVocabulary) {
  const auto tokenizer =
      train_tokenizer({"to be, or not to be\n", "für Größe\n"}, {.kind = "char"});
  const std::string text = "für be\nnot Größe, to";
  std::vector<int32_t> ids = tokenizer->encode(text);
  const Told told = tell(*tokenizer, ids, {}, tokenizer->encode("or "));
  EXPECT_EQ(told.text, text);
  EXPECT_EQ(told.pieces[1], "ü");
  EXPECT_EQ(tell(*tokenizer, ids, {"\n"}).text, "für be");
  ids.insert(ids.begin() + 3, tokenizer->special().pad);
  EXPECT_EQ(tell(*tokenizer, ids).text, text);
}

TEST(TextStream, StopTexts) {
  const ByteTokenizer bytes;
  const Told told = tell(bytes, bytes_of("ab STOP cd"), {"STOP"});
  EXPECT_TRUE(told.stopped);
  EXPECT_EQ(told.pieces, (Pieces{"a", "b", " ", "", "", "", "", "", "", "", ""}));
  EXPECT_EQ(tell(bytes, bytes_of("STOP"), {"STOP"}).text, "");
  EXPECT_EQ(tell(bytes, bytes_of("naïve"), {"ï"}).text, "na");
  const Told none = tell(bytes, bytes_of("ab STO"), {"STOP"});
  EXPECT_FALSE(none.stopped);
  EXPECT_EQ(none.pieces, (Pieces{"a", "b", " ", "", "", "", "STO"}));
}

TEST(TextStream, HoldsBackOnlyWhatMayBecomeAStop) {
  const ByteTokenizer bytes;
  // "aab" in "aaab": the first a is certain once the third comes.
  EXPECT_EQ(tell(bytes, bytes_of("aaac"), {"aab"}).pieces, (Pieces{"", "", "a", "aac", ""}));
  EXPECT_EQ(tell(bytes, bytes_of("aaab!"), {"aab"}).text, "a");
  EXPECT_EQ(tell(bytes, bytes_of("ababac"), {"abac"}).text, "ab");
  EXPECT_EQ(tell(bytes, bytes_of("xyx"), {"xyz"}).pieces, (Pieces{"", "", "xy", "x"}));
}

TEST(TextStream, ManyStopTexts) {
  const ByteTokenizer bytes;
  EXPECT_EQ(tell(bytes, bytes_of("abcd"), {"abcd", "bc"}).text, "a");  // the first to be complete
  EXPECT_EQ(tell(bytes, bytes_of("abcd"), {"bcd", "abc"}).text, "");
  EXPECT_EQ(tell(bytes, bytes_of("abx"), {"abc", "bd"}).pieces, (Pieces{"", "", "abx", ""}));
  // Several in one piece: the first in the text.
  const PieceTokenizer pieces({"one two three", "!"});
  EXPECT_EQ(tell(pieces, {0}, {"three", "two"}).text, "one ");
  EXPECT_EQ(tell(pieces, {0, 1}, {"e!"}).text, "one two thre");
  EXPECT_EQ(tell(pieces, {0, 1}, {"three!!", "ee!?"}).text, "one two three!");
}

// A stop text in a piece that also begins a character is found when nothing more comes.
TEST(TextStream, StopTextInWhatIsHeldBack) {
  const PieceTokenizer pieces({"ab", "cSTOP\xE2", "\x82\xAC"});
  const Told told = tell(pieces, {0, 1}, {"STOP"});
  EXPECT_EQ(told.text, "abc");
  EXPECT_TRUE(told.stopped);
  EXPECT_EQ(tell(pieces, {0, 1, 2}).text, "abcSTOP€");
}

TEST(TextStream, EmptyStopTextIsAnError) {
  const ByteTokenizer bytes;
  EXPECT_EQ(error_of([&] { TextStream(bytes, {"a", ""}); }), "[generate] a stop text is empty");
}

}  // namespace
}  // namespace heed::testing
