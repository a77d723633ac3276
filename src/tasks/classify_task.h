// Learning to classify texts and pairs of texts, or to score them: tables of labelled texts, a text
// encoder with a head.
#pragma once

#include "data/text/table.h"
#include "data/text/texts.h"
#include "decode/text/embed.h"
#include "tasks/setup/data_config.h"
#include "tasks/setup/text_setup.h"
#include "train/task.h"

namespace heed {

struct ClassifyDataConfig : LabelledTableConfig {
  bool score = false;

  template <typename Visitor>
  void fields(Visitor& v) {
    LabelledTableConfig::fields(v);
    v("score", score, "labels are numbers to predict, not classes");
  }
};

struct SmoothingConfig {
  float label_smoothing = 0.1F;

  template <typename Visitor>
  void fields(Visitor& v) {
    v("label_smoothing", label_smoothing, "probability mass spread over all classes",
      {.least = 0, .most = 0.99});
  }
};

struct ClassScoreConfig {
  std::string metric;

  template <typename Visitor>
  void fields(Visitor& v) {
    v("metric", metric, "metric to report; empty: accuracy, or spearman for scores",
      {.choices = {"", "accuracy", "f1", "matthews", "pearson", "spearman"}});
  }
};

struct ClassifyConfig {
  ClassifyDataConfig data;
  TextConfig text;
  SmoothingConfig train;
  ClassScoreConfig validation;

  template <typename Visitor>
  void fields(Visitor& v) {
    v("data", data, "what is read");
    v("text", text, "the tokenizer");
    v("train", train, "the loss");
    v("validation", validation, "the score");
  }
};

class ClassifyTask : public TaskWith<ClassifyConfig> {
 public:
  ClassifyTask(const Recipe& recipe, const TaskSetup& setup);
  static void check_recipe(const Recipe& recipe, const Config& own, std::string_view where);
  static void check_model(const Recipe& recipe, const Config& own);

  bool fresh(std::string_view parameter) const override;
  void begin(const DataState& state) override;
  std::unique_ptr<TaskBatch> next() override;
  std::optional<int64_t> epoch_batches() const override { return epochs_->epoch_batches(); }
  std::string skipped() const override { return skipped_; }
  Tensor loss(const TaskBatch& batch) const override;
  Tensor full_batch_loss() const override;
  bool validates() const override { return !own_.data.valid_table.empty(); }
  Score validate(int64_t step) const override;
  std::string test(const std::filesystem::path& folder) const override;

 private:
  struct LabelledBatch : TaskBatch {
    HostTexts texts;
  };
  // Texts as the model reads them, each with its target: the number of a class, or a score.
  struct Examples {
    std::vector<EncodedText> texts;
    std::vector<double> labels;
    std::vector<std::string> shown;  // for an example
  };

  Examples encode(const std::vector<LabelledText>& rows) const;
  double label_of(const LabelledText& row) const;
  Tensor loss_of(const Tensor& outputs, std::span<const double> labels) const;
  Score judge(const TextEncoder& model, const Examples& examples, int64_t step) const;

  TextEncoder* model_ = nullptr;  // any_
  int64_t longest_ = 0;
  LabelledTexts table_;  // of the training, until begin()
  std::optional<TextEpochs> epochs_;
  std::vector<double> labels_;
  Examples held_out_;
  std::string skipped_;
  DataState state_;
};

}  // namespace heed
