// What decoders without an encoder share: a stack of causal layers with a norm at its end, and
// decoding with caches. A model says how tokens become vectors and vectors logits.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "models/loss_model.h"
#include "models/model.h"
#include "nn/positions.h"
#include "nn/transformer.h"

namespace heed {

// Caches of all layers, for decoding.
struct CausalState : DecodeState {
  std::vector<std::unique_ptr<MixerCache>> caches;  // none yet in a state that is empty
  std::vector<int64_t> seen;  // tokens shown to each row, also those that caches have forgotten
  int64_t memory = -1;        // another one than the StackConfig's; -1: that

  int64_t length(int64_t row) const { return seen.empty() ? 0 : seen[static_cast<size_t>(row)]; }
};

class CausalTransformer : public LanguageModel, public VerifyingModel, public LossModel {
 public:
  Tensor logits(const Tensor& tokens, int64_t first = 0) const override;
  // What the output projection sees: tokens i32 [B,T] -> [B,T,C]
  Tensor hidden(const Tensor& tokens) const { return hidden(tokens, {}, {}); }
  Tensor loss(const Tensor& tokens, const Tensor& targets) const override {
    return output_loss(hidden(tokens), targets);
  }

  std::unique_ptr<DecodeState> start() const override { return std::make_unique<CausalState>(); }
  Tensor step(const Tensor& tokens, DecodeState& state,
              std::span<const int64_t> lengths = {}) const override;
  void select(DecodeState& state, std::span<const int64_t> rows) const override;
  void join(DecodeState& state, const DecodeState& more) const override;
  Verified verify(const Tensor& tokens, std::span<const int64_t> lengths,
                  DecodeState& state) const override;
  void roll_back(DecodeState& state, std::span<const int64_t> dropped) const override;

 protected:
  struct StackConfig {
    std::string name;                 // of the model, in errors
    std::vector<LayerConfig> layers;  // at least one
    int64_t memory = 0;  // decoding looks at so many positions, its own included; 0: at all
  };
  // Adds the layers. Constructors call it behind their embeddings: the order of parameters is that
  // of the moments in checkpoints.
  void build(const Scope& s, StackConfig config);

  virtual Tensor embed(const Tensor& tokens, const Places& places) const = 0;  // [B,T] -> [B,T,C]
  virtual Tensor project(const Tensor& x) const = 0;  // [..., C] -> [..., V]
  // What a layer is given: x, [B,T,C], unless the model adds something.
  virtual Tensor layer_input(size_t /*layer*/, const Tensor& x, const Places& /*places*/) const {
    return x;
  }
  // The mean cross-entropy of targets i32 [...], from what the output projection sees.
  virtual Tensor output_loss(const Tensor& x, const Tensor& targets) const;
  // What attention may tell apart besides distances: i32 [B,T], or undefined.
  virtual Tensor labels(const Tensor& /*tokens*/) const { return {}; }

  // hidden(tokens), and what leaves each layer before the last goes through `behind` on its way.
  using BehindLayer = std::function<void(size_t layer, Residual& stream)>;
  Tensor hidden(const Tensor& tokens, const BehindLayer& behind) const {
    return hidden(tokens, {}, {.behind = &behind});
  }
  float branch_dropout() const { return dropout_; }  // before branches are added
  // In training: tokens i32 [B,T] behind what each layer's memory holds, which moves on -> [B,T,C].
  Tensor hidden(const Tensor& tokens, std::span<MixerCache* const> memories) const {
    return hidden(tokens, {}, {.memories = memories});
  }
  // In decoding: more tokens of each row, all of which count -> [R,T,C].
  Tensor extended(const Tensor& tokens, DecodeState& state) const {
    return next(tokens, {}, {.state = &static_cast<CausalState&>(state)});
  }
  size_t layers() const { return layers_.size(); }

 private:
  // What decoding adds to a pass: the state that goes on, and whether its tokens are verified; and
  // what training does.
  struct Continued {
    CausalState* state = nullptr;
    bool stepwise = false;
    const BehindLayer* behind = nullptr;
    std::span<MixerCache* const> memories = {};  // or, in training, each layer's memory
  };
  Tensor hidden(const Tensor& tokens, const Places& places, const Continued& continued) const;
  // The same after what the state has seen, which moves on: [R,T,C].
  Tensor next(const Tensor& tokens, std::span<const int64_t> lengths,
              const Continued& continued) const;
  void add_caches(CausalState& state, int64_t rows) const;  // unless it has them
  int64_t memory_of(const CausalState& state) const {
    return state.memory < 0 ? memory_ : state.memory;
  }

  std::string name_;
  int64_t memory_ = 0;
  float dropout_ = 0.0F;
  std::optional<LayerNorm> norm_;
  std::vector<TransformerLayer> layers_;
};

}  // namespace heed
