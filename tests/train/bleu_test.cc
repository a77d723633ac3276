// BLEU against sacreBLEU's own tables, published system scores and numbers done by hand.
#include "train/metrics/bleu.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cmath>

#include "support/error_of.h"
#include "support/score_data.h"

namespace heed::testing {
namespace {

using Lines = std::vector<std::string>;
using References = std::vector<std::vector<std::string>>;

// sacreBLEU's raw_corpus_bleu.
BleuOptions raw_options(double floor) {
  return {.tokenizer = ScoreTokenizer::kNone,
          .smoothing = BleuSmoothing::kFloor,
          .smooth_value = floor,
          .effective_order = true};
}

BleuCounts counts_of(const nlohmann::json& statistics) {
  return {.correct = statistics[0][0],
          .total = statistics[0][1],
          .hypothesis_length = statistics[1],
          .reference_length = statistics[2]};
}

std::string tokens(const std::string& line, ScoreTokenizer tokenizer) {
  const std::u32string text = tokenize(std::u32string(line.begin(), line.end()), tokenizer);
  std::string result;
  for (const std::u32string_view word : split_at_spaces(text)) {
    result.append(result.empty() ? "" : " ").append(word.begin(), word.end());
  }
  return result;
}

TEST(Bleu, PublishedSystems) {
  HEED_SKIP_WITHOUT_SCORE_DATA();
  const auto folder = score_data() / "wmt17-en-de";
  const References references = one_each(gzip_lines(folder / "reference.de.gz"));
  for (const ScoreRow& row : score_table(folder / "expected_scores.tsv")) {
    const Lines hypotheses = gzip_lines(folder / (row.at("system") + ".gz"));
    ASSERT_EQ(hypotheses.size(), 3004U);
    const std::string plain = row.at("BLEU_13a(mteval-v13a,2dp)");
    EXPECT_NEAR(bleu(hypotheses, references).score, std::stod(plain), 0.005) << row.at("system");
    const std::string intl = row.at("BLEU_intl(mteval-v14)");
    if (!intl.empty()) {
      const BleuOptions options{.tokenizer = ScoreTokenizer::kIntl};
      EXPECT_NEAR(bleu(hypotheses, references, options).score, std::stod(intl), 0.005);
    }
  }
}

TEST(Bleu, BergamotModels) {
  HEED_SKIP_WITHOUT_SCORE_DATA();
  const auto folder = score_data() / "bergamot";
  for (const ScoreRow& row : score_table(folder / "expected_scores.tsv")) {
    const std::string name = fmt::format("{}.{}", row.at("testset"), row.at("pair"));
    const std::string target = row.at("pair").substr(3);
    const Lines hypotheses = gzip_lines(folder / fmt::format("{}.hyp.{}.gz", name, target));
    const References references =
        one_each(gzip_lines(folder / fmt::format("{}.ref.{}.gz", name, target)));
    const std::string expected = row.at("sacreBLEU");
    EXPECT_NEAR(bleu(hypotheses, references).score, std::stod(expected), tolerance_of(expected))
        << name;
  }
}

TEST(Bleu, SacrebleuCorpusCases) {
  HEED_SKIP_WITHOUT_SCORE_DATA();
  const nlohmann::json cases = score_unit_cases("test_bleu");
  for (const auto& one : cases.at("test_corpus_bleu_cases")) {
    BleuOptions options;
    options.tokenizer = score_tokenizer(one[2].value("tokenize", "13a"));
    options.smoothing = bleu_smoothing(one[2].value("smooth_method", "exp"));
    EXPECT_NEAR(bleu(one[0].get<Lines>(), by_sentence(one[1]), options).score, one[3], 1e-5) << one;
  }
  for (const auto& one : cases.at("test_raw_bleu_cases")) {
    const References references = by_sentence(one[1]);
    EXPECT_NEAR(bleu(one[0].get<Lines>(), references, raw_options(0.01)).score / 100.0, one[2],
                1e-8);
  }
  for (const auto& one : cases.at("test_case_effective_order")) {
    const References references = by_sentence(one[1]);
    EXPECT_NEAR(bleu(one[0].get<Lines>(), references, raw_options(0.01)).score / 100.0, one[2],
                1e-8);
  }
  for (const auto& one : cases.at("test_bleu_max_order")) {
    const BleuOptions options{.max_order = one[0]};
    const double expected = std::stod(one[3].get<std::string>());
    EXPECT_NEAR(bleu(one[1].get<Lines>(), by_sentence(one[2]), options).score, expected, 0.005);
  }
}

TEST(Bleu, SacrebleuCounts) {
  HEED_SKIP_WITHOUT_SCORE_DATA();
  const nlohmann::json cases = score_unit_cases("test_bleu");
  for (const auto& one : cases.at("test_case_offset")) {  // with a floor of 0.1, then of 0
    const Lines hypotheses = one[0];
    const References references = by_sentence(one[1]);
    EXPECT_NEAR(bleu(hypotheses, references, raw_options(0.1)).score / 100.0, one[2], 1e-8);
    EXPECT_NEAR(bleu(hypotheses, references, raw_options(0.0)).score / 100.0, one[3], 1e-8);
  }
  for (const auto& one : cases.at("test_case_statistics")) {
    const BleuScore score = bleu(one[0].get<Lines>(), by_sentence(one[1]), raw_options(0.1));
    EXPECT_EQ(score.counts.correct, one[2][0].get<std::vector<int64_t>>());
    EXPECT_EQ(score.counts.total, one[2][1].get<std::vector<int64_t>>());
  }
  for (const auto& one : cases.at("test_case_scoring")) {
    EXPECT_NEAR(bleu_of_counts(counts_of(one[0])).score / 100.0, one[1], 1e-8);
  }
  for (const auto& one : cases.at("test_case_degenerate_stats")) {
    const BleuOptions options{.smoothing = BleuSmoothing::kFloor, .smooth_value = one[1]};
    EXPECT_NEAR(bleu_of_counts(counts_of(one[0]), options).score / 100.0, one[2], 1e-8) << one;
  }
}

TEST(Bleu, SacrebleuSentenceCases) {
  HEED_SKIP_WITHOUT_SCORE_DATA();
  const nlohmann::json cases = score_unit_cases("test_sentence_bleu");
  const auto run = [&](const char* table, const char* hypothesis, const char* reference) {
    for (const auto& one : cases.at(table)) {
      BleuOptions options{.tokenizer = score_tokenizer(one[3]),
                          .smoothing = bleu_smoothing(one[0]),
                          .lowercase = one[2],
                          .effective_order = true};
      if (!one[1].is_null()) {
        options.smooth_value = one[1].get<double>();
      }
      const BleuScore score =
          sentence_bleu(cases.at(hypothesis), {cases.at(reference).get<std::string>()}, options);
      EXPECT_NEAR(score.score, one[4], 1e-3) << one;
    }
  };
  run("test_cases", "SYS", "REF");
  run("test_cases_zero_bleu", "SYS_0", "REF_0");
}

TEST(Bleu, ByHand) {
  // 5 words, of which 4 match; 4 pairs, 3; 3 triples, 2; 2 quadruples, 1. Reference: 6 words.
  const Lines hypotheses{"a b c d x"};
  const References references{{"a b c d e f"}};
  const BleuScore score = bleu(hypotheses, references);
  EXPECT_EQ(score.counts.correct, (std::vector<int64_t>{4, 3, 2, 1}));
  EXPECT_EQ(score.counts.total, (std::vector<int64_t>{5, 4, 3, 2}));
  EXPECT_DOUBLE_EQ(score.brevity_penalty, std::exp(1.0 - 6.0 / 5.0));
  // 4/5 * 3/4 * 2/3 * 1/2 = 1/5
  EXPECT_NEAR(score.score, 100.0 * std::exp(-0.2) * std::pow(0.2, 0.25), 1e-10);
  EXPECT_EQ(score.details(),
            "80.0/75.0/66.7/50.0 (BP = 0.819 ratio = 0.833 hyp_len = 5 ref_len = 6)");
}

TEST(Bleu, SeveralReferences) {
  // Clipped by the reference with most; of the equally near lengths 2 and 4 the shorter counts.
  const BleuOptions options{.max_order = 1};
  const BleuScore score = sentence_bleu("the the the", {"the the a b", "the c"}, options);
  EXPECT_EQ(score.counts.correct, (std::vector<int64_t>{2}));
  EXPECT_EQ(score.counts.reference_length, 2);
  EXPECT_EQ(score.references, 2);
  const Lines hypotheses{"a", "b"};
  const BleuScore various = bleu(hypotheses, References{{"a"}, {"b", "c"}}, options);
  EXPECT_EQ(bleu_signature(various, options, "heed-1"),
            "nrefs:var|case:mixed|eff:no|tok:13a|smooth:exp|version:heed-1");
}

TEST(Bleu, Tokenizers) {
  using enum ScoreTokenizer;
  EXPECT_EQ(tokens("Hello, world! It's 3,000.50 (10-20).", k13a),
            "Hello , world ! It's 3,000.50 ( 10 - 20 ) .");
  EXPECT_EQ(tokens("&quot;a&amp;b&quot; <skipped>x -\ny\nz", k13a), "\" a & b \" x y z");
  EXPECT_EQ(tokens("in 2017.", k13a), "in 2017 .");
  EXPECT_EQ(tokens("in 2017.", kIntl), "in 2017.");
  EXPECT_EQ(tokens("It's 3,000.50$ (a+b)", kIntl), "It ' s 3,000.50 $ ( a + b )");
  EXPECT_EQ(tokens("wait...", k13a), "wait . . .");
  EXPECT_EQ(tokens("a b.", kChar), "a b .");
  EXPECT_EQ(tokens(" a  b. ", kNone), "a b.");
  EXPECT_EQ(error_of([] { score_tokenizer("13b"); }),
            "[score] there is no tokenizer \"13b\", did you mean \"13a\"?");
}

TEST(Bleu, UnicodeClasses) {
  // Dashes and quotes split only in intl; no-break spaces split words everywhere.
  const BleuOptions intl{.tokenizer = ScoreTokenizer::kIntl, .max_order = 1};
  EXPECT_EQ(sentence_bleu("„a“–b…", {"x"}, intl).counts.hypothesis_length, 6);
  EXPECT_EQ(sentence_bleu("„a“–b…", {"x"}).counts.hypothesis_length, 1);
  EXPECT_EQ(sentence_bleu("a\u00A0b\u3000c", {"x"}).counts.hypothesis_length, 3);
  const BleuOptions lower{.lowercase = true, .max_order = 1};
  EXPECT_NEAR(sentence_bleu("ÄRGER ΟΔΟΣ", {"ärger οδος"}, lower).score, 100.0, 1e-9);
}

TEST(Bleu, Signature) {
  BleuOptions options;
  BleuScore score;
  score.references = 1;
  EXPECT_EQ(bleu_signature(score, options, "heed-0.1.0"),
            "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:heed-0.1.0");
  options = {.tokenizer = ScoreTokenizer::kIntl,
             .smoothing = BleuSmoothing::kFloor,
             .lowercase = true,
             .effective_order = true};
  EXPECT_EQ(bleu_signature(score, options, "heed-0.1.0"),
            "nrefs:1|case:lc|eff:yes|tok:intl|smooth:floor[0.10]|version:heed-0.1.0");
}

TEST(Bleu, EdgeCases) {
  EXPECT_EQ(bleu({}, {}).score, 0.0);
  EXPECT_EQ(sentence_bleu("", {"a b"}).score, 0.0);
  EXPECT_EQ(sentence_bleu("", {"a b"}).brevity_penalty, 0.0);
  EXPECT_EQ(sentence_bleu("a b", {""}).score, 0.0);
  EXPECT_EQ(sentence_bleu("", {""}).score, 0.0);
  // A broken byte stands for itself and breaks nothing around it.
  EXPECT_EQ(sentence_bleu("a \xff\xc3 b", {"a b"}).counts.hypothesis_length, 3);
  const Lines one{"a"};
  EXPECT_EQ(error_of([&] { bleu(one, {}); }), "[bleu] 1 hypotheses, but references of 0 sentences");
  EXPECT_EQ(error_of([&] { bleu(one, References{{}}); }),
            "[bleu] sentence 1 has 0 references, expected 1 or more");
  EXPECT_EQ(error_of([&] { sentence_bleu("a", {"a"}, {.max_order = 0}); }),
            "[bleu] max_order is 0, expected 1 or more");
}

}  // namespace
}  // namespace heed::testing
