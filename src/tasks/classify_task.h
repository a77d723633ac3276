// Learning to tell classes of texts and pairs of texts apart, or to give them a score: tables of
// labelled texts, a text encoder with a head.
#pragma once

#include "data/text/table.h"
#include "data/text/texts.h"
#include "decode/text/embed.h"
#include "train/task.h"

namespace heed {

class ClassifyTask : public Task {
 public:
  ClassifyTask(const Recipe& recipe, const std::filesystem::path& folder, const Scope& scope);

  bool fresh(std::string_view parameter) const override;
  void begin(const DataState& state) override;
  std::unique_ptr<TaskBatch> next() override;
  std::optional<int64_t> epoch_batches() const override { return epochs_->epoch_batches(); }
  std::string skipped() const override { return skipped_; }
  Tensor loss(const TaskBatch& batch) const override;
  Tensor full_batch_loss() const override;
  bool validates() const override { return !recipe_.data.valid_table.empty(); }
  Score validate(int64_t step) const override;
  std::string test(const std::filesystem::path& folder) const override;

 private:
  struct LabelledBatch : TaskBatch {
    HostTexts texts;
  };
  // Texts as the model reads them with what it shall say: a class's number, or a score.
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
