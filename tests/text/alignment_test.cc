// Offsets of tokens in the text, for every kind of tokenizer, and the tokens of words.
#include "text/alignment.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "base/file.h"
#include "tests/support/error_of.h"
#include "text/bpe/byte_bpe.h"
#include "text/tokenizer.h"
#include "text/tokenizer_json.h"
#include "text/unicode.h"
#include "text/unicode_class.h"
#include "text/vocabulary.h"
#include "text/wordpiece.h"

namespace heed {
namespace {

using testing::expect_error;
using TokenizerPtr = std::shared_ptr<const Tokenizer>;

const std::vector<std::string> kCorpus = {
    "Ein Hund läuft über die Straße.",
    "Zwei Hunde laufen über die grüne Wiese... und finden den Fluss.",
    "Eine Frau sagte: \"Die Hunde (zwei!) laufen schnell.\"",
    "Wo läuft der Hund? Über die Straße, über die Wiese, 30 kg schwer.",
    "das Café, das Café, naïve Fische finden das 中文 gut",
};

// What each token stands for: "piece=text" with a bar between tokens.
std::string aligned(const Tokenizer& tokenizer, std::string_view text) {
  const Encoding encoding = tokenizer.encode_with_offsets(text);
  EXPECT_EQ(encoding.ids, tokenizer.encode(text));
  EXPECT_EQ(encoding.ids.size(), encoding.ranges.size());
  std::string result;
  for (size_t i = 0; i < encoding.ids.size(); ++i) {
    const TextRange& range = encoding.ranges[i];
    result += fmt::format("{}{}={}", i == 0 ? "" : "|", tokenizer.piece(encoding.ids[i]),
                          text.substr(range.begin, range.end - range.begin));
  }
  return result;
}

// Vocabularies of SentencePiece are learned, so only what the tokens stand for is known.
std::vector<std::string> texts_of(const Tokenizer& tokenizer, std::string_view text) {
  std::vector<std::string> result;
  for (const TextRange& range : tokenizer.encode_with_offsets(text).ranges) {
    result.emplace_back(text.substr(range.begin, range.end - range.begin));
  }
  return result;
}

TokenizerPtr wordpiece(const WordPieceOptions& options) {
  return std::make_shared<WordPiece>(
      WordPiece::Content{.pieces = {"[PAD]",  "[UNK]", "[CLS]", "[SEP]", "[MASK]", "un",   "##aff",
                                    "##able", "cafe",  "##s",   "i",     "##i",    "中",   ",",
                                    "na",     "##ive", "Caf",   "##é",   "한",     "##국", "e"},
                         .added = {{.id = 4, .text = "[MASK]"}},
                         .options = options},
      "test");
}

TEST(Alignment, WordPieceMapsToTheTextBeforeCleaning) {
  const auto lower = wordpiece({.lower_case = true});
  EXPECT_EQ(aligned(*lower, "Unaffable, CAFÉS"), "un=Un|##aff=aff|##able=able|,=,|cafe=CAFÉ|##s=S");
  EXPECT_EQ(aligned(*lower, "  i  中i "), "i=i|中=中|i=i");
  // The accent is a character of its own, then part of one; with a letter behind it.
  EXPECT_EQ(aligned(*lower, "cafe\u0301s"), "cafe=cafe\u0301|##s=s");
  EXPECT_EQ(aligned(*lower, "nai\u0308ve NAÏVE"), "na=na|##ive=i\u0308ve|na=NA|##ive=ÏVE");
  // Marks change places when they are ordered.
  EXPECT_EQ(aligned(*lower, "caf\u00E9\u0323\u0301s"), "cafe=caf\u00E9\u0323\u0301|##s=s");
  EXPECT_EQ(aligned(*lower, "İi"), "i=İ|##i=i");
  EXPECT_EQ(aligned(*lower, "xyz \U0001F600\u200D\U0001F600,i"),
            "[UNK]=xyz|[UNK]=\U0001F600\u200D\U0001F600|,=,|i=i");
  EXPECT_EQ(aligned(*lower, "i [MASK]i"), "i=i|[MASK]=[MASK]|i=i");
  EXPECT_EQ(aligned(*lower, "u\u0001n\xFF i"), "un=u\u0001n|i=i");
  EXPECT_EQ(aligned(*lower, ""), "");
  const auto cased = wordpiece({.lower_case = false});
  EXPECT_EQ(aligned(*cased, "Café 한국"), "Caf=Caf|##é=é|한=한|##국=국");
}

TEST(Alignment, WordPieceWithoutAccentsSharesASyllable) {
  // Decomposed, a Hangul syllable is up to three letters; all of them come from the one.
  const auto tokenizer = std::make_shared<WordPiece>(
      WordPiece::Content{.pieces = {"[UNK]", "\u1112", "##\u1161\u11AB"},
                         .added = {},
                         .options = {.lower_case = true}},
      "test");
  EXPECT_EQ(aligned(*tokenizer, " 한"), "\u1112=한|##\u1161\u11AB=한");
}

TEST(Alignment, VocabulariesOfWordsCharactersAndTokens) {
  const auto words = train_tokenizer(kCorpus, {.kind = "word", .vocabulary = 100});
  EXPECT_EQ(aligned(*words, "Die  Hunde (zwei!) \U0001F600"),
            "Die=Die|Hunde=Hunde|(￭=(|zwei=zwei|￭!=!|￭)=)|<unk>=\U0001F600");
  EXPECT_EQ(aligned(*words, "läuft-über <unk>"),
            "läuft=läuft|<unk>=-|über=über|<unk>=<|<unk>=unk|<unk>=>");
  const auto lower =
      train_tokenizer(kCorpus, {.kind = "word", .vocabulary = 100, .lower_case = true});
  // The lower case of "Ⱥ" takes three bytes instead of two.
  EXPECT_EQ(aligned(*lower, "ȺÜBER ÜBER"), "<unk>=ȺÜBER|über=ÜBER");
  const auto characters =
      train_tokenizer(kCorpus, {.kind = "char", .vocabulary = 100, .lower_case = true});
  EXPECT_EQ(aligned(*characters, "Ü  中\xFF"), "ü=Ü|▁= |▁= |中=中|<unk>=\xFF");
  const auto tokens = train_tokenizer(kCorpus, {.kind = "token", .vocabulary = 100});
  EXPECT_EQ(aligned(*tokens, " Ein  Hund\nläuft  \U0001F600\xFF <s>"),
            "Ein=Ein|Hund=Hund|läuft=läuft|<unk>=\U0001F600\xFF|<unk>=<s>");
}

TEST(Alignment, ByteBpeCountsBytes) {
  const auto trained =
      train_tokenizer({"der Hund der Hund der Hund"}, {.kind = "byte_bpe", .vocabulary = 300});
  EXPECT_EQ(aligned(*trained, "der Hund  der"), "der=der|ĠHund= Hund|Ġ= |Ġder= der");
  EXPECT_EQ(aligned(*trained, "der<|endoftext|>der"),
            "der=der|<|endoftext|>=<|endoftext|>|der=der");
  EXPECT_EQ(aligned(*trained, "é\xFF"), "Ã=\xC3|©=\xA9|ÿ=\xFF");
  ByteBpe::Content content = dynamic_cast<const ByteBpe&>(*trained).content();
  content.add_prefix_space = true;
  const auto spaced = read_tokenizer_json(write_tokenizer_json(ByteBpe(content, "test")), "test");
  EXPECT_EQ(aligned(*spaced, "der Hund"), "Ġder=der|ĠHund= Hund");
  EXPECT_EQ(aligned(*spaced, "\n<|endoftext|>der"), "Ġ=|Ċ=\n|<|endoftext|>=<|endoftext|>|Ġder=der");
}

TEST(Alignment, TokenizerJsonAlignsAsItsModelDoes) {
  const auto cleaned = wordpiece({.lower_case = true});
  const auto read = read_tokenizer_json(cleaned->serialize(), "test");
  EXPECT_EQ(aligned(*read, "CAFÉS [MASK]"), "cafe=CAFÉ|##s=S|[MASK]=[MASK]");
}

TEST(Alignment, SentencePieceKeepsSpacesWithTheWordAfterThem) {
  const auto tokenizer = train_tokenizer(kCorpus, {.kind = "bpe", .vocabulary = 200});
  using Texts = std::vector<std::string>;
  EXPECT_EQ(texts_of(*tokenizer, "über  die"), (Texts{"über", "  die"}));
  EXPECT_EQ(texts_of(*tokenizer, "   über die  "), (Texts{"über", " die"}));
  EXPECT_EQ(aligned(*tokenizer, "\U0001F600\U0001F600 die"),
            "▁=|<unk>=\U0001F600\U0001F600|▁die= die");
  EXPECT_EQ(texts_of(*tokenizer, "  "), Texts{});
  // The normal form takes other bytes.
  EXPECT_EQ(texts_of(*tokenizer, "ｕ\u0308ber\u00A0die"), (Texts{"ｕ\u0308ber", "\u00A0die"}));
  const auto lower =
      train_tokenizer(kCorpus, {.kind = "bpe", .vocabulary = 200, .lower_case = true});
  EXPECT_EQ(texts_of(*lower, "ÜBER DIE"), (Texts{"ÜBER", " DIE"}));
}

// One character that becomes several, of which tokens take a part each: all stand for the whole.
TEST(Alignment, SentencePieceSharesACharacterThatGrows) {
  const std::vector<std::string> letters = {"f i . k g a b c x y"};  // pieces are single letters
  const auto tokenizer = train_tokenizer(letters, {.kind = "bpe", .vocabulary = 18});
  EXPECT_EQ(aligned(*tokenizer, "ﬁ…x"), "▁=|f=ﬁ|i=ﬁ|.=…|.=…|.=…|x=x");
  EXPECT_EQ(aligned(*tokenizer, "a㎏"), "▁a=a|k=㎏|g=㎏");
  // A piece that ends inside: "af" and "ix" of "aﬁx".
  const auto pairs = train_tokenizer({"bix cix dix eix", "bix cix dix eix", "af af af"},
                                     {.kind = "bpe", .vocabulary = 16});
  ASSERT_TRUE(pairs->find("▁af") && pairs->find("ix"));
  EXPECT_EQ(aligned(*pairs, "aﬁx x"), "▁af=aﬁ|ix=ﬁx|▁= |x=x");
}

TEST(Alignment, SentencePieceSpellsUnknownCharactersAsBytes) {
  const auto tokenizer =
      train_tokenizer(kCorpus, {.kind = "unigram", .vocabulary = 330, .byte_fallback = true});
  EXPECT_TRUE(aligned(*tokenizer, "die \U0001F600")
                  .ends_with("▁= |<0xF0>=\U0001F600|<0x9F>=\U0001F600|<0x98>=\U0001F600"
                             "|<0x80>=\U0001F600"));
  // "ẍ" is unknown, and two characters in the text.
  EXPECT_TRUE(aligned(*tokenizer, "die x\u0308")
                  .ends_with("▁= |<0xE1>=x\u0308|<0xBA>=x\u0308|<0x8D>=x\u0308"));
}

// Properties that hold for any text.

bool at_boundary(std::string_view text, size_t at) {
  size_t boundary = 0;
  for (const CodePoint& c : CodePoints(text)) {
    if (boundary >= at) {
      break;
    }
    boundary += c.bytes.size();
  }
  return boundary == at;
}

// Whether a tokenizer may drop a character: spaces, controls, accents without a letter, what is not
// UTF-8, and the mark that SentencePiece has for a space.
bool may_vanish(char32_t c) {
  return is_space(c) || is_other(c) || is_combining(c) || c == kReplacementCharacter || c == U'▁';
}

void expect_properties(const Tokenizer& tokenizer, std::string_view text) {
  SCOPED_TRACE(fmt::format("{}: \"{}\"", tokenizer.kind(), text));
  const Encoding encoding = tokenizer.encode_with_offsets(text);
  ASSERT_EQ(encoding.ids, tokenizer.encode(text));
  ASSERT_EQ(encoding.ranges.size(), encoding.ids.size());
  std::vector<bool> covered(text.size());
  TextRange before;
  for (const TextRange& range : encoding.ranges) {
    ASSERT_LE(range.begin, range.end);
    ASSERT_LE(range.end, text.size());
    ASSERT_GE(range.begin, before.begin);
    ASSERT_GE(range.end, before.end);
    if (tokenizer.kind() != "byte_bpe") {
      ASSERT_TRUE(at_boundary(text, range.begin) && at_boundary(text, range.end));
    }
    std::fill(covered.begin() + static_cast<std::ptrdiff_t>(range.begin),
              covered.begin() + static_cast<std::ptrdiff_t>(range.end), true);
    before = range;
  }
  size_t at = 0;
  for (const CodePoint& c : CodePoints(text)) {
    for (size_t i = at; i < at + c.bytes.size() && !may_vanish(c.value); ++i) {
      ASSERT_TRUE(covered[i]) << "byte " << i;
    }
    at += c.bytes.size();
  }
  for (const TextRange& word : words_at_spaces(text)) {
    for (const TokenRange& tokens : tokens_of_words(encoding.ranges, {&word, 1})) {
      for (size_t i = tokens.begin; i < tokens.end; ++i) {
        const TextRange& range = encoding.ranges[i];
        ASSERT_TRUE(range.empty() || (range.begin < word.end && range.end > word.begin));
      }
    }
  }
}

const std::vector<std::string> kParts = {
    "a",
    "e",
    "der",
    "Hund",
    "läuft",
    "ÜBER",
    "ß",
    "Straße",
    " ",
    " ",
    " ",
    "  ",
    "\t",
    "\n",
    "\u00A0",
    "\u3000",
    "é",
    "e\u0301",
    "a\u0323\u0301",
    "\u0301",
    "İ",
    "Ⱥ",
    "Σ",
    "中",
    "文",
    "한",
    "\u1112\u1161\u11AB",
    "ﬁ",
    "…",
    "㎏",
    "Ⅷ",
    "½",
    "´",
    "\uFDFA",
    "\U0001F600",
    "\U0001F468\u200D\U0001F469",
    "\u2764\uFE0F",
    ".",
    ",",
    "'s",
    "\"",
    "-",
    "1",
    "30",
    "x",
    "\u0001",
    "\u200B",
    "\u00AD",
    "\xFF",
    "\xC3",
    "\xE4\xB8",
    "[MASK]",
    "[UNK]",
    "<s>",
    "<unk>",
    "<|endoftext|>",
    "▁",
    "￭",
    "ｆｕｌｌ",
    "\u0E01\u0E33",
    "\u0915\u093F",
};

std::string random_text(std::mt19937& random) {
  std::string text;
  const size_t count = random() % 12;
  for (size_t i = 0; i < count; ++i) {
    text += kParts[random() % kParts.size()];
  }
  return text;
}

TEST(Alignment, HoldsForRandomTextsOfEveryKind) {
  std::vector<TokenizerPtr> tokenizers = {wordpiece({.lower_case = true}),
                                          wordpiece({.lower_case = false})};
  for (const std::string& kind : tokenizer_kinds()) {
    TokenizerTraining options{.kind = kind, .vocabulary = kind == "byte_bpe" ? 300 : 120};
    tokenizers.push_back(train_tokenizer(kCorpus, options));
    if (kind != "byte_bpe" && kind != "token") {
      options.lower_case = true;
      tokenizers.push_back(train_tokenizer(kCorpus, options));
    }
    if (kind == "unigram" || kind == "bpe") {
      options.byte_fallback = true;
      options.vocabulary = 400;
      tokenizers.push_back(train_tokenizer(kCorpus, options));
    }
  }
  std::mt19937 random(7);
  for (int i = 0; i < 1000; ++i) {
    const std::string text = random_text(random);
    for (const TokenizerPtr& tokenizer : tokenizers) {
      expect_properties(*tokenizer, text);
      ASSERT_FALSE(HasFatalFailure());
    }
  }
}

TEST(Alignment, HoldsForTheVocabulariesOfOthers) {
  const char* data = std::getenv("HEED_DATA");
  const std::filesystem::path folder =
      std::filesystem::path(data != nullptr ? data : "../shared/data") / "tokenizers";
  if (!std::filesystem::exists(folder)) {
    GTEST_SKIP() << "the data is not here";
  }
  std::vector<TokenizerPtr> tokenizers;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (name == "vocab.txt" || name.ends_with(".model")) {
      tokenizers.push_back(load_tokenizer(entry.path()));
    } else if (name == "gpt2-vocab.json") {
      tokenizers.push_back(
          ByteBpe::from_gpt2(read_file(entry.path()),
                             read_file(entry.path().parent_path() / "gpt2-merges.txt"), "gpt2"));
    }
  }
  ASSERT_GE(tokenizers.size(), 3U);
  std::mt19937 random(8);
  for (int i = 0; i < 500; ++i) {
    const std::string text = random_text(random);
    for (const TokenizerPtr& tokenizer : tokenizers) {
      expect_properties(*tokenizer, text);
      ASSERT_FALSE(HasFatalFailure());
    }
  }
}

// Words.

TEST(Alignment, WordsAreSplitAtAnySpace) {
  using Words = std::vector<TextRange>;
  EXPECT_EQ(words_at_spaces(""), Words{});
  EXPECT_EQ(words_at_spaces(" \t "), Words{});
  EXPECT_EQ(words_at_spaces("ein"), (Words{{0, 3}}));
  EXPECT_EQ(words_at_spaces("  ein\u00A0Käfer \xFF\n"), (Words{{2, 5}, {7, 13}, {14, 15}}));
}

TEST(Alignment, WordsKnowTheirTokens) {
  using Tokens = std::vector<TokenRange>;
  const auto tokenizer = wordpiece({.lower_case = true});
  const std::string text = "Unaffable cafes,  \u0001 CAFÉ";
  const Encoding encoding = tokenizer->encode_with_offsets(text);
  // un ##aff ##able | cafe ##s , | nothing | cafe
  EXPECT_EQ(tokens_of_words(encoding.ranges, words_at_spaces(text)),
            (Tokens{{0, 3}, {3, 6}, {6, 6}, {6, 7}}));
  // Words of another kind: "Un", "affable", an empty one, "cafes" without its comma
  const std::vector<TextRange> given = {{0, 2}, {2, 9}, {9, 9}, {10, 15}};
  EXPECT_EQ(tokens_of_words(encoding.ranges, given), (Tokens{{0, 1}, {1, 3}, {3, 3}, {3, 5}}));
  EXPECT_EQ(tokens_of_words({}, given), (Tokens{{0, 0}, {0, 0}, {0, 0}, {0, 0}}));
}

TEST(Alignment, TokensOverSeveralWordsBelongToEach) {
  using Tokens = std::vector<TokenRange>;
  const std::vector<TextRange> tokens = {{0, 0}, {0, 2}, {2, 7}, {7, 7}, {7, 9}};
  const std::vector<TextRange> words = {{0, 3}, {4, 6}, {6, 9}};
  EXPECT_EQ(tokens_of_words(tokens, words), (Tokens{{1, 3}, {2, 3}, {2, 5}}));
}

TEST(Alignment, WordsMustAscend) {
  const std::vector<TextRange> overlapping = {{0, 3}, {2, 4}};
  expect_error([&] { tokens_of_words({}, overlapping); },
               "[words] word 1 is [2, 4), expected a range that begins at 3 or later");
  const std::vector<TextRange> backwards = {{3, 1}};
  expect_error([&] { tokens_of_words({}, backwards); },
               "[words] word 0 is [3, 1), expected a range that begins at 0 or later");
}

}  // namespace
}  // namespace heed
