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

FeedForwardConfig feed_forward_config(const LayerConfig& config) {
  return {.width = config.width,
          .hidden = config.hidden,
          .activation = config.activation,
          .dropout = config.hidden_dropout,
          .standard_deviation = config.standard_deviation,
          .branch_standard_deviation = config.branch_standard_deviation};
}

// The caches of a layer whose transition looks at neighbours, too.
struct LayerCache : MixerCache {
  std::unique_ptr<MixerCache> self;
  std::unique_ptr<MixerCache> transition;

  void select(std::span<const int64_t> rows) override {
    self->select(rows);
    transition->select(rows);
  }
  void join(const MixerCache& more) override {
    const auto& other = cache_as<LayerCache>(more);
    self->join(*other.self);
    transition->join(*other.transition);
  }
  void roll_back(std::span<const int64_t> dropped) override {
    transition->roll_back(dropped);
    self->roll_back(dropped);
  }
  size_t bytes() const override { return self->bytes() + transition->bytes(); }
};

// The context with one part of each of its caches.
MixerContext with_part(const MixerContext& context, std::unique_ptr<MixerCache> LayerCache::*part) {
  MixerContext result = context;
  for (MixerCache*& cache : result.caches) {
    cache = (cache_as<LayerCache>(*cache).*part).get();
  }
  return result;
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
      norm3_(s / "norm3", config.width, config.epsilon) {
  if (config.transition != nullptr) {
    transition_ = config.transition(s / "transition");
  } else {
    feed_forward_.emplace(s / "feed_forward", feed_forward_config(config));
  }
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

std::unique_ptr<MixerCache> TransformerLayer::make_cache(const CacheConfig& config) const {
  if (transition_ == nullptr) {
    return mixer_->make_cache(config);
  }
  auto cache = std::make_unique<LayerCache>();
  cache->self = mixer_->make_cache(config);
  cache->transition = transition_->make_cache(config);
  return cache;
}

Tensor TransformerLayer::mix(const Tensor& x, const LayerContext& context) const {
  if (transition_ == nullptr || context.self.caches.empty()) {
    return mixer_->mix(x, context.self, label(label_.kind, context));  // [B,T,C]
  }
  return mixer_->mix(x, with_part(context.self, &LayerCache::self),
                     label(label_.kind, context));  // [B,T,C]
}

Tensor TransformerLayer::transition(const Tensor& x, const LayerContext& context) const {
  if (feed_forward_) {
    return (*feed_forward_)(x);  // [B,T,C]
  }
  return (*transition_)(x, with_part(context.self, &LayerCache::transition)).y;  // [B,T,C]
}

// What stands in front of the transition depends on all that comes before it.
void TransformerLayer::remember(const Tensor& x, const LayerContext& context) const {
  if (transition_ != nullptr) {
    (*this)({x, Tensor()}, context);
  } else {
    mix(pre_norm_ ? norm1_(x) : x, context);
  }
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
  stream.branch = transition(normed(norm3_, stream), context);  // [B,T,C]
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
  add_and_norm(norm3_, transition(stream.x, context));
  return stream;
}

}  // namespace heed
