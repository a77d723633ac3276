// Learning when two texts mean the same (Reimers and Gurevych 2019): both go through one encoder.
// The cosine of their vectors learns to follow a score, or to be highest for the pairs that belong
// together among all pairs of a batch.
#pragma once

#include "data/text/table.h"
#include "data/text/texts.h"
#include "decode/text/embed.h"
#include "tasks/setup/data_config.h"
#include "tasks/setup/text_setup.h"
#include "train/task.h"

namespace heed {

struct SimilarityConfig {
  std::string loss = "cosine";
  std::string pooling = "mean";
  float scale = 20.0F;

  template <typename Visitor>
  void fields(Visitor& v) {
    v("loss", loss,
      "cosine: make cosines follow the scores; in_batch: tell the pairs of a batch from all other "
      "combinations",
      {.choices = {"cosine", "in_batch"}});
    v("pooling", pooling, "how token vectors become one vector per text",
      {.choices = {"mean", "cls", "max"}});
    v("scale", scale, "in_batch: factor on the cosines before the softmax", {.least = 0});
  }
};

struct CorrelationConfig {
  std::string metric;

  template <typename Visitor>
  void fields(Visitor& v) {
    v("metric", metric, "metric to report; empty: spearman",
      {.choices = {"", "pearson", "spearman"}});
  }
};

struct SimilarityTaskConfig {
  LabelledTableConfig data;
  TextConfig text;
  SimilarityConfig similarity;
  CorrelationConfig validation;

  template <typename Visitor>
  void fields(Visitor& v) {
    v("data", data, "what is read");
    v("text", text, "the tokenizer");
    v("similarity", similarity, "how texts are compared");
    v("validation", validation, "the score");
  }
};

class SimilarityTask : public TaskWith<SimilarityTaskConfig> {
 public:
  SimilarityTask(const Recipe& recipe, const TaskSetup& setup);
  static void check_recipe(const Recipe& recipe, const Config& own, std::string_view where);
  static void check_model(const Recipe& recipe, const Config& own);

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
  struct PairsBatch : TaskBatch {
    HostTexts first, second;
    std::vector<float> scores;
  };
  struct Pairs {
    std::vector<EncodedText> first, second;
    std::vector<float> scores;  // as in the table
  };

  Pairs encode(const std::vector<LabelledText>& rows) const;
  std::unique_ptr<PairsBatch> pick(const Pairs& pairs, std::span<const int64_t> indices) const;
  TableColumns columns() const {
    return own_.data.columns(by_score() ? own_.data.label_column : "");
  }
  bool by_score() const { return own_.similarity.loss == "cosine"; }
  Tensor loss_of(const TextEncoder& model, const PairsBatch& batch,
                 std::vector<float>* cosines) const;
  Score judge(const TextEncoder& model, const Pairs& pairs) const;

  TextEncoder* model_ = nullptr;  // any_
  int64_t longest_ = 0;
  LabelledTexts table_;  // of the training, until begin()
  Pairs pairs_;
  float least_ = 0.0F, most_ = 1.0F;  // scores that become cosines 0 and 1
  std::optional<TextEpochs> epochs_;
  Pairs held_out_;
  std::string skipped_;
  DataState state_;
};

}  // namespace heed
