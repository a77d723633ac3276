// `heed score`: BLEU, chrF and TER of translations against references, with the numbers and the
// signatures of sacreBLEU.
#include <fmt/core.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/error.h"
#include "cli/command.h"
#include "cli/share_progress.h"
#include "data/text/lines.h"
#include "train/metrics/bleu.h"
#include "train/metrics/chrf.h"
#include "train/metrics/ter.h"

namespace heed::cli {
namespace {

constexpr const char* kVersion = "heed-" HEED_VERSION;

struct ScoreOptions {
  std::vector<std::string> metrics{"bleu"};
  std::vector<std::string> references;
  std::string hypotheses = "-";
  std::string tokenize = "13a";
  bool lowercase = false;
  int chrf_word_order = 0;
  bool sentence = false;
  bool json = false;
};

// One metric's answer for the whole text.
struct Result {
  std::string name;
  double score = 0.0;
  std::string signature;
  std::string details;            // to read, after the score
  nlohmann::json parts;           // to compute with
  std::vector<double> sentences;  // if asked for
};

struct Texts {
  std::vector<std::string> hypotheses;
  std::vector<std::vector<std::string>> references;  // by sentence
};

Texts read_texts(const ScoreOptions& options) {
  Texts texts;
  const std::string source = options.hypotheses == "-" ? "standard input" : options.hypotheses;
  texts.hypotheses = read_lines(options.hypotheses);
  check(!texts.hypotheses.empty(), "[score] {} has 0 lines, expected 1 or more", source);
  texts.references.resize(texts.hypotheses.size());
  for (const std::string& file : options.references) {
    std::vector<std::string> lines = read_lines(file);
    check(lines.size() == texts.hypotheses.size(),
          "[score] {} has {} lines, but the hypotheses in {} have {}", file, lines.size(), source,
          texts.hypotheses.size());
    for (size_t i = 0; i < lines.size(); ++i) {
      texts.references[i].push_back(std::move(lines[i]));
    }
  }
  return texts;
}

template <typename Score>
std::vector<double> score_sentences(const Texts& texts, const Score& score) {
  std::vector<double> result;
  for (size_t i = 0; i < texts.hypotheses.size(); ++i) {
    result.push_back(score(texts.hypotheses[i], texts.references[i]).score);
  }
  return result;
}

Result run_bleu(const Texts& texts, const ScoreOptions& options) {
  BleuOptions bleu_options;
  bleu_options.tokenizer = score_tokenizer(options.tokenize);
  bleu_options.lowercase = options.lowercase;
  const BleuScore score = bleu(texts.hypotheses, texts.references, bleu_options);
  Result result{.name = "BLEU",
                .score = score.score,
                .signature = bleu_signature(score, bleu_options, kVersion),
                .details = " " + score.details(),
                .parts = {{"precisions", score.precisions},
                          {"brevity_penalty", score.brevity_penalty},
                          {"hypothesis_length", score.counts.hypothesis_length},
                          {"reference_length", score.counts.reference_length}},
                .sentences = {}};
  if (options.sentence) {
    bleu_options.effective_order = true;
    result.sentences = score_sentences(texts, [&](const auto& hypothesis, const auto& references) {
      return sentence_bleu(hypothesis, references, bleu_options);
    });
  }
  return result;
}

Result run_chrf(const Texts& texts, const ScoreOptions& options) {
  const ChrfOptions chrf_options{.word_order = options.chrf_word_order,
                                 .lowercase = options.lowercase};
  const ChrfScore score = chrf(texts.hypotheses, texts.references, chrf_options);
  Result result{.name = chrf_name(chrf_options),
                .score = score.score,
                .signature = chrf_signature(score, chrf_options, kVersion),
                .details = "",
                .parts = nlohmann::json::object(),
                .sentences = {}};
  if (options.sentence) {
    result.sentences = score_sentences(texts, [&](const auto& hypothesis, const auto& references) {
      return sentence_chrf(hypothesis, references, chrf_options);
    });
  }
  return result;
}

Result run_ter(const Texts& texts, const ScoreOptions& options) {
  const TerScore score = ter(texts.hypotheses, texts.references);
  Result result{.name = "TER",
                .score = score.score,
                .signature = ter_signature(score, {}, kVersion),
                .details = "",
                .parts = {{"edits", score.edits}, {"reference_length", score.reference_length}},
                .sentences = {}};
  if (options.sentence) {
    result.sentences = score_sentences(texts, [](const auto& hypothesis, const auto& references) {
      return sentence_ter(hypothesis, references);
    });
  }
  return result;
}

Result run_metric(const std::string& metric, const Texts& texts, const ScoreOptions& options) {
  if (metric == "bleu") {
    return run_bleu(texts, options);
  }
  return metric == "chrf" ? run_chrf(texts, options) : run_ter(texts, options);
}

void print_json(const Result& result, bool sentences) {
  nlohmann::json json{
      {"metric", result.name}, {"score", result.score}, {"signature", result.signature}};
  json.update(result.parts);
  if (sentences) {
    json["sentences"] = result.sentences;
  }
  fmt::print("{}\n", json.dump());
}

// A line for each sentence, a column for each metric.
void print_sentences(const std::vector<Result>& results) {
  for (size_t i = 0; i < results.front().sentences.size(); ++i) {
    std::string line;
    for (const Result& result : results) {
      line += fmt::format("{}{:.4f}", line.empty() ? "" : "\t", result.sentences[i]);
    }
    fmt::print("{}\n", line);
  }
}

void run(const ScoreOptions& options) {
  score_tokenizer(options.tokenize);  // a misspelt name fails before the files are read
  ShareProgress progress;
  progress.doing("reading text");
  const Texts texts = read_texts(options);
  std::vector<Result> results;
  for (const std::string& metric : options.metrics) {
    progress.doing("computing " + metric);
    results.push_back(run_metric(metric, texts, options));
  }
  progress.clear();
  if (options.sentence && !options.json) {
    print_sentences(results);
    return;
  }
  for (const Result& result : results) {
    if (options.json) {
      print_json(result, options.sentence);
    } else {
      fmt::print("{:.4f}\t{}|{} = {:.2f}{}\n", result.score, result.name, result.signature,
                 result.score, result.details);
    }
  }
}

}  // namespace

void add_score(Command& app) {
  auto options = std::make_shared<ScoreOptions>();
  Command score = app.subcommand("score", "Score translations with BLEU, chrF and TER");
  score.group("Train and evaluate");
  score.option("FILE", options->hypotheses,
               "translations, one per line, plain or gzip (default: standard input)");
  score.option("--reference", options->references, "reference translations, as many lines")
      .value_name("FILE")
      .required()
      .one_at_a_time();
  score.option("--metric", options->metrics, "metrics, separated by commas")
      .separated_by(',')
      .choices({"bleu", "chrf", "ter"})
      .value_name("NAMES")
      .show_default()
      .one_at_a_time();
  score.option("--tokenize", options->tokenize, "tokenization for BLEU")
      .choices({"13a", "intl", "char", "none"})
      .show_default();
  score.flag("--lowercase", options->lowercase, "ignore case in BLEU and chrF; TER always does");
  score
      .option("--chrf-word-order", options->chrf_word_order,
              "longest word n-gram of chrF; 2 for chrF++")
      .range(0, 9)
      .show_default();
  score.flag("--sentence", options->sentence, "print one score per sentence");
  score.flag("--json", options->json, "print one JSON object per metric");
  score.footer("Prints the score, a tab, and sacreBLEU's signature, to quote in a paper.");
  score.example("Score a file of translations", "heed score --reference test.de output.de");
  score.example(
      "Translate and score with three metrics",
      "heed translate --model runs/m30k test.en | heed score --reference test.de --metric "
      "bleu,chrf,ter");
  score.example("Score each sentence against two references",
                "heed score --reference a.de --reference b.de --sentence output.de.gz");
  score.action([options] { run(*options); });
}

}  // namespace heed::cli
