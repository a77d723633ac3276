// Learning to translate token by token: pairs of sentences, a sequence-to-sequence model, BLEU.
#pragma once

#include "tasks/pair_task.h"
#include "train/loss.h"

namespace heed {

struct TranslateConfig : PairSections {
  AgreementLossConfig train;

  template <typename Visitor>
  void fields(Visitor& v) {
    v("data", data, "what is read");
    v("text", text, "the tokenizer");
    v("train", train, "the loss");
    v("validation", validation, "the score");
  }
};

class TranslateTask : public PairTask {
 public:
  using Config = TranslateConfig;
  TranslateTask(const Recipe& recipe, const TaskSetup& setup);
  static void check_recipe(const Recipe& recipe, const Config& own, std::string_view where);
  static void check_model(const Recipe& recipe, const Config& own);

  Tensor full_batch_loss() const override;

 protected:
  Tensor pair_loss(const HostBatch& batch) const override;
  BatchLoss held_out_loss(const TranslationModel& model) const override;
  const TranslationModel& translator() const override { return *model_; }

 private:
  Config own_;
  Seq2SeqModel* model_ = nullptr;  // any_
};

}  // namespace heed
