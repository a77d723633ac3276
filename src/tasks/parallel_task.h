// Learning to translate all positions at once: pairs of sentences, a parallel model, BLEU.
//
// What a step asks for depends on the model's input (models/model.h):
//
//   copied   every token of the target, from copies of the source (Gu et al. 2018); with
//            train.glancing, from some tokens of the target too, fewer the better the model is
//   refined  the same, then once more from the model's own words of that pass or, for half of the
//            pairs, from a damaged target (Lee et al. 2018)
//   masked   a random number of tokens from the others (Ghazvininejad et al. 2019)
//
// and always how much longer the target is than the source. What is hidden or damaged is a function
// of the run's counted random numbers. Targets that a trained translator made (heed distil) are
// easier to say at once than what people wrote.
#pragma once

#include "tasks/pair_task.h"

namespace heed {

struct ParallelLossConfig {
  float label_smoothing = 0.1F;
  float length_weight = 0.1F;
  float damage = 0.3F;
  float glancing = 0.0F;

  template <typename Visitor>
  void fields(Visitor& v) {
    v("label_smoothing", label_smoothing, "probability mass spread over all tokens",
      {.least = 0, .most = 0.99});
    v("length_weight", length_weight, "weight of the loss of lengths and fertilities",
      {.least = 0, .most = 100});
    v("damage", damage, "share of the tokens of a target that are damaged, for model.input refined",
      {.least = 0, .most = 1});
    v("glancing", glancing,
      "for model.input copied: share of the tokens that a first pass gets wrong which the decoder "
      "is then shown, to learn the others (Qian et al. 2021); 0: none",
      {.least = 0, .most = 1});
  }
};

struct ParallelDataConfig : PairDataConfig {
  std::vector<std::string> fertilities;

  template <typename Visitor>
  void fields(Visitor& v) {
    PairDataConfig::fields(v);
    v("fertilities", fertilities,
      "files of fertilities, aligned with the source files, for model.fertilities (heed distil "
      "--alignments)",
      {.path = true});
  }
};

struct PassesConfig {
  int64_t iterations = 4;
  int64_t candidates = 1;

  template <typename Visitor>
  void fields(Visitor& v) {
    v("iterations", iterations, "most passes of refinement", {.least = 1, .most = 1000});
    v("candidates", candidates, "lengths that are tried", {.least = 1, .most = 100});
  }
};

struct ParallelConfig {
  ParallelDataConfig data;
  PairTextConfig text;
  ParallelLossConfig train;
  PassesConfig decoding;
  TranslationScoreConfig validation;

  PairSections sections() const { return {data, text, validation}; }

  template <typename Visitor>
  void fields(Visitor& v) {
    v("data", data, "what is read");
    v("text", text, "the tokenizer");
    v("train", train, "the loss");
    v("decoding", decoding, "how validation and the test at the end decode");
    v("validation", validation, "the score");
  }
};

class ParallelTask : public PairTask {
 public:
  using Config = ParallelConfig;
  ParallelTask(const Recipe& recipe, const TaskSetup& setup);
  static void check_recipe(const Recipe& recipe, const Config& own, std::string_view where);
  static void check_model(const Recipe& recipe, const Config& own);

  bool fresh(std::string_view parameter) const override;
  void begin(const DataState& state) override;
  Tensor full_batch_loss() const override { return pair_loss(full_batch()); }

 protected:
  Tensor pair_loss(const HostBatch& batch) const override;
  BatchLoss held_out_loss(const TranslationModel& model) const override;
  const TranslationModel& translator() const override { return *model_; }
  DecodeOptions validation_decoding() const override;
  DecodeOptions test_decoding() const override { return validation_decoding(); }

 private:
  struct Passes;
  using Fertilities = std::vector<std::vector<int64_t>>;
  // The loss of the tokens, and of lengths and fertilities if it is wanted.
  struct LossSetting {
    RandomStream random;
    ParallelLossConfig config;
    const Fertilities& fertilities;  // by HostBatch::pairs; empty: copies are spread evenly
  };
  Tensor loss_of(const ParallelModel& model, const HostBatch& batch,
                 const LossSetting& setting) const;

  Config own_;
  ParallelModel* model_ = nullptr;  // any_
  Fertilities fertilities_;         // of each pair to learn from, if the recipe names them
};

}  // namespace heed
