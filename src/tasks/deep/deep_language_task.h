// Learning to say the next character with a deep model (Al-Rfou et al. 2018), which needs losses
// besides that of the answer:
//
//   every position predicts, not only the last one of a window;
//   every layer predicts, the lower ones the shorter: layer l of n, counted from 1, until l / 2n of
//     the training is over, so that the second half trains the last layer's answer alone;
//   every prediction is of several characters to come, each by a classifier of its own, of which
//     the later ones have a smaller weight.
//
// What is minimised is the sum over all layers that predict; validation measures the answer alone.
#pragma once

#include "models/language/character_transformer.h"
#include "tasks/language_task.h"

namespace heed {

// The section `auxiliary` of its recipes. Which layers and how many characters are predicted is
// part of the model: model.intermediate_losses and model.targets.
struct AuxiliaryLossConfig {
  bool every_position = true;
  float target_weight = 0.5F;
  int64_t steps = 0;

  template <typename Visitor>
  void fields(Visitor& v) {
    v("every_position", every_position,
      "every position of a window learns to predict, not only the last one");
    v("target_weight", target_weight, "weight of the characters behind the next one in the loss",
      {.least = 0, .most = 100});
    v("steps", steps,
      "length of the training by which intermediate losses end, in steps; 0: as the recipe has it",
      {.least = 0});
  }
};

struct DeepLanguageConfig : LanguageConfig {
  AuxiliaryLossConfig auxiliary;

  template <typename Visitor>
  void fields(Visitor& v) {
    LanguageConfig::fields(v);
    v("auxiliary", auxiliary, "losses besides that of the answer");
  }
};

// The lowest layer, counted from 0, that still predicts after `complete` steps of `total`.
int64_t lowest_predicting_layer(int64_t layers, int64_t complete, int64_t total);

class DeepLanguageTask : public LanguageTask {
 public:
  using Config = DeepLanguageConfig;
  DeepLanguageTask(const Recipe& recipe, const TaskSetup& setup);
  static void check_model(const Recipe& recipe, const Config& own);

  void begin_step(int64_t complete) override;

 protected:
  Tensor window_loss(const Tensor& tokens, const Tensor& targets) const override;
  int64_t future() const override { return model_->targets(); }
  int64_t counted() const override { return auxiliary_.every_position ? length() : 1; }

 private:
  // Of one layer: x [B,P,C] and, for each target, what is to be said at these positions, i32 [B,P].
  Tensor layer_loss(const Tensor& x, int64_t layer, const std::vector<Tensor>& targets) const;

  AuxiliaryLossConfig auxiliary_;
  CharacterTransformer* model_ = nullptr;  // any_
  int64_t lowest_ = 0;                     // layer that predicts in this step
};

}  // namespace heed
