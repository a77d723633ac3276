#include "train/loss.h"

#include <cmath>
#include <vector>

#include "models/model.h"
#include "ops/loss/agreement.h"
#include "ops/mesh/split_cross_entropy.h"
#include "ops/pointwise.h"
#include "ops/reduce.h"
#include "ops/shape/gather.h"
#include "ops/softmax.h"

namespace heed {
namespace {

// Entropy of a one-hot distribution over V classes after smoothing by s: the target has
// 1 - s + s/V, every other class s/V.
float smoothed_entropy(float smoothing, int64_t classes) {
  if (smoothing <= 0.0F) {
    return 0.0F;
  }
  const double each = smoothing / static_cast<double>(classes);
  const double target = 1.0 - smoothing + each;
  return static_cast<float>(-target * std::log(target) -
                            static_cast<double>(classes - 1) * each * std::log(each));
}

// sum over v of (p_v - [v = t])^2 = sum of p_v^2 - 2 p_t + 1
Tensor squared_error(const Tensor& logits, const Tensor& targets) {
  const int64_t classes = logits.dim(2);
  const int64_t rows = targets.size();
  std::vector<int32_t> picked(static_cast<size_t>(rows));
  std::vector<float> counts(static_cast<size_t>(rows));
  float total = 0.0F;
  for (size_t i = 0; i < picked.size(); ++i) {
    const int32_t target = targets.data<int32_t>()[i];
    counts[i] = target == kIgnore ? 0.0F : 1.0F;
    picked[i] = target == kIgnore ? 0 : target;
    total += counts[i];
  }
  const Tensor p = softmax(logits.reshape({rows, classes}));                        // [N,V]
  const Tensor said = gather_elements(p, 1, Tensor::from_ints(picked, {rows, 1}));  // [N,1]
  const Tensor squares = sum(square(p), 1).reshape({rows, 1});                      // [N,1]
  const Tensor error = add_scalar(sub(squares, scale(said, 2.0F)), 1.0F);           // [N,1]
  const Tensor counted = mul(error, Tensor::from(counts, {rows, 1}));               // [N,1]
  return scale(sum(counted), 1.0F / std::max(total, 1.0F));
}

CrossEntropyOptions options_of(const LossConfig& config) {
  return {.label_smoothing = config.label_smoothing, .ignore = kIgnore};
}

Tensor prediction_loss(const Tensor& logits, const Tensor& targets, const LossConfig& config) {
  if (config.kind == "mse") {
    return squared_error(logits, targets);
  }
  const Tensor loss = cross_entropy(logits, targets, options_of(config));
  return config.kind == "kl"
             ? add_scalar(loss, -smoothed_entropy(config.label_smoothing, logits.dim(2)))
             : loss;
}

}  // namespace

void SequenceLossConfig::check_recipe(std::string_view where) const {
  check(loss != "mse" || label_smoothing == 0.0F,
        "[{}] train.label_smoothing is {}, which the loss mse does not have: set it to 0", where,
        label_smoothing);
}

Tensor full_pairs_loss(const Seq2SeqModel& model, int64_t rows, int64_t length,
                       const LossConfig& config) {
  const int64_t all = rows * config.copies();
  const Tensor ids = Tensor::zeros({all, length}, DType::i32);
  const std::vector<int32_t> full(static_cast<size_t>(all), static_cast<int32_t>(length));
  const Tensor lengths = Tensor::from_ints(full, {all});
  const Batch batch{ids, lengths, ids, ids, lengths, 0, 0};
  return sequence_loss([&] { return model.logits(batch); }, ids, config);
}

Tensor sequence_loss(const std::function<Tensor()>& logits, const Tensor& targets,
                     const LossConfig& config) {
  return config.kind == "cross_entropy" && config.agreement == 0.0F
             ? cross_entropy_of(logits, targets, options_of(config))
             : sequence_loss(logits(), targets, config);
}

Tensor sequence_loss(const Tensor& logits, const Tensor& targets, const LossConfig& config) {
  Tensor loss = prediction_loss(logits, targets, config);
  if (config.agreement == 0.0F) {
    return loss;
  }
  const Tensor once = targets.rows(0, targets.dim(0) / 2);
  return add(loss, scale(agreement(logits, once, kIgnore), config.agreement));
}

}  // namespace heed
