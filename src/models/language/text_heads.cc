#include "models/language/text_heads.h"

#include "base/error.h"
#include "ops/pointwise.h"
#include "ops/shape/gather.h"
#include "ops/shape/shape.h"

namespace heed {

TextHeads::TextHeads(const Scope& s, const TextHeadsConfig& config) : config_(config) {
  const int64_t width = config.width;
  const Init init = Init::normal(config.standard_deviation);
  if (config.pooler) {
    pooler_.emplace(s / "pooler", width, width, true, init);
  }
  if (config.masked_head) {
    const Scope head = s / "masked";
    masked_head_.emplace(
        MaskedHead{.transform = Linear(head / "transform", width, width, true, init),
                   .norm = LayerNorm(head / "norm", width, config.epsilon),
                   .bias = head.param("bias", {config.vocabulary}, Init::constant(0.0F))});
  }
  if (config.next_head) {
    next_head_.emplace(s / "next", width, 2, true, init);
  }
  if (config.labels > 0) {
    classes_.emplace(s / "classes", width, config.labels, true, init);
  }
}

Tensor TextHeads::summary(const Tensor& hidden) const {
  const Tensor first = slice(hidden, 1, 0, 1).reshape({hidden.dim(0), hidden.dim(2)});  // [B,C]
  return pooler_ ? (*pooler_)(first, Activation::tanh) : first;                         // [B,C]
}

Tensor TextHeads::classes(const Tensor& hidden) const {
  check(classes_.has_value(),
        "[{}] this model has no head for classes: train one with a recipe of task \"classify\"",
        config_.name);
  return (*classes_)(dropout(summary(hidden), config_.dropout));  // [B,K]
}

Tensor TextHeads::words(const Tensor& hidden, const Tensor& places, const Embedding& tokens) const {
  check(masked_head_.has_value(), "[{}] this model has no head for masked words", config_.name);
  const Tensor rows = hidden.reshape({hidden.dim(0) * hidden.dim(1), hidden.dim(2)});
  const Tensor x =
      masked_head_->transform(index_select(rows, 0, places), config_.activation);  // [N,C]
  return tokens.logits(masked_head_->norm(x), masked_head_->bias);                 // [N,V]
}

Tensor TextHeads::follows(const Tensor& hidden) const {
  check(next_head_.has_value(), "[{}] this model has no head for following texts", config_.name);
  return (*next_head_)(summary(hidden));  // [B,2]
}

}  // namespace heed
