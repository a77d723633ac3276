// BERT's first learning: words behind masks, and whether the second text follows the first (Devlin
// et al. 2018). Of 15 % of the tokens 80 % become [MASK], 10 % another token and 10 % stay; each
// epoch chooses anew.
#pragma once

#include "data/text/texts.h"
#include "train/task.h"

namespace heed {

class MaskedTask : public Task {
 public:
  MaskedTask(const Recipe& recipe, const std::filesystem::path& folder, const Scope& scope);

  bool fresh(std::string_view parameter) const override;
  void begin(const DataState& state) override;
  std::unique_ptr<TaskBatch> next() override;
  std::optional<int64_t> epoch_batches() const override { return epochs_->epoch_batches(); }
  Tensor loss(const TaskBatch& batch) const override;
  Tensor full_batch_loss() const override;
  bool validates() const override { return !held_out_.empty(); }
  Score validate(int64_t step) const override;
  std::string test(const std::filesystem::path& /*folder*/) const override { return ""; }

 private:
  // What is hidden in a batch of texts.
  struct MaskedBatch : TaskBatch {
    HostTexts texts;               // with masks
    std::vector<int32_t> places;   // b * T + t
    std::vector<int32_t> words;    // that stood there
    std::vector<int32_t> follows;  // [B] 0: the second text follows; 1: it does not
  };
  // A text, or two, and whether they belong together.
  struct Sentences {
    std::vector<EncodedText> texts;
    std::vector<int32_t> follows;
  };

  // The lines of valid_text, or the last ones of those to learn from.
  std::vector<std::vector<int32_t>> take_held_out();
  Sentences make_texts(const std::vector<std::vector<int32_t>>& lines) const;
  std::unique_ptr<MaskedBatch> mask(HostTexts texts, const std::vector<int32_t>& follows,
                                    uint64_t stream) const;
  Tensor word_loss(const MaskedBatch& batch, Tensor* hidden) const;

  TextEncoder* encoder_ = nullptr;  // any_
  MaskedModel* heads_ = nullptr;    // any_
  int32_t mask_ = 0;                // [MASK]
  int64_t longest_ = 0;
  std::vector<std::vector<int32_t>> lines_;  // to learn from
  std::vector<int32_t> follows_;             // of each text
  std::optional<TextEpochs> epochs_;
  std::vector<std::unique_ptr<MaskedBatch>> held_out_;
  DataState state_;
};

}  // namespace heed
