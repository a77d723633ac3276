// The Universal Transformer's stack (Dehghani et al. 2018): one layer, applied again and again,
// told before each step where a position stands and which step it is. The number of steps is fixed,
// or each position halts by itself (nn/universal/halting.h); one that has halted keeps its result,
// which others go on attending to.
//
// Owns its layer; forward passes are const, and each decoding has a state of its own.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "nn/layer_stack.h"
#include "nn/positions.h"
#include "nn/universal/halting.h"

namespace heed {

struct UniversalConfig {
  LayerConfig layer;
  PositionsConfig positions;
  int64_t steps = 6;                          // at most
  std::optional<HaltingConfig> halting = {};  // none: every position takes all steps
  bool final_norm = true;
  std::string label = {};  // of its attention: "encoder", "decoder"
};

class UniversalStack {
 public:
  // The layer is s / "layer", the norm s / "norm", halting s / "halting".
  UniversalStack(const Scope& s, const UniversalConfig& config);

  // x [B,T,C] -> [B,T,C]. Positions past the lengths i32 [B], if defined, do not ponder.
  Tensor operator()(const Tensor& x, const MixerContext& self, const Tensor& lengths,
                    const StackMemory& memory = {}) const;

  // Decoding position by position.
  struct State {
    std::vector<std::unique_ptr<MixerCache>> caches;  // of each step, R rows
    Tensor memory;                                    // [B,S,2,H,D]
    Tensor lengths;                                   // i32 [B]
    int64_t beam = 1;
    int64_t past = 0;  // positions so far

    // As DecodeState's of a Seq2SeqModel: keeps these sources, and row r continues rows[r].
    void select(std::span<const int64_t> sources, std::span<const int64_t> rows);
  };
  State start(const StackMemory& memory) const;
  // x [R,1,C], what stands at the next position -> [R,1,C]
  Tensor step(const Tensor& x, State& state) const;

 private:
  // What a pass looks at: a context for each step of the layer.
  struct Pass {
    Tensor lengths = {};
    int64_t past = 0;
    LayerContext layer = {};
    std::span<const std::unique_ptr<MixerCache>> caches = {};  // of each step, or none
  };
  Tensor run(const Tensor& x, const Pass& pass) const;                      // [B,T,C]
  Tensor placed(const Tensor& x, int64_t step, int64_t past) const;         // [B,T,C]
  Tensor applied(const Tensor& placed, const LayerContext& context) const;  // [B,T,C]
  Tensor finish(const Tensor& x) const { return norm_ ? (*norm_)(x) : x; }  // [B,T,C]

  UniversalConfig config_;
  Positions positions_;
  Tensor times_;  // f32 [steps, C]: the signals of the steps
  TransformerLayer layer_;
  std::optional<LayerNorm> norm_;
  std::optional<Linear> halting_;
  Parameter halting_bias_;
};

}  // namespace heed
