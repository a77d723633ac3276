#include "nn/transformer.h"

#include "base/error.h"

namespace heed {

TransformerLayer::TransformerLayer(const Scope& s, const LayerConfig& config)
    : config_(config),
      norm1_(s / "norm1", config.width, config.epsilon),
      self_attention_(s / "self_attention", config.width, config.heads),
      norm3_(s / "norm3", config.width, config.epsilon),
      feed_forward_(s / "feed_forward", config.width, config.hidden, config.activation,
                    config.hidden_dropout) {
  if (config.cross) {
    norm2_.emplace(s / "norm2", config.width, config.epsilon);
    cross_attention_.emplace(s / "cross_attention", config.width, config.heads);
  }
}

Residual TransformerLayer::operator()(Residual stream, LayerContext context) const {
  check(config_.cross == context.memory.defined(), "[transformer layer] memory is {}, expected {}",
        context.memory.defined() ? "given" : "missing",
        config_.cross ? "one to attend to" : "none");
  context.self.dropout = config_.attention_dropout;
  context.cross.dropout = config_.attention_dropout;
  return config_.pre_norm ? pre_norm(std::move(stream), context)
                          : post_norm(std::move(stream), context);
}

// x + f(norm(x))
Residual TransformerLayer::pre_norm(Residual stream, const LayerContext& context) const {
  const float p = config_.dropout;
  stream.branch = self_attention_(norm1_(stream, p), context.self, context.cache);  // [B,T,C]
  if (config_.cross) {
    stream.branch = (*cross_attention_)((*norm2_)(stream, p), context.memory, context.cross);
  }
  stream.branch = feed_forward_(norm3_(stream, p));  // [B,T,C]
  return stream;
}

// norm(x + f(x))
Residual TransformerLayer::post_norm(Residual stream, const LayerContext& context) const {
  check(!stream.branch.defined(), "[transformer layer] post-norm got a stream with a branch");
  const float p = config_.dropout;
  const auto add_and_norm = [&](const LayerNorm& norm, Tensor branch) {
    stream.branch = std::move(branch);
    stream = {norm(stream, p), Tensor()};  // [B,T,C]
  };
  add_and_norm(norm1_, self_attention_(stream.x, context.self, context.cache));
  if (config_.cross) {
    add_and_norm(*norm2_, (*cross_attention_)(stream.x, context.memory, context.cross));
  }
  add_and_norm(norm3_, feed_forward_(stream.x));
  return stream;
}

}  // namespace heed
