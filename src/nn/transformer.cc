#include "nn/transformer.h"

#include <utility>
#include <vector>

#include "autograd/checkpoint.h"
#include "base/error.h"

namespace heed {

Activation activation_of(std::string_view name) {
  if (name == "relu") {
    return Activation::relu;
  }
  check(name == "gelu" || name == "gelu_tanh",
        "[transformer layer] activation is {}, expected relu, gelu or gelu_tanh", name);
  return name == "gelu" ? Activation::gelu : Activation::gelu_tanh;
}

namespace {

std::unique_ptr<Mixer> make_mixer(const Scope& s, const LayerConfig& config) {
  check(config.mixer != nullptr, "[transformer layer] there is no mixer");
  return config.mixer(s);
}

}  // namespace

// Parameters lie in the order in which layers ask for them, which checkpoints rely on: so the mixer
// is made in its place between the norms. Its name is that of the first one there was.
TransformerLayer::TransformerLayer(const Scope& s, const LayerConfig& config, AttentionLabel label)
    : label_(std::move(label)),
      dropout_(config.dropout),
      pre_norm_(config.pre_norm),
      residual_(config.residual),
      norm1_(s / "norm1", config.width, config.epsilon),
      mixer_(make_mixer(s / "self_attention", config)),
      norm3_(s / "norm3", config.width, config.epsilon),
      feed_forward_(s / "feed_forward",
                    {.width = config.width,
                     .hidden = config.hidden,
                     .activation = config.activation,
                     .dropout = config.hidden_dropout,
                     .standard_deviation = config.standard_deviation,
                     .branch_standard_deviation = config.branch_standard_deviation}) {
  if (config.cross) {
    norm2_.emplace(s / "norm2", config.width, config.epsilon);
    cross_attention_.emplace(s / "cross_attention", *config.cross);
  }
}

Residual TransformerLayer::operator()(Residual stream, const LayerContext& context) const {
  check(cross_attention_.has_value() == context.memory.kv.defined(),
        "[transformer layer] memory is {}, expected {}",
        context.memory.kv.defined() ? "given" : "missing",
        cross_attention_ ? "one to attend to" : "none");
  const bool plain = context.self.caches.empty() && !AttentionScope::open();
  if (plain && CheckpointScope::asks()) {
    return recomputed(stream, context);
  }
  return apply(std::move(stream), context);
}

Residual TransformerLayer::apply(Residual stream, const LayerContext& context) const {
  return pre_norm_ ? pre_norm(std::move(stream), context) : post_norm(std::move(stream), context);
}

// All that a gradient flows to is an input: the stream, and the memory.
Residual TransformerLayer::recomputed(const Residual& stream, const LayerContext& context) const {
  const auto block = [this, context](const std::vector<Tensor>& inputs) {
    LayerContext own = context;
    own.memory.kv = inputs[2];
    const Residual result = apply({inputs[0], inputs[1]}, own);
    return std::vector<Tensor>{result.x, result.branch};
  };
  const std::vector<Tensor> result =
      checkpoint_all(block, {stream.x, stream.branch, context.memory.kv});
  return {result[0], result[1]};  // [B,T,C] each
}

Tensor TransformerLayer::mix(const Tensor& x, const LayerContext& context) const {
  return mixer_->mix(x, context.self, label(label_.kind, context));  // [B,T,C]
}

void TransformerLayer::remember(const Tensor& x, const LayerContext& context) const {
  mix(pre_norm_ ? norm1_(x) : x, context);
}

// Hypotheses about one source are queries of one attention: the memory is not repeated for them.
Tensor TransformerLayer::cross_attention(const Tensor& x, const LayerContext& context) const {
  const Tensor rows = x.reshape({x.dim(0) / context.beam, context.beam * x.dim(1), x.dim(2)});
  const Mixed mixed = (*cross_attention_)(
      rows, context.memory,
      {.weights = AttentionScope::open(), .stepwise = context.self.stepwise});  // [B,K,C]
  AttentionScope::report(label("cross", context), mixed.weights);
  return mixed.y.reshape(x.shape());  // [R,T,C]
}

Tensor TransformerLayer::normed(const LayerNorm& norm, Residual& stream) const {
  return norm(stream, dropout_, residual_);
}

// x + f(norm(x))
Residual TransformerLayer::pre_norm(Residual stream, const LayerContext& context) const {
  stream.branch = mix(normed(norm1_, stream), context);  // [B,T,C]
  if (cross_attention_) {
    stream.branch = cross_attention(normed(*norm2_, stream), context);  // [B,T,C]
  }
  stream.branch = feed_forward_(normed(norm3_, stream));  // [B,T,C]
  return stream;
}

// norm(x + f(x))
Residual TransformerLayer::post_norm(Residual stream, const LayerContext& context) const {
  check(!stream.branch.defined(), "[transformer layer] post-norm got a stream with a branch");
  const auto add_and_norm = [&](const LayerNorm& norm, Tensor branch) {
    stream.branch = std::move(branch);
    stream = {normed(norm, stream), Tensor()};  // [B,T,C]
  };
  add_and_norm(norm1_, mix(stream.x, context));
  if (cross_attention_) {
    add_and_norm(*norm2_, cross_attention(stream.x, context));
  }
  add_and_norm(norm3_, feed_forward_(stream.x));
  return stream;
}

}  // namespace heed
