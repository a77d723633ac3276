// What tasks that train the heads of blockwise decoding share (Stern, Shazeer and Uszkoreit 2018):
// head h learns to say the token h positions on. Each step trains some of the proposals, one unless
// `blockwise.heads` says more, chosen by the run's counted random numbers, so that their loss
// stands for the mean of all without the memory for all. A model that learns along is trained
// itself, as head 1, in every step: with one step in k, as in the paper, what the proposals teach
// it made Multi30k's translations useless within a thousand steps.
#pragma once

#include <string_view>

#include "autograd/tape.h"
#include "models/model.h"
#include "train/loss.h"
#include "train/recipe.h"

namespace heed {

// The section `blockwise` of their recipes.
struct BlockwiseHeadsConfig {
  bool frozen = true;
  int64_t heads = 1;

  template <typename Visitor>
  void fields(Visitor& v) {
    v("frozen", frozen, "only the proposals learn; the model of train.from stays as it is");
    v("heads", heads, "proposals that each step trains, drawn at random; all if there are fewer",
      {.least = 1, .most = 64});
  }

  // Throws if there is nothing that could stay as it is.
  void check_recipe(const Recipe& recipe, std::string_view where) const;
  // The first head that learns: the model itself is the first.
  int64_t first_head() const { return frozen ? 2 : 1; }
  bool trains(std::string_view parameter) const { return !frozen || is_head(parameter); }
  static bool is_head(std::string_view parameter) { return parameter.starts_with("blockwise."); }
};

// What the recipe of a task says, and the section beside it.
template <typename Config>
struct WithHeads : Config {
  BlockwiseHeadsConfig blockwise;

  template <typename Visitor>
  void fields(Visitor& v) {
    Config::fields(v);
    v("blockwise", blockwise, "what learns");
  }
};

// Calls hidden(): of a model that does not learn along, hidden states are those of inference.
template <typename Hidden>
Tensor hidden_states(bool frozen, const Hidden& hidden) {
  if (!frozen) {
    return hidden();  // [B,T,C]
  }
  const InferenceScope scope;
  return hidden();  // [B,T,C]
}

// Heads from `first` on, with hidden states [B,T,C] and the targets i32 [B,T] of the first one.
struct ProposalLoss {
  const BlockwiseModel& model;
  int64_t first = 2;
  Tensor hidden;
  Tensor targets;

  // The mean of so many proposals, drawn at random; the mean of that and head 1 if it learns too.
  Tensor of_drawn(int64_t heads, const LossConfig& config) const;
  // The mean of all, without smoothing.
  double of_all() const;
};

}  // namespace heed
