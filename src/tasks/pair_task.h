// What tasks that learn from pairs of sentences share: files, tokenizers, batches, validation and
// test by BLEU. A task of this kind says what its loss is and how its model translates.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/prefetch.h"
#include "tasks/setup/data_config.h"
#include "tasks/setup/text_setup.h"
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
    v("builtin", builtin, "built-in corpus to use instead of files", {.choices = {"", "demo"}});
    v("source", source, "source files, plain or gzip, one sentence per line", {.path = true});
    v("target", target, "target files, aligned line by line", {.path = true});
    v("tsv", tsv, "files of lines with source, TAB and target, instead of source and target",
      {.path = true});
    v("valid_source", valid_source, "held-out source file for validation", {.path = true});
    v("valid_target", valid_target, "translation of valid_source", {.path = true});
    v("test_source", test_source, "held-out source file for the final test", {.path = true});
    v("test_target", test_target, "translation of test_source", {.path = true});
    v("source_language", source_language,
      "code of the source language, such as en; empty: the extension of the source file");
    v("target_language", target_language,
      "code of the target language, such as de; empty: the extension of the target file");
    v("max_length", max_length, "skip pairs with more tokens than this on a side",
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
    v("bleu", bleu, "also translate the validation set and compute BLEU");
    v("sentences", sentences, "number of sentences to translate for BLEU, the first ones; 0: all",
      {.least = 0});
    v("beam", beam, "beam size of these translations", {.least = 1, .most = 64});
    v("length_penalty", length_penalty, "length penalty of these translations",
      {.least = 0, .most = 10});
  }
};

// The sections that all these tasks have.
struct PairSections {
  PairDataConfig data;
  PairTextConfig text;
  TranslationScoreConfig validation;

  // Throws if what they say does not fit together.
  void check_recipe(std::string_view where) const;
};

class PairTask : public Task {
 public:
  void begin(const DataState& state) override;
  std::unique_ptr<TaskBatch> next() override;
  std::optional<int64_t> epoch_batches() const override { return stream_->epoch_batches(); }
  std::string skipped() const override;
  Tensor loss(const TaskBatch& batch) const override;
  bool validates() const override { return validation_.has_value(); }
  Score validate(int64_t step) const override;
  std::string test(const std::filesystem::path& folder) const override;

 protected:
  // Prepares the tokenizers and everything in config() but for the model, which the constructors of
  // tasks build.
  PairTask(const Recipe& recipe, const TaskSetup& setup, PairSections sections);

  virtual Tensor pair_loss(const HostBatch& batch) const = 0;
  // The loss of held-out pairs, which does not depend on chance.
  virtual BatchLoss held_out_loss(const TranslationModel& model) const = 0;
  virtual const TranslationModel& translator() const = 0;
  // How validation translates, and the test at the end.
  virtual DecodeOptions validation_decoding() const;
  virtual DecodeOptions test_decoding() const { return {}; }
  // What validation goes by, if it translates.
  virtual void set_metric(const ValidationScore& found, Score& score) const;

  const PairDataConfig& data() const { return sections_.data; }
  Corpus corpus() const;
  // Pairs of typical length that fill a batch, for full_batch_loss().
  HostBatch full_batch() const;

 private:
  struct PairBatch : TaskBatch {
    HostBatch host;
  };

  PairSections sections_;
  std::unique_ptr<BatchStream> stream_;
  std::unique_ptr<Prefetch<HostBatch>> batches_;
  std::optional<ValidationSet> validation_;
};

}  // namespace heed
