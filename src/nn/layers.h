// The small layers that everything is made of. Each owns handles on its parameters, nothing else.
#pragma once

#include "nn/parameters.h"
#include "ops/feed_forward.h"
#include "ops/linear.h"
#include "ops/mesh/collectives.h"
#include "ops/norm.h"
#include "ops/pointwise.h"
#include "ops/shape/embedding.h"

namespace heed {

// Which side of a linear map is split over a mesh. Split outputs are computed by the process that
// has them, from the whole input; of split inputs each process has a part, and the sum over the
// processes is the output.
struct LinearSplit {
  enum class Side { none, outputs, inputs } side = Side::none;
  Part part = {};
  int64_t groups = 1;  // of the outputs: see Split

  static LinearSplit outputs(const Part& part, int64_t groups = 1) {
    return {part.whole() ? Side::none : Side::outputs, part, groups};
  }
  static LinearSplit inputs(const Part& part) {
    return {part.whole() ? Side::none : Side::inputs, part};
  }
  Split weight() const { return {part, side == Side::inputs ? 1 : 0, groups}; }
  Split bias() const { return side == Side::outputs ? Split{part, 0, groups} : Split{}; }
};

class Linear {
 public:
  Linear(const Scope& s, int64_t in, int64_t out, bool bias = true)
      : Linear(s, in, out, bias, Init::xavier(in, out)) {}
  Linear(const Scope& s, int64_t in, int64_t out, bool bias, Init init,
         const LinearSplit& split = {})
      : weight_(s.matrix("weight", out, in, init, split.weight())),
        bias_(bias ? s.param("bias", {out}, Init::constant(0.0F), split.bias()) : Parameter()),
        side_(split.side),
        group_(split.part.group) {}

  Tensor operator()(const Tensor& x, Activation activation = Activation::none) const {
    if (side_ == LinearSplit::Side::none) {
      return linear(x, weight_, bias_, activation);  // [..., out]
    }
    if (side_ == LinearSplit::Side::outputs) {
      return linear(enter(x, *group_), weight_, bias_, activation);  // [..., part of out]
    }
    const Tensor y = sum_over(linear(x, weight_, Tensor()), *group_);          // [..., out]
    const Tensor sum = bias_.tensor().defined() ? add(y, bias_) : y;           // [..., out]
    return activation == Activation::none ? sum : pointwise(activation, sum);  // [..., out]
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
  LinearSplit::Side side_ = LinearSplit::Side::none;
  const Group* group_ = nullptr;  // between which it is split
};

// Vectors of tokens. Over a mesh the vocabulary is split: each process has the vectors of some
// tokens, and says the logits of those.
class Embedding {
 public:
  Embedding(const Scope& s, int64_t vocabulary, int64_t width, Init init)
      : tokens_(part_of(s, vocabulary)),
        weight_(s.matrix("weight", vocabulary, width, init, {tokens_})) {}

  Tensor operator()(const Tensor& ids, float scale = 1.0F) const {
    return tokens_.whole() ? embedding(ids, weight_, scale) : gathered(ids, scale);  // [..., width]
  }
  int64_t width() const { return weight_.tensor().dim(1); }
  // The same matrix as output projection: logits over the vocabulary.
  Tensor logits(const Tensor& x, const Tensor& bias = Tensor()) const {
    return tokens_.whole() ? linear(x, weight_, bias) : gathered_logits(x, bias);  // [..., V]
  }

 private:
  static Part part_of(const Scope& s, int64_t vocabulary);
  Tensor gathered(const Tensor& ids, float scale) const;
  Tensor gathered_logits(const Tensor& x, const Tensor& bias) const;

  Part tokens_;
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
      : hidden_(s.part("hidden", config.hidden)),
        first_(s / "linear1", config.width, config.hidden, true,
               Init::normal_or_xavier(config.standard_deviation, config.width, config.hidden),
               LinearSplit::outputs(hidden_)),
        second_(
            s / "linear2", config.hidden, config.width, true,
            Init::normal_or_xavier(config.branch_standard_deviation, config.hidden, config.width),
            LinearSplit::inputs(hidden_)),
        options_{config.activation, config.dropout, static_cast<uint64_t>(hidden_.index())} {}

  Tensor operator()(const Tensor& x) const {
    if (hidden_.whole()) {
      return feed_forward(x, {first_.weight(), first_.bias(), second_.weight(), second_.bias()},
                          options_);  // [..., C]
    }
    const Tensor part = feed_forward(enter(x, *hidden_.group),
                                     {first_.weight(), first_.bias(), second_.weight(), Tensor()},
                                     options_);                  // [..., C]
    return add(sum_over(part, *hidden_.group), second_.bias());  // [..., C]
  }

 private:
  Part hidden_;
  Linear first_;
  Linear second_;
  FeedForwardOptions options_;
};

}  // namespace heed
