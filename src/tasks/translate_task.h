// Learning to translate: pairs of sentences, a sequence-to-sequence model, BLEU.
#pragma once

#include "data/prefetch.h"
#include "tasks/data_config.h"
#include "tasks/text_setup.h"
#include "train/loss.h"
#include "train/task.h"
#include "train/validation.h"

namespace heed {

struct PairDataConfig : BatchConfig {
  std::string builtin;              // "demo": the corpus that is built in; then no files
  std::vector<std::string> source;  // files, plain or gzip
  std::vector<std::string> target;  // aligned with them
  std::vector<std::string> tsv;     // or both in one: source TAB target
  std::string valid_source, valid_target;
  std::string test_source, test_target;
  std::string source_language, target_language;
  int64_t max_length = 128;
  int64_t pool = 200000;

  template <typename Visitor>
  void fields(Visitor& v) {
    v("builtin", builtin, "a built-in corpus instead of files", {.choices = {"", "demo"}});
    v("source", source, "source files, plain or gzip, one sentence a line", {.path = true});
    v("target", target, "target files, aligned line by line", {.path = true});
    v("tsv", tsv, "files with source TAB target in each line, instead of source and target",
      {.path = true});
    v("valid_source", valid_source, "held-out source file for validation", {.path = true});
    v("valid_target", valid_target, "its translation", {.path = true});
    v("test_source", test_source, "held-out source file for the last score", {.path = true});
    v("test_target", test_target, "its translation", {.path = true});
    v("source_language", source_language,
      "code of the source language, such as en; empty: the extension of the source file");
    v("target_language", target_language, "the same of the target language");
    v("max_length", max_length, "pairs with more tokens on a side are skipped",
      {.least = 1, .most = 100000});
    v("pool", pool, "pairs shuffled and sorted by length together", {.least = 1, .most = 1e9});
    BatchConfig::fields(v);
  }
};

struct TranslationScoreConfig {
  bool bleu = true;
  int64_t sentences = 0;
  int64_t beam = 1;
  float length_penalty = 0.6F;

  template <typename Visitor>
  void fields(Visitor& v) {
    v("bleu", bleu, "also translate and score");
    v("sentences", sentences, "translate only the first so many; 0: all", {.least = 0});
    v("beam", beam, "of these translations", {.least = 1, .most = 64});
    v("length_penalty", length_penalty, "of these translations", {.least = 0, .most = 10});
  }
};

struct TranslateConfig {
  PairDataConfig data;
  PairTextConfig text;
  AgreementLossConfig train;
  TranslationScoreConfig validation;

  template <typename Visitor>
  void fields(Visitor& v) {
    v("data", data, "what is read");
    v("text", text, "the tokenizer");
    v("train", train, "the loss");
    v("validation", validation, "the score");
  }
};

class TranslateTask : public TaskWith<TranslateConfig> {
 public:
  TranslateTask(const Recipe& recipe, const TaskSetup& setup);
  static void check_recipe(const Recipe& recipe, const Config& own, std::string_view where);

  void begin(const DataState& state) override;
  std::unique_ptr<TaskBatch> next() override;
  std::optional<int64_t> epoch_batches() const override { return stream_->epoch_batches(); }
  std::string skipped() const override;
  Tensor loss(const TaskBatch& batch) const override;
  Tensor full_batch_loss() const override;
  bool validates() const override { return validation_.has_value(); }
  Score validate(int64_t step) const override;
  std::string test(const std::filesystem::path& folder) const override;

 private:
  struct PairBatch : TaskBatch {
    HostBatch host;
  };

  Seq2SeqModel* model_ = nullptr;  // any_
  std::unique_ptr<BatchStream> stream_;
  std::unique_ptr<Prefetch<HostBatch>> batches_;
  std::optional<ValidationSet> validation_;
};

}  // namespace heed
