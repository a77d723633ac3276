// TER against sacreBLEU's own tables, published system scores and numbers by hand.
#include "train/metrics/ter.h"

#include <gtest/gtest.h>

#include "support/error_of.h"
#include "support/score_data.h"

namespace heed::testing {
namespace {

using Lines = std::vector<std::string>;
using References = std::vector<std::vector<std::string>>;

TEST(Ter, PublishedSystems) {
  HEED_SKIP_WITHOUT_SCORE_DATA();
  const auto folder = score_data() / "wmt17-en-de";
  const References references = one_each(gzip_lines(folder / "reference.de.gz"));
  for (const ScoreRow& row : score_table(folder / "expected_scores.tsv")) {
    const Lines hypotheses = gzip_lines(folder / (row.at("system") + ".gz"));
    EXPECT_NEAR(ter(hypotheses, references).score / 100.0, std::stod(row.at("TER")), 0.0005)
        << row.at("system");
  }
}

TEST(Ter, SacrebleuCases) {
  HEED_SKIP_WITHOUT_SCORE_DATA();
  const nlohmann::json cases = score_unit_cases("test_ter").at("test_cases");
  ASSERT_EQ(cases.size(), 7U);
  for (const auto& one : cases) {
    const double score = ter(one[0].get<Lines>(), one_each(one[1])).score;
    EXPECT_NEAR(score / 100.0, one[2], 1e-3) << one;
  }
}

TEST(Ter, ByHand) {
  EXPECT_EQ(sentence_ter("a b c", {"a b c"}).edits, 0);
  EXPECT_EQ(sentence_ter("a x c", {"a b c"}).edits, 1);  // a replacement
  EXPECT_EQ(sentence_ter("a c", {"a b c"}).edits, 1);    // an insertion
  EXPECT_EQ(sentence_ter("a b b c", {"a b c"}).edits, 1);
  EXPECT_EQ(sentence_ter("c d a b", {"a b c d"}).edits, 1);  // one shift of two words
  EXPECT_EQ(sentence_ter("c d a x", {"a b c d"}).edits, 2);  // and a replacement
  EXPECT_EQ(sentence_ter("d c b a", {"a b c d"}).edits, 3);  // three shifts
  EXPECT_NEAR(sentence_ter("c d a b", {"a b c d"}).score, 25.0, 1e-12);
  EXPECT_NEAR(sentence_ter("a b c d", {"x"}).score, 400.0, 1e-12);
}

TEST(Ter, ShiftsHaveLimits) {
  // Eleven words that must move together need two shifts; ten need one.
  EXPECT_EQ(sentence_ter("1 2 3 4 5 6 7 8 9 10 a b c d e f g h i j k l",
                         {"a b c d e f g h i j k l 1 2 3 4 5 6 7 8 9 10"})
                .edits,
            1);
  EXPECT_EQ(sentence_ter("1 2 3 4 5 6 7 8 9 10 11 a b c d e f g h i j k l",
                         {"a b c d e f g h i j k l 1 2 3 4 5 6 7 8 9 10 11"})
                .edits,
            2);
  // The word that is out of place is 49 places away, then 60.
  const auto moved = [](int distance) {
    std::string words;
    for (int i = 0; i < distance; ++i) {
      words.append(" w").append(std::to_string(i));
    }
    return sentence_ter("x" + words, {words + " x"}).edits;
  };
  EXPECT_EQ(moved(49), 1);
  EXPECT_EQ(moved(60), 2);
}

TEST(Ter, SeveralReferences) {
  const TerScore score = sentence_ter("a b c", {"a b c d", "x y"});
  EXPECT_EQ(score.edits, 1);
  EXPECT_DOUBLE_EQ(score.reference_length, 3.0);
  EXPECT_NEAR(score.score, 100.0 / 3.0, 1e-12);
}

TEST(Ter, Options) {
  EXPECT_EQ(sentence_ter("A b", {"a B"}).edits, 0);
  EXPECT_EQ(sentence_ter("A b", {"a B"}, {.case_sensitive = true}).edits, 2);
  EXPECT_EQ(sentence_ter("a, b's x.", {"a , b 's x ."}).edits, 6);
  EXPECT_EQ(sentence_ter("a, b's x.", {"a , b 's x ."}, {.normalized = true}).edits, 0);
  EXPECT_EQ(sentence_ter("a, b! (c)", {"a b c"}, {.no_punct = true}).edits, 0);
  const TerOptions asian{.normalized = true, .asian_support = true};
  EXPECT_EQ(sentence_ter("x", {"東京。かな"}, asian).reference_length, 4.0);
  const TerOptions bare{.no_punct = true, .asian_support = true};
  EXPECT_EQ(sentence_ter("東京。", {"東京"}, bare).edits, 0);
  EXPECT_EQ(ter_signature(sentence_ter("a", {"a"}), {}, "heed-0.1.0"),
            "nrefs:1|case:lc|tok:tercom|norm:no|punct:yes|asian:no|version:heed-0.1.0");
  EXPECT_EQ(ter_signature(sentence_ter("a", {"a", "b"}), bare, "heed-0.1.0"),
            "nrefs:2|case:lc|tok:tercom|norm:no|punct:no|asian:yes|version:heed-0.1.0");
}

TEST(Ter, EdgeCases) {
  EXPECT_EQ(ter({}, {}).score, 0.0);
  EXPECT_EQ(sentence_ter("", {""}).score, 0.0);
  EXPECT_EQ(sentence_ter("a b", {""}).score, 100.0);
  EXPECT_EQ(sentence_ter("a b", {""}).edits, 2);
  EXPECT_EQ(sentence_ter("", {"a b"}).score, 100.0);
  EXPECT_EQ(sentence_ter("\xff a", {"\xff a"}).edits, 0);
  const Lines one{"a"};
  EXPECT_EQ(error_of([&] { ter(one, {}); }), "[ter] 1 hypotheses, but references of 0 sentences");
  EXPECT_EQ(error_of([&] { ter(one, References{{}}); }),
            "[ter] sentence 1 has 0 references, expected 1 or more");
}

// Lengths that leave the band far from square, and lines of one repeated word.
TEST(Ter, ExtremeLengths) {
  const auto repeated = [](const std::string& word, int times) {
    std::string text;
    for (int i = 0; i < times; ++i) {
      text.append(word).append(" ");
    }
    return text;
  };
  EXPECT_EQ(sentence_ter("a", {repeated("b", 2000)}).edits, 2000);
  EXPECT_EQ(sentence_ter(repeated("b", 2000), {"a"}).edits, 2000);
  EXPECT_EQ(sentence_ter("x a b", {repeated("a b", 999)}).edits, 1996);
  EXPECT_EQ(sentence_ter(repeated("a", 5000), {repeated("a", 4000)}).edits, 1000);
}

}  // namespace
}  // namespace heed::testing
