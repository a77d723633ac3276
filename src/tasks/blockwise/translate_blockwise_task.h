// Learning to propose several tokens of a translation at once (Stern, Shazeer and Uszkoreit 2018).
//
// With `blockwise.frozen` the translator that the training begins with stays as it is, to the bit,
// and says exactly what it said before; without, it learns along, which makes proposals better and
// its own words a little different. Targets that a trained translator made (heed distil) are easier
// to foresee than what people wrote.
#pragma once

#include "models/translation/blockwise_transformer.h"
#include "tasks/blockwise/proposal_loss.h"
#include "tasks/pair_task.h"

namespace heed {

struct TranslateBlockwiseConfig : PairSections {
  SequenceLossConfig train;
  BlockwiseHeadsConfig blockwise;

  template <typename Visitor>
  void fields(Visitor& v) {
    v("data", data, "what is read");
    v("text", text, "the tokenizer");
    v("train", train, "the loss");
    v("blockwise", blockwise, "what learns");
    v("validation", validation, "the score");
  }
};

class TranslateBlockwiseTask : public PairTask {
 public:
  using Config = TranslateBlockwiseConfig;
  TranslateBlockwiseTask(const Recipe& recipe, const TaskSetup& setup);
  static void check_recipe(const Recipe& recipe, const Config& own, std::string_view where);
  static void check_model(const Recipe& recipe, const Config& own);

  bool fresh(std::string_view parameter) const override {
    return own_.blockwise.is_head(parameter);
  }
  bool trains(std::string_view parameter) const override {
    return own_.blockwise.trains(parameter);
  }
  Tensor full_batch_loss() const override { return pair_loss(full_batch()); }

 protected:
  Tensor pair_loss(const HostBatch& batch) const override;
  BatchLoss held_out_loss(const TranslationModel& model) const override;
  const TranslationModel& translator() const override { return *model_; }
  DecodeOptions validation_decoding() const override { return {.decoding = "blockwise"}; }
  DecodeOptions test_decoding() const override { return validation_decoding(); }
  // Of a translator that stays as it is, only the speed can get better: tokens of a pass.
  void set_metric(const ValidationScore& found, Score& score) const override;

 private:
  Config own_;
  BlockwiseTransformer* model_ = nullptr;  // any_
};

}  // namespace heed
