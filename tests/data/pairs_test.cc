#include "data/text/pairs.h"

#include <gtest/gtest.h>

#include "support/error_of.h"
#include "support/text_files.h"

namespace heed {
namespace {

using testing::error_of;
using testing::TemporaryFolder;
using testing::WordTokenizer;
using Ids = std::vector<int32_t>;

Corpus corpus_of(std::vector<PairFiles> files, int64_t max_length = 4) {
  const auto words = std::make_shared<WordTokenizer>();
  return {.files = std::move(files), .source = words, .target = words, .max_length = max_length};
}

std::vector<EncodedPair> all_pairs(PairStream& stream) {
  std::vector<EncodedPair> pairs;
  for (EncodedPair pair; stream.next(pair);) {
    pairs.push_back(pair);
  }
  return pairs;
}

TEST(Pairs, OfTwoFilesAreEncoded) {
  const TemporaryFolder folder;
  PairStream stream(corpus_of(
      {{folder.write("en", "1 2\n3\n"), folder.write_gzip("de.gz", "10\r\n20 30 40\r\n")}}));
  const auto pairs = all_pairs(stream);
  ASSERT_EQ(pairs.size(), 2U);
  EXPECT_EQ(pairs[0].source, (Ids{5, 6}));
  EXPECT_EQ(pairs[0].target, (Ids{14}));
  EXPECT_EQ(pairs[0].line, 1);
  EXPECT_EQ(pairs[1].source, (Ids{7}));
  EXPECT_EQ(pairs[1].target, (Ids{24, 34, 44}));
  EXPECT_EQ(pairs[1].line, 2);
  EXPECT_EQ(stream.report().text(), "skipped none of 2 pairs");
}

TEST(Pairs, OfColumnsMayHaveMoreColumnsButNotFewer) {
  const TemporaryFolder folder;
  PairStream stream(
      corpus_of({{folder.write("tsv", "1\t2\n3\n4\t5\textra\t6\n\n\t7\n8\t\t9\n"), {}}}));
  const auto pairs = all_pairs(stream);
  ASSERT_EQ(pairs.size(), 2U);
  EXPECT_EQ(pairs[0].target, (Ids{6}));
  EXPECT_EQ(pairs[1].source, (Ids{8}));
  EXPECT_EQ(pairs[1].target, (Ids{9}));
  EXPECT_EQ(pairs[1].line, 3);
  EXPECT_EQ(stream.report().text(),
            "skipped 4 of 6 pairs: 2 without two columns (lines 2, 4), 2 empty (lines 5, 6)");
}

TEST(Pairs, OfSeveralFilesFollowEachOther) {
  const TemporaryFolder folder;
  const PairFiles first = {folder.write("a.en", "1\n2\n"), folder.write("a.de", "1\n2\n")};
  const PairFiles second = {folder.write("b.tsv", "3\t3\n4\n"), {}};
  const PairFiles none = {folder.write("c.en", ""), folder.write("c.de", "")};
  PairStream stream(corpus_of({first, none, second}));
  const auto pairs = all_pairs(stream);
  ASSERT_EQ(pairs.size(), 3U);
  EXPECT_EQ(pairs[2].source, (Ids{7}));
  EXPECT_EQ(pairs[2].line, 1);
  EXPECT_EQ(stream.report().text(),
            "skipped 1 of 4 pairs: 1 without two columns (line " + second.source.string() + ":2)");
  EncodedPair pair;
  EXPECT_FALSE(stream.next(pair));
}

TEST(Pairs, ThatAreOfNoUseAreSkippedAndReported) {
  const TemporaryFolder folder;
  std::string source = "1\n \u3000\n1\n1 2 3 4 5\n1 2 3 4\nbad\xC3\n\xED\xA0\x80\n";
  std::string target = "1\n1\n\t\n1\n1 2 3 4\n1\n1\n";
  for (int i = 0; i < 6; ++i) {
    source += "1\n";
    target += "1 2 3 4 5\n";
  }
  PairStream stream(corpus_of({{folder.write("en", source), folder.write("de", target)}}));
  EXPECT_EQ(all_pairs(stream).size(), 2U);
  EXPECT_EQ(stream.report().text(),
            "skipped 11 of 13 pairs: 2 with invalid UTF-8 (lines 6, 7), 2 empty (lines 2, 3), 7 "
            "over-long (lines 4, 8, 9, 10, 11, ...)");
  EXPECT_EQ(stream.report().of(SkipReason::kLong).pairs, 7);
}

// Well-formed and ill-formed sequences after tables 3-7 and 3-8 of the Unicode standard.
TEST(Pairs, WithInvalidUtf8AreFound) {
  const TemporaryFolder folder;
  const std::vector<std::string> good = {"a",
                                         "\x7F",
                                         "\xC2\x80",
                                         "\xDF\xBF",
                                         "\xE0\xA0\x80",
                                         "\xED\x9F\xBF",
                                         "\xEE\x80\x80",
                                         "\xEF\xBF\xBF",
                                         "\xF0\x90\x80\x80",
                                         "\xF4\x8F\xBF\xBF"};
  const std::vector<std::string> bad = {"\x80",
                                        "\xC0\x80",
                                        "\xC1\xBF",
                                        "\xC2",
                                        "\xC2\x41",
                                        "\xE0\x9F\xBF",
                                        "\xED\xA0\x80",
                                        "\xED\xBF\xBF",
                                        "\xE1\x80",
                                        "\xE1\x80\xC0",
                                        "\xF0\x8F\xBF\xBF",
                                        "\xF4\x90\x80\x80",
                                        "\xF5\x80\x80\x80",
                                        "\xFF",
                                        "\xF0\x90\x80"};
  std::string text;
  for (const auto& sequences : {good, bad}) {
    for (const std::string& sequence : sequences) {
      text += "x" + sequence + "y\tz\n";
    }
  }
  PairStream stream(corpus_of({{folder.write("tsv", text), {}}}));
  const auto pairs = all_pairs(stream);
  ASSERT_EQ(pairs.size(), good.size());
  EXPECT_EQ(pairs.back().line, static_cast<int64_t>(good.size()));
  EXPECT_EQ(stream.report().of(SkipReason::kUtf8).pairs, static_cast<int64_t>(bad.size()));
}

TEST(Pairs, OfUnequalFilesAreAnErrorThatNamesBothCounts) {
  const TemporaryFolder folder;
  const auto source = folder.write("en", "1\n2\n");
  const auto target = folder.write("de", "1\n2\n3\n4\n5");
  const auto read = [](const PairFiles& files) {
    PairStream stream(corpus_of({files}));
    all_pairs(stream);
  };
  EXPECT_EQ(error_of([&] {
              read({source, target});
            }),
            "[pairs] " + source.string() + " has 2 lines, but " + target.string() +
                " has 5; aligned files need the same number of lines");
  EXPECT_EQ(error_of([&] {
              read({target, source});
            }),
            "[pairs] " + target.string() + " has 5 lines, but " + source.string() +
                " has 2; aligned files need the same number of lines");
}

TEST(Pairs, CannotComeTwiceFromStandardInput) {
  EXPECT_EQ(error_of([] {
              TextPairs(std::vector<PairFiles>{{"-", "-"}});
            }),
            "[pairs] standard input (-) is given for 2 files, expected at most 1");
}

}  // namespace
}  // namespace heed
