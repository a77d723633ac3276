// Tokenizers by file and by kind, SentencePiece above all.
#include "text/tokenizer.h"

#include <fmt/ranges.h>
#include <gtest/gtest.h>
#include <unistd.h>
#include <zlib.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "tests/support/error_of.h"
#include "text/sentencepiece.h"
#include "text/unicode.h"

namespace heed {
namespace {

using testing::error_of;
using testing::expect_error;

const std::vector<std::string> kCorpus = {
    "Ein Hund läuft über die Straße.",
    "Zwei Hunde laufen über die grüne Wiese.",
    "Eine Frau sagte: \"Die Hunde (zwei!) laufen schnell.\"",
    "Der Mann läuft mit dem Hund über die Wiese; die Frau nicht.",
    "Wo läuft der Hund? Über die Straße, über die Wiese.",
    "„Schön“, sagte der Mann – „wie geht's?“",
};

std::string round_trip(const Tokenizer& tokenizer, std::string_view text) {
  return tokenizer.decode(tokenizer.encode(text));
}

// A folder of its own, gone with the test.
class Folder {
 public:
  Folder() : path_(std::filesystem::temp_directory_path() / fmt::format("heed-{}", getpid())) {
    std::filesystem::create_directory(path_);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::filesystem::path operator/(const char* name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

std::filesystem::path botchan() {
  const char* data = std::getenv("HEED_DATA");
  return std::filesystem::path(data != nullptr ? data : "../shared/data") /
         "tokenizers/sentencepiece-botchan";
}

TEST(Tokenizer, EveryKindTrainsSavesAndLoads) {
  const Folder folder;
  for (const std::string& kind : tokenizer_kinds()) {
    SCOPED_TRACE(kind);
    const int32_t most = kind == "byte_bpe" ? 300 : 100;
    const auto tokenizer = train_tokenizer(kCorpus, {.kind = kind, .vocabulary = most});
    const std::filesystem::path file = folder / std::string(tokenizer->file_name()).c_str();
    write_file(file, tokenizer->serialize());
    const auto loaded = load_tokenizer(file);
    EXPECT_EQ(loaded->kind(), kind);
    EXPECT_EQ(loaded->size(), tokenizer->size());
    EXPECT_LE(loaded->size(), most);
    EXPECT_EQ(loaded->serialize(), tokenizer->serialize());
    for (const std::string& line : kCorpus) {
      EXPECT_EQ(loaded->encode(line), tokenizer->encode(line));
    }
    for (int32_t id = 0; id < loaded->size(); ++id) {
      ASSERT_EQ(loaded->find(loaded->piece(id)), id);
    }
    EXPECT_EQ(loaded->find("no such piece"), std::nullopt);
    EXPECT_TRUE(loaded->encode("").empty());
    EXPECT_EQ(loaded->decode({}), "");
  }
}

TEST(Tokenizer, TrainedOnesHaveTheSameSpecialIds) {
  for (const char* kind : {"unigram", "bpe", "word", "char", "token"}) {
    const auto tokenizer = train_tokenizer(kCorpus, {.kind = kind, .vocabulary = 100});
    const SpecialIds& special = tokenizer->special();
    EXPECT_EQ(special.pad, 0) << kind;
    EXPECT_EQ(special.start, 1) << kind;
    EXPECT_EQ(special.end, 2) << kind;
    EXPECT_EQ(special.unk, 3) << kind;
    EXPECT_EQ(tokenizer->piece(3), "<unk>") << kind;
    const auto ids = tokenizer->encode("Hund");
    std::vector<int32_t> framed = {1};
    framed.insert(framed.end(), ids.begin(), ids.end());
    framed.insert(framed.end(), {2, 0, 0});
    EXPECT_EQ(tokenizer->decode(framed), tokenizer->decode(ids)) << kind;
  }
}

TEST(Tokenizer, SpecialIdsOfGpt2AndBert) {
  const auto bytes = train_tokenizer(kCorpus, {.kind = "byte_bpe", .vocabulary = 300});
  EXPECT_EQ(bytes->size(), 300);
  EXPECT_EQ(bytes->special().start, 299);
  EXPECT_EQ(bytes->special().end, 299);
  EXPECT_EQ(bytes->special().pad, -1);
  EXPECT_EQ(bytes->special().unk, -1);
  EXPECT_EQ(bytes->piece(299), "<|endoftext|>");
  const auto pieces = train_tokenizer(kCorpus, {.kind = "wordpiece", .vocabulary = 100});
  EXPECT_EQ(pieces->special().pad, 0);
  EXPECT_EQ(pieces->special().unk, 1);
  EXPECT_EQ(pieces->special().start, 2);
  EXPECT_EQ(pieces->special().end, 3);
  EXPECT_EQ(pieces->piece(4), "[MASK]");
}

// Line ends are bytes as others; lines without them do not grow together.
TEST(Tokenizer, ByteBpeLearnsFromLineEnds) {
  const auto merged = [](const std::vector<std::string>& lines) {
    const auto tokenizer = train_tokenizer(lines, {.kind = "byte_bpe", .vocabulary = 1000});
    std::vector<std::string> pieces;
    for (int32_t id = 256; id + 1 < tokenizer->size(); ++id) {
      pieces.push_back(tokenizer->piece(id));
    }
    return pieces;
  };
  EXPECT_EQ(merged({"a\n", "\n", "\n", "b\n", "\n", "\n", "c"}), std::vector<std::string>{"ĊĊ"});
  EXPECT_EQ(merged({"a", "b", "a", "b"}), std::vector<std::string>{});
  EXPECT_EQ(merged({"ab", "ab"}), std::vector<std::string>{"ab"});
}

TEST(Tokenizer, ByteBpeGivesAnyBytesBack) {
  const auto tokenizer = train_tokenizer({"Stra\xDF"
                                          "e Stra\xDF"
                                          "e\n"},
                                         {.kind = "byte_bpe", .vocabulary = 300});
  EXPECT_GT(tokenizer->size(), 257);
  for (const char* text : {"Stra\xDF"
                           "e",
                           "\xFF\xFE", "a\xC3", "\xE2\x82z \n\n", "😀"}) {
    EXPECT_EQ(round_trip(*tokenizer, text), text);
  }
}

TEST(Tokenizer, WordPieceFoldsCaseIfAsked) {
  const auto folded = [](bool lower_case) {
    const auto tokenizer = train_tokenizer(
        kCorpus, {.kind = "wordpiece", .vocabulary = 200, .lower_case = lower_case});
    return round_trip(*tokenizer, "Ein Hund läuft");
  };
  EXPECT_EQ(folded(false), "Ein Hund läuft");
  EXPECT_EQ(folded(true), "ein hund lauft");
}

TEST(Tokenizer, TrainingTwiceGivesTheSameBytes) {
  for (const std::string& kind : tokenizer_kinds()) {
    const TokenizerTraining options{.kind = kind, .vocabulary = kind == "byte_bpe" ? 300 : 90};
    EXPECT_EQ(train_tokenizer(kCorpus, options)->serialize(),
              train_tokenizer(kCorpus, options)->serialize())
        << kind;
  }
}

TEST(Tokenizer, SubwordsGiveGermanBack) {
  for (const char* kind : {"unigram", "bpe"}) {
    const auto tokenizer = train_tokenizer(kCorpus, {.kind = kind, .vocabulary = 80});
    for (const std::string& line : kCorpus) {
      EXPECT_EQ(round_trip(*tokenizer, line), line) << kind;
    }
    // Unseen words of seen letters.
    EXPECT_EQ(round_trip(*tokenizer, "Drüben (über) \"Wiesenhund\"!"),
              "Drüben (über) \"Wiesenhund\"!");
    EXPECT_EQ(round_trip(*tokenizer, "  Ein \t Hund\u00A0läuft "), "Ein Hund läuft");
    const std::string folded =
        round_trip(*train_tokenizer(kCorpus, {.kind = kind, .vocabulary = 80, .lower_case = true}),
                   "EIN Hund LÄUFT");
    EXPECT_EQ(folded, "ein hund läuft");
  }
}

TEST(Tokenizer, AnyBytesHaveIds) {
  const std::vector<std::string> texts = {"\xFF\xFE",
                                          "a\xC3",
                                          "\xE2\x82z",
                                          "😀❤️👩‍👩‍👧",
                                          "e\u0301",
                                          "▁",
                                          "￭",
                                          "\u200E ",
                                          std::string(3, '\0'),
                                          "<s></s><unk>",
                                          std::string(10000, 'x')};
  for (const char* kind : {"unigram", "bpe", "word", "char", "token"}) {
    const auto tokenizer = train_tokenizer(kCorpus, {.kind = kind, .vocabulary = 80});
    for (const std::string& text : texts) {
      const std::vector<int32_t> ids = tokenizer->encode(text);
      for (const int32_t id : ids) {
        ASSERT_TRUE(id >= 3 && id < tokenizer->size()) << kind << " " << text;
      }
      EXPECT_TRUE(valid_utf8(tokenizer->decode(ids))) << kind << " " << text;
    }
  }
}

TEST(Tokenizer, BytesStandInForUnknownCharacters) {
  const auto tokenizer =
      train_tokenizer(kCorpus, {.kind = "bpe", .vocabulary = 400, .byte_fallback = true});
  for (const char* text : {"Hund 😀 中文", "Ω"}) {
    EXPECT_EQ(round_trip(*tokenizer, text), text);
  }
}

TEST(Tokenizer, SmallCorporaGiveSmallVocabularies) {
  for (const char* kind : {"unigram", "bpe"}) {
    const auto tokenizer = train_tokenizer({"ab ab ab"}, {.kind = kind, .vocabulary = 8000});
    EXPECT_LT(tokenizer->size(), 20) << kind;
    EXPECT_EQ(round_trip(*tokenizer, "ab ba"), "ab ba") << kind;
  }
}

TEST(Tokenizer, TrainingSaysWhatIsWrong) {
  const auto train = [](const std::vector<std::string>& lines, const TokenizerTraining& options) {
    return error_of([&] { train_tokenizer(lines, options); });
  };
  EXPECT_EQ(train({}, {}), "[tokenizer] there are no lines to train from");
  EXPECT_EQ(train({"", " "}, {}),
            "[tokenizer] SentencePiece cannot train unigram with 8000 pieces from 2 lines: all "
            "lines are empty");
  EXPECT_NE(train(kCorpus, {.vocabulary = 10}).find("take a larger vocabulary"), std::string::npos);
  EXPECT_NE(train(kCorpus, {.kind = "bpe", .vocabulary = 10}).find("take a larger vocabulary"),
            std::string::npos);
  EXPECT_EQ(
      train(kCorpus, {.kind = "bep"}),
      "[tokenizer] kind is \"bep\", expected one of: unigram, bpe, byte_bpe, wordpiece, word, "
      "char, token; did you mean \"bpe\"?");
  EXPECT_NE(train(kCorpus, {.kind = "tokens"}).find("did you mean \"token\"?"), std::string::npos);
  EXPECT_EQ(train(kCorpus, {.kind = "byte_bpe", .vocabulary = 100}),
            "[tokenizer] vocabulary is 100, expected at least 257: bytes and \"<|endoftext|>\"");
  for (const char* kind : {"byte_bpe", "token"}) {
    EXPECT_EQ(train(kCorpus, {.kind = kind, .lower_case = true}),
              fmt::format("[tokenizer] lower_case is true, but {} takes text as it is", kind));
  }
  EXPECT_EQ(train(kCorpus, {.vocabulary = 4}), "[tokenizer] vocabulary is 4, expected more than 4");
  EXPECT_EQ(train(kCorpus, {.character_coverage = 0.5F}),
            "[tokenizer] character_coverage is 0.5, expected 0.98 to 1");
  EXPECT_EQ(train({"a b"}, {.kind = "word", .least_count = 2}),
            "[tokenizer] 1 lines hold no word that occurs at least 2 times");
}

TEST(Tokenizer, LoadingSaysWhatIsWrong) {
  const Folder folder;
  const auto load = [&](const char* name, const std::string& content) {
    write_file(folder / name, content);
    return error_of([&] { load_tokenizer(folder / name); });
  };
  EXPECT_NE(load("a.model", "").find("file is empty"), std::string::npos);
  EXPECT_NE(load("a.model", "hello").find("not a SentencePiece model"), std::string::npos);
  EXPECT_NE(load("a.json", "hello").find("not JSON"), std::string::npos);
  EXPECT_NE(load("a.txt", "x\n\ny\n").find("token 1 is empty"), std::string::npos);
  EXPECT_NE(error_of([&] { load_tokenizer(folder / "b.model"); }).find("No such file"),
            std::string::npos);
}

// Uses a model that loads in spite of its damage.
void load_and_use(const std::string& bytes) {
  std::shared_ptr<const Tokenizer> tokenizer;
  try {
    tokenizer = load_sentencepiece(bytes, "damaged");
  } catch (const Error&) {
    return;
  }
  const std::string text = "Ein Hund: „läuft“ … ﬁx ½ Ａ　\u0344 \xFF 😀";
  const std::vector<int32_t> ids = tokenizer->encode(text);
  tokenizer->decode(ids);
  const Encoding encoding = tokenizer->encode_with_offsets(text);
  EXPECT_EQ(encoding.ids, ids);
  for (const TextRange& range : encoding.ranges) {
    EXPECT_TRUE(range.begin <= range.end && range.end <= text.size());
  }
  for (const int32_t id : ids) {
    tokenizer->piece(id);
  }
}

// At every 97th byte the model is cut, and the byte is changed in the given ways.
void damage(const std::string& model, const std::vector<unsigned>& flips) {
  for (size_t i = 0; i < model.size(); i += 97) {
    load_and_use(model.substr(0, i));
    for (const unsigned flip : flips) {
      std::string damaged = model;
      damaged[i] = static_cast<char>(static_cast<unsigned char>(damaged[i]) ^ flip);
      load_and_use(damaged);
    }
  }
}

TEST(SentencePiece, DamagedModelsAreErrorsOrLoad) {
  const std::string unigram = train_tokenizer(kCorpus, {.vocabulary = 80})->serialize();
  const std::string bpe = train_tokenizer(kCorpus, {.kind = "bpe", .vocabulary = 80})->serialize();
  damage(unigram, {0xFF});
  // The pieces, which stand in front.
  for (size_t i = 0; i < 1000; ++i) {
    std::string damaged = i % 2 == 0 ? unigram : bpe;
    damaged[i] = static_cast<char>(damaged[i] ^ (1 << (i % 7)));
    load_and_use(damaged);
  }
}

TEST(SentencePiece, CutModelsAreErrors) {
  const std::string model = train_tokenizer(kCorpus, {.vocabulary = 80})->serialize();
  // Only a cut between fields can leave a model, and of 80 pieces few cuts are that.
  int loaded = 0;
  for (size_t i = 0; i < model.size(); i += 97) {
    loaded +=
        error_of([&] { load_sentencepiece(model.substr(0, i), "cut"); }) == "no error" ? 1 : 0;
  }
  EXPECT_LT(loaded, 20);
}

std::vector<std::string> botchan_lines() {
  std::string text;
  gzFile file = gzopen((botchan() / "botchan.txt.gz").c_str(), "rb");
  std::array<char, 65536> buffer{};
  for (int n = 0; (n = gzread(file, buffer.data(), buffer.size())) > 0;) {
    text.append(buffer.data(), static_cast<size_t>(n));
  }
  gzclose(file);
  std::erase(text, '\r');
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    lines.push_back(line);
  }
  return lines;
}

TEST(SentencePiece, ModelFromElsewhere) {
  if (!std::filesystem::exists(botchan())) {
    GTEST_SKIP() << "skipped: no data at " << botchan();
  }
  const auto tokenizer = load_tokenizer(botchan() / "test_model.model");
  EXPECT_EQ(tokenizer->kind(), "unigram");
  EXPECT_EQ(tokenizer->size(), 1000);
  EXPECT_EQ(tokenizer->special().unk, 0);
  EXPECT_EQ(tokenizer->special().start, 1);
  EXPECT_EQ(tokenizer->special().end, 2);
  EXPECT_EQ(tokenizer->special().pad, -1);
  EXPECT_EQ(tokenizer->piece(0), "<unk>");
  expect_error([&] { tokenizer->piece(1000); },
               "[tokenizer] id 1000 is out of range, expected 0 to 999");
  expect_error(
      [&] {
        tokenizer->decode(std::vector<int32_t>{5, -1});
      },
      "[tokenizer] id -1 is out of range, expected 0 to 999");
  // As spm_encode 0.1.97 says.
  const std::vector<int32_t> ids = {168, 15,  83,  28, 15, 41, 888, 18, 5, 146, 14, 123, 76, 79,
                                    687, 250, 182, 25, 87, 73, 109, 8,  6, 408, 48, 16,  257};
  const std::string line = "Strictly speaking, some of them have no English equivalents. Care has";
  EXPECT_EQ(tokenizer->encode(line), ids);
  EXPECT_EQ(tokenizer->decode(ids), line);
}

TEST(SentencePiece, AgreesWithItsOwnProgramOnABook) {
  if (!std::filesystem::exists(botchan())) {
    GTEST_SKIP() << "skipped: no data at " << botchan();
  }
  const std::filesystem::path model = botchan() / "test_model.model";
  const auto tokenizer = load_tokenizer(model);
  std::string text;
  std::string ids;
  for (const std::string& line : botchan_lines()) {
    text += line + "\n";
    ids += fmt::format("{}\n", fmt::join(tokenizer->encode(line), " "));
  }
  if (std::system("command -v spm_encode > /dev/null 2>&1") != 0) {
    GTEST_SKIP() << "skipped: no spm_encode";
  }
  const Folder folder;
  write_file(folder / "book.txt", text);
  const std::string command =
      fmt::format("spm_encode --output_format=id --model='{}' --output='{}' '{}' 2> /dev/null",
                  model.string(), (folder / "book.ids").string(), (folder / "book.txt").string());
  ASSERT_EQ(std::system(command.c_str()), 0);
  EXPECT_TRUE(read_file(folder / "book.ids") == ids);
}

TEST(SentencePiece, SlowDamagedModelFromElsewhere) {
  if (!std::filesystem::exists(botchan())) {
    GTEST_SKIP() << "skipped: no data at " << botchan();
  }
  damage(read_file(botchan() / "test_model.model"), {0xFF, 0x01, 0x10, 0x80});
}

}  // namespace
}  // namespace heed
