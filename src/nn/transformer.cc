#include "nn/transformer.h"

#include <algorithm>

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

// Of two distances; below 0: any.
int64_t narrower(int64_t a, int64_t b) { return a < 0 || b < 0 ? std::max(a, b) : std::min(a, b); }

std::optional<SelfAttention> make_self_attention(const Scope& s, const LayerConfig& config) {
  if (config.compression > 1 || config.plan != nullptr) {
    return std::nullopt;
  }
  return SelfAttention(s, {.width = config.width,
                           .heads = config.heads,
                           .relative_distance = config.relative_distance,
                           .relative_future = config.relative_future,
                           .relative_per_head = config.relative_per_head,
                           .label_distance = config.label_distance,
                           .deviation = config.deviation,
                           .branch_deviation = config.branch_deviation});
}

std::optional<CompressedAttention> make_compressed_attention(const Scope& s,
                                                             const LayerConfig& config) {
  if (config.compression <= 1) {
    return std::nullopt;
  }
  return CompressedAttention(s, {.width = config.width,
                                 .heads = config.heads,
                                 .stride = config.compression,
                                 .deviation = config.deviation,
                                 .branch_deviation = config.branch_deviation});
}

std::optional<BlockAttention> make_block_attention(const Scope& s, const LayerConfig& config) {
  if (config.plan == nullptr) {
    return std::nullopt;
  }
  return BlockAttention(s, {.width = config.width, .heads = config.heads, .plan = config.plan});
}

}  // namespace

// Parameters lie in the order in which layers ask for them, which checkpoints rely on: so the
// attention is made in its place between the norms, whichever it is.
TransformerLayer::TransformerLayer(const Scope& s, const LayerConfig& config)
    : config_(config),
      norm1_(s / "norm1", config.width, config.epsilon),
      self_attention_(make_self_attention(s / "self_attention", config)),
      compressed_attention_(make_compressed_attention(s / "self_attention", config)),
      block_attention_(make_block_attention(s / "self_attention", config)),
      norm3_(s / "norm3", config.width, config.epsilon),
      feed_forward_(s / "feed_forward", {.width = config.width,
                                         .hidden = config.hidden,
                                         .activation = config.activation,
                                         .dropout = config.hidden_dropout,
                                         .deviation = config.deviation,
                                         .branch_deviation = config.branch_deviation}) {
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
  context.self.window_left = narrower(context.self.window_left, config_.window - 1);
  return config_.pre_norm ? pre_norm(std::move(stream), context)
                          : post_norm(std::move(stream), context);
}

Tensor TransformerLayer::self_attention(const Tensor& x, const LayerContext& context) const {
  if (block_attention_) {
    return (*block_attention_)(x, context.self, context.block_caches, context.self_weights);
  }
  return compressed_attention_
             ? (*compressed_attention_)(x, context.self, context.cache, context.self_weights)
             : (*self_attention_)(x, context.self, context.cache, context.self_weights);  // [B,T,C]
}

// Hypotheses about one source are queries of one attention: the memory is not repeated for them.
Tensor TransformerLayer::cross_attention(const Tensor& x, const LayerContext& context) const {
  if (context.beam == 1) {
    return (*cross_attention_)(x, context.memory, context.cross, context.cross_weights);
  }
  const Tensor rows = x.reshape({x.dim(0) / context.beam, context.beam, x.dim(2)});  // [B,K,C]
  return (*cross_attention_)(rows, context.memory, context.cross, context.cross_weights)
      .reshape(x.shape());  // [R,1,C]
}

Tensor TransformerLayer::normed(const LayerNorm& norm, Residual& stream) const {
  return norm(stream, config_.dropout, config_.residual);
}

// x + f(norm(x))
Residual TransformerLayer::pre_norm(Residual stream, const LayerContext& context) const {
  stream.branch = self_attention(normed(norm1_, stream), context);  // [B,T,C]
  if (config_.cross) {
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
  add_and_norm(norm1_, self_attention(stream.x, context));
  if (config_.cross) {
    add_and_norm(*norm2_, cross_attention(stream.x, context));
  }
  add_and_norm(norm3_, feed_forward_(stream.x));
  return stream;
}

}  // namespace heed
