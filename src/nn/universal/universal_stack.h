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

  // What a pass knows of x besides its vectors.
  struct Context {
    MixerContext self = {};
    Tensor lengths = {};      // i32 [B], or undefined: positions past them do not ponder
    StackMemory memory = {};  // of a stack that attends to one
    Places places = {};       // where x stands
  };
  // x [B,T,C] -> [B,T,C]
  Tensor operator()(const Tensor& x, const Context& context) const;

  // Decoding, a few positions at a time.
  struct State {
    std::vector<std::unique_ptr<MixerCache>> caches;  // of each step, R rows; none before the first
    Tensor memory;                                    // [B,S,2,H,D], or undefined
    Tensor lengths;                                   // i32 [B]
    int64_t beam = 1;
    std::vector<int64_t> seen;  // positions of each row so far

    // Row r continues rows[r].
    void select(std::span<const int64_t> rows);
    // As DecodeState's of a Seq2SeqModel: also keeps these sources only.
    void select(std::span<const int64_t> sources, std::span<const int64_t> rows);
    // Takes back the last positions of each row, which came with the last step.
    void roll_back(std::span<const int64_t> dropped);
  };
  State start(const StackMemory& memory = {}) const;
  struct Next {
    std::span<const int64_t> lengths = {};  // of the T, how many belong to each row; empty: all
    bool stepwise = false;                  // as in MixerContext
  };
  // x [R,T,C], what stands at the next positions -> [R,T,C]
  Tensor step(const Tensor& x, State& state, const Next& next) const;
  // Rows of another state come behind those of this one; neither has a memory.
  void join(State& state, const State& more) const;

 private:
  // What a pass looks at: a context for each step of the layer.
  struct Pass {
    Tensor lengths = {};
    Places places = {};
    LayerContext layer = {};
    std::span<const std::unique_ptr<MixerCache>> caches = {};  // of each step, or none
  };
  void add_caches(State& state, int64_t rows) const;                         // unless it has them
  Tensor run(const Tensor& x, const Pass& pass) const;                       // [B,T,C]
  Tensor placed(const Tensor& x, int64_t step, const Places& places) const;  // [B,T,C]
  Tensor applied(const Tensor& placed, const LayerContext& context) const;   // [B,T,C]
  Tensor finish(const Tensor& x) const { return norm_ ? (*norm_)(x) : x; }   // [B,T,C]

  UniversalConfig config_;
  Positions positions_;
  Tensor times_;  // f32 [steps, C]: the signals of the steps
  TransformerLayer layer_;
  std::optional<LayerNorm> norm_;
  std::optional<Linear> halting_;
  Parameter halting_bias_;
};

}  // namespace heed
