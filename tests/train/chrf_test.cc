// chrF and chrF++ against sacreBLEU's own tables, published system scores and numbers by hand.
#include "train/metrics/chrf.h"

#include <gtest/gtest.h>

#include "support/error_of.h"
#include "support/score_data.h"

namespace heed::testing {
namespace {

using Lines = std::vector<std::string>;
using References = std::vector<std::vector<std::string>>;

TEST(Chrf, PublishedSystems) {
  HEED_SKIP_WITHOUT_SCORE_DATA();
  const auto folder = score_data() / "wmt17-en-de";
  const References references = one_each(gzip_lines(folder / "reference.de.gz"));
  int checked = 0;
  for (const ScoreRow& row : score_table(folder / "expected_scores.tsv")) {
    const std::string plain = row.at("chrF(char6,word0,beta2,eps-smoothing)");
    if (plain.empty()) {
      continue;
    }
    const std::string plus = row.at("chrF++(word_order=2,eps-smoothing)");
    const Lines hypotheses = gzip_lines(folder / (row.at("system") + ".gz"));
    EXPECT_NEAR(chrf(hypotheses, references, {.eps_smoothing = true}).score, std::stod(plain),
                tolerance_of(plain));
    EXPECT_NEAR(chrf(hypotheses, references, {.word_order = 2, .eps_smoothing = true}).score,
                std::stod(plus), tolerance_of(plus));
    ++checked;
  }
  EXPECT_EQ(checked, 2);
}

TEST(Chrf, SacrebleuCases) {
  HEED_SKIP_WITHOUT_SCORE_DATA();
  const nlohmann::json cases = score_unit_cases("test_chrf");
  const auto run = [&](const char* table, const ChrfOptions& options) {
    for (const auto& one : cases.at(table)) {
      EXPECT_NEAR(chrf(one[0].get<Lines>(), one_each(one[1]), options).score, one[2], 1e-4) << one;
    }
  };
  run("test_cases", {.beta = 3, .eps_smoothing = true});
  run("test_cases_effective_order", {.beta = 3});
  run("test_cases_keep_whitespace", {.beta = 3, .remove_whitespace = false});
  for (const auto& one : cases.at("test_sentence_level_chrf")) {
    EXPECT_NEAR(sentence_chrf(one[0], one[1], {.eps_smoothing = true}).score, one[2], 1e-4) << one;
  }
}

TEST(Chrf, ByHand) {
  // Characters: 2 of 3 match; pairs: 1 of 2 against 1 of 3. beta 1: F of the mean precision and
  // recall, (2/3 + 1/2) / 2 = 7/12 and (2/4 + 1/3) / 2 = 5/12.
  const ChrfOptions options{.char_order = 2, .beta = 1};
  const ChrfScore score = sentence_chrf("a bx", {"ab cd"}, options);
  EXPECT_EQ(score.counts[0].hypothesis, 3);
  EXPECT_EQ(score.counts[0].reference, 4);
  EXPECT_EQ(score.counts[0].matched, 2);
  EXPECT_EQ(score.counts[1].matched, 1);
  EXPECT_NEAR(score.score, 100.0 * 2 * (7.0 / 12) * (5.0 / 12) / (7.0 / 12 + 5.0 / 12), 1e-10);
}

TEST(Chrf, WordsLoseOneMark) {
  // "(hi)" becomes "(hi" and ")"; "'a" becomes "'" and "a"; a lone mark stays.
  const ChrfOptions options{.word_order = 1};
  EXPECT_EQ(sentence_chrf("(hi) 'a -", {"x"}, options).counts.back().hypothesis, 5);
  EXPECT_EQ(sentence_chrf("(hi) 'a -", {"(hi) ' b"}, options).counts.back().matched, 3);
}

TEST(Chrf, BestReferenceCounts) {
  const double best = sentence_chrf("the cat", {"the cat"}).score;
  EXPECT_NEAR(best, 100.0, 1e-9);
  EXPECT_EQ(sentence_chrf("the cat", {"a dog", "the cat", "the car"}).score, best);
}

TEST(Chrf, NamesAndSignature) {
  const ChrfOptions options{.word_order = 2, .lowercase = true};
  const ChrfScore score = sentence_chrf("A", {"a", "b"}, options);
  EXPECT_NEAR(score.score, 100.0, 1e-9);
  EXPECT_EQ(chrf_name(options), "chrF2++");
  EXPECT_EQ(chrf_signature(score, options, "heed-0.1.0"),
            "nrefs:2|case:lc|eff:yes|nc:6|nw:2|space:no|version:heed-0.1.0");
  EXPECT_EQ(chrf_name({}), "chrF2");
}

TEST(Chrf, EdgeCases) {
  EXPECT_EQ(chrf({}, {}).score, 0.0);
  EXPECT_EQ(sentence_chrf("", {"a"}).score, 0.0);
  EXPECT_EQ(sentence_chrf("a", {""}).score, 0.0);
  EXPECT_EQ(sentence_chrf("", {""}).score, 0.0);
  EXPECT_EQ(sentence_chrf("a\xff\xfe", {"a"}).counts[0].matched, 1);
  EXPECT_EQ(sentence_chrf("äöü", {"äöü"}).counts[0].hypothesis, 3);
  const Lines one{"a"};
  EXPECT_EQ(error_of([&] { chrf(one, {}); }), "[chrf] 1 hypotheses, but references of 0 sentences");
  EXPECT_EQ(error_of([&] { chrf(one, References{{}}); }),
            "[chrf] sentence 1 has 0 references, expected 1 or more");
  EXPECT_EQ(error_of([&] { sentence_chrf("a", {"a"}, {.char_order = 0}); }),
            "[chrf] orders are 0 and 0, expected 1 or more characters and 0 or more words");
}

}  // namespace
}  // namespace heed::testing
