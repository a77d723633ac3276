// Learning to say one text after another with a decoder alone (Liu et al. 2018): source, separator
// and summary are one sequence, and the loss is that of the summary.
#pragma once

#include "data/text/texts.h"
#include "decode/text/generate.h"
#include "tasks/setup/data_config.h"
#include "tasks/setup/text_setup.h"
#include "train/loss.h"
#include "train/task.h"

namespace heed {

struct SummariseConfig {
  TableConfig data;
  TextConfig text;
  SequenceLossConfig train;

  template <typename Visitor>
  void fields(Visitor& v) {
    v("data", data, "what is read");
    v("text", text, "the tokenizer");
    v("train", train, "the loss");
  }
};

class SummariseTask : public TaskWith<SummariseConfig> {
 public:
  SummariseTask(const Recipe& recipe, const TaskSetup& setup);
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
  struct PairBatch : TaskBatch {
    HostTexts texts;
  };

  // What the model is shown of a table: [source] separator [summary] END.
  std::vector<EncodedText> encode(const std::vector<std::string>& files,
                                  std::string* skipped) const;
  Tensor loss_of(const LanguageModel& model, const HostTexts& texts, bool training) const;
  double mean_loss(const LanguageModel& model, const std::vector<EncodedText>& texts) const;

  LanguageModel* model_ = nullptr;  // any_
  int64_t longest_ = 0;
  std::optional<TextEpochs> epochs_;
  std::vector<EncodedText> held_out_;
  std::string skipped_;
  DataState state_;
};

}  // namespace heed
