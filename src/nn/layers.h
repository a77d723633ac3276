// The small layers that everything is made of. Each owns handles on its parameters, nothing else.
#pragma once

#include "nn/parameters.h"
#include "ops/feed_forward.h"
#include "ops/linear.h"
#include "ops/norm.h"
#include "ops/pointwise.h"
#include "ops/shape/embedding.h"

namespace heed {

class Linear {
 public:
  Linear(const Scope& s, int64_t in, int64_t out, bool bias = true)
      : Linear(s, in, out, bias, Init::xavier(in, out)) {}
  Linear(const Scope& s, int64_t in, int64_t out, bool bias, Init init)
      : weight_(s.matrix("weight", out, in, init)),
        bias_(bias ? s.param("bias", {out}, Init::constant(0.0F)) : Parameter()) {}

  Tensor operator()(const Tensor& x, Activation activation = Activation::none) const {
    return linear(x, weight_, bias_, activation);  // [..., out]
  }
  const Parameter& weight() const { return weight_; }
  const Parameter& bias() const { return bias_; }
  // Of the activations that it takes: int8 weights work on bf16.
  DType dtype() const {
    return weight_.tensor().dtype() == DType::i8 ? DType::bf16 : weight_.tensor().dtype();
  }

 private:
  Parameter weight_;
  Parameter bias_;
};

class Embedding {
 public:
  Embedding(const Scope& s, int64_t vocabulary, int64_t width, Init init)
      : weight_(s.matrix("weight", vocabulary, width, init)) {}

  Tensor operator()(const Tensor& ids, float scale = 1.0F) const {
    return embedding(ids, weight_, scale);  // [..., width]
  }
  int64_t width() const { return weight_.tensor().dim(1); }
  // The same matrix as output projection: logits over the vocabulary.
  Tensor logits(const Tensor& x, const Tensor& bias = Tensor()) const {
    return linear(x, weight_, bias);  // [..., V]
  }

 private:
  Parameter weight_;
};

// A residual stream whose last branch has not been added yet, so that the next norm can add, drop
// and normalise in one pass.
struct Residual {
  Tensor x;       // [..., C]
  Tensor branch;  // [..., C], or undefined
};

class LayerNorm {
 public:
  LayerNorm(const Scope& s, int64_t width, float epsilon = 1e-5F)
      : gamma_(s.param("weight", {width}, Init::constant(1.0F))),
        beta_(s.param("bias", {width}, Init::constant(0.0F))),
        epsilon_(epsilon) {}

  Tensor operator()(const Tensor& x) const { return layer_norm(x, gamma_, beta_, epsilon_); }

  // norm(x + dropout(branch)); the stream goes on with the sum. Without residual connections the
  // branch alone goes on: norm(dropout(branch)).
  Tensor operator()(Residual& stream, float p = 0.0F, bool residual = true) const {
    if (!stream.branch.defined()) {
      return (*this)(stream.x);
    }
    if (!residual) {
      stream = {dropout(stream.branch, p), Tensor()};
      return (*this)(stream.x);
    }
    ResidualNorm result =
        residual_norm(stream.x, stream.branch, gamma_, beta_, {.epsilon = epsilon_, .dropout = p});
    stream = {std::move(result.sum), Tensor()};
    return result.normed;  // [..., C]
  }

 private:
  Parameter gamma_;
  Parameter beta_;
  float epsilon_;
};

struct FeedForwardConfig {
  int64_t width = 512;
  int64_t hidden = 2048;
  Activation activation = Activation::relu;
  float dropout = 0.0F;             // of the hidden layer
  float standard_deviation = 0.0F;  // of the initial values; see LayerConfig
  float branch_standard_deviation = 0.0F;
};

class FeedForward {
 public:
  FeedForward(const Scope& s, const FeedForwardConfig& config)
      : first_(s / "linear1", config.width, config.hidden, true,
               Init::normal_or_xavier(config.standard_deviation, config.width, config.hidden)),
        second_(
            s / "linear2", config.hidden, config.width, true,
            Init::normal_or_xavier(config.branch_standard_deviation, config.hidden, config.width)),
        options_{config.activation, config.dropout} {}

  Tensor operator()(const Tensor& x) const {
    return feed_forward(x, {first_.weight(), first_.bias(), second_.weight(), second_.bias()},
                        options_);  // [..., C]
  }

 private:
  Linear first_;
  Linear second_;
  FeedForwardOptions options_;
};

}  // namespace heed
