// Learning to translate through discrete latents (Kaiser et al. 2018): pairs of sentences, a latent
// model, BLEU.
//
// The loss has three parts: the target's tokens given its own codes, these codes given the source,
// and what the bottleneck adds, such as the commitment of vectors to their codes. In the first
// steps the latents pass the bottleneck as they are, ever fewer of them, so that there is something
// to make discrete. After each step the code book learns from the latents of the step.
//
// The held-out loss is that of tokens and codes together, in nats for each token: a bound on
// -log P(y|x), which token-by-token models state exactly.
#pragma once

#include <memory>
#include <vector>

#include "tasks/pair_task.h"

namespace heed {

struct LatentLossConfig {
  float label_smoothing = 0.1F;
  float latent_weight = 1.0F;
  int64_t pretrain = 500;
  float predicted = 0.25F;

  template <typename Visitor>
  void fields(Visitor& v) {
    v("label_smoothing", label_smoothing, "probability spread over all tokens",
      {.least = 0, .most = 0.99});
    v("latent_weight", latent_weight, "weight of the loss of the codes", {.least = 0, .most = 100});
    v("pretrain", pretrain, "steps in which the latents become discrete, a few more in each",
      {.least = 0});
    v("predicted", predicted,
      "share of the latents that the decoder sees with the likeliest codes instead of the target's",
      {.least = 0, .most = 1});
  }
};

struct LatentConfig : PairSections {
  LatentLossConfig train;

  template <typename Visitor>
  void fields(Visitor& v) {
    v("data", data, "what is read");
    v("text", text, "the tokenizer");
    v("train", train, "the loss");
    v("validation", validation, "the score");
  }
};

class LatentTask : public PairTask {
 public:
  using Config = LatentConfig;
  LatentTask(const Recipe& recipe, const TaskSetup& setup);
  static void check_recipe(const Recipe& recipe, const Config& own, std::string_view where);
  static void check_model(const Recipe& recipe, const Config& own);

  bool fresh(std::string_view parameter) const override;
  void begin_step(int64_t complete) override;
  void end_step() override;
  void share(const Group& batch) override { sharing_ = &batch; }
  Tensor full_batch_loss() const override { return pair_loss(full_batch()); }
  // Also measures how the code book is used.
  Score validate(int64_t step) const override;

 protected:
  Tensor pair_loss(const HostBatch& batch) const override;
  BatchLoss held_out_loss(const TranslationModel& model) const override;
  const TranslationModel& translator() const override { return *model_; }

 private:
  struct HeldOut;

  Config own_;
  LatentModel* model_ = nullptr;  // any_
  float discrete_ = 1.0F;         // share of the latents, in this step
  // Of the step's passes, until its end.
  std::vector<Discrete> shared_passes() const;

  const Group* sharing_ = nullptr;  // processes that share a step's batches
  mutable std::vector<Discrete> passes_;
  mutable RandomStream random_;
  mutable std::shared_ptr<HeldOut> held_out_;  // what the losses of a validation saw
};

}  // namespace heed
