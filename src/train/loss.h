// What training minimises, per target token.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/config.h"
#include "models/model.h"
#include "tensor/tensor.h"

namespace heed {

struct LossConfig {
  std::string kind = "cross_entropy";  // cross_entropy, kl or mse
  float label_smoothing = 0.0F;
  float agreement = 0.0F;

  // How often a batch is shown in one step.
  int64_t copies() const { return agreement > 0.0F ? 2 : 1; }
};

// What the recipes of tasks that learn sequences say about the loss, in their section train.
struct SequenceLossConfig {
  std::string loss = "cross_entropy";
  float label_smoothing = 0.1F;

  template <typename Visitor>
  void fields(Visitor& v) {
    v("loss", loss, "loss to minimise", {.choices = {"cross_entropy", "kl", "mse"}});
    v("label_smoothing", label_smoothing, "probability mass spread over all tokens",
      {.least = 0, .most = 0.99});
  }

  LossConfig config() const { return {.kind = loss, .label_smoothing = label_smoothing}; }
  // Throws if the loss does not have what the recipe asks of it.
  void check_recipe(std::string_view where) const;
};

// The same with R-Drop.
struct AgreementLossConfig : SequenceLossConfig {
  float agreement = 0.0F;

  template <typename Visitor>
  void fields(Visitor& v) {
    SequenceLossConfig::fields(v);
    v("agreement", agreement,
      "weight of R-Drop: process each batch twice with different dropout and add the divergence of "
      "the two predictions to the loss; 0: off",
      {.least = 0});
  }

  LossConfig config() const {
    return {.kind = loss, .label_smoothing = label_smoothing, .agreement = agreement};
  }
};

// logits [B,T,V], targets i32 [B,T] -> the mean over the targets that count, f32.
//   cross_entropy  -sum of q log p, where q is the target's one-hot, smoothed
//   kl             KL(q || p): the same less q's own entropy, so that it can reach 0
//   mse            squared distance of p and the one-hot target
// With `agreement` the second half of the rows repeats the first, with dropout of its own, and that
// many times the divergence of the two is added (R-Drop, Liang et al. 2021; its alpha is twice
// ours, since it adds the two cross-entropies where we take their mean).
Tensor sequence_loss(const Tensor& logits, const Tensor& targets, const LossConfig& config);
// The same of what logits() gives. On a mesh that splits the vocabulary, each process then computes
// its own part of them, and they are not gathered if the loss can do without.
Tensor sequence_loss(const std::function<Tensor()>& logits, const Tensor& targets,
                     const LossConfig& config);

// The loss of `rows` empty pairs of `length` tokens a side, config.copies() times: what a full
// batch takes.
Tensor full_pairs_loss(const Seq2SeqModel& model, int64_t rows, int64_t length,
                       const LossConfig& config);

}  // namespace heed
