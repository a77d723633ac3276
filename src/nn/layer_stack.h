// Transformer layers one after the other, with the norm that may follow the last: an encoder, or a
// decoder that attends to a memory.
//
// Owns its layers; forward passes are const, and each decoding has a state of its own.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "nn/transformer.h"

namespace heed {

struct StackConfig {
  LayerConfig layer;
  int64_t layers = 6;
  bool final_norm = true;
  std::string label = {};  // of its attention: "encoder", "decoder"
};

// What the layers of a stack attend to besides their input.
struct StackMemory {
  Tensor vectors = {};  // [B,S,C]; undefined: there is none
  Tensor lengths = {};  // i32 [B] or undefined
  int64_t beam = 1;     // rows of x for each row of it, side by side
};

class LayerStack {
 public:
  // Layers are s / i, the norm s / "norm".
  LayerStack(const Scope& s, const StackConfig& config);

  // x [B,T,C] -> [B,T,C]
  Tensor operator()(const Tensor& x, const MixerContext& self,
                    const StackMemory& memory = {}) const;

  // Decoding step by step.
  struct State {
    std::vector<std::unique_ptr<MixerCache>> caches;  // of each layer, R rows
    std::vector<Tensor> memory;                       // of each layer, [B,S,2,H,D]
    Tensor lengths;                                   // i32 [B]
    int64_t beam = 1;

    // As DecodeState's of a Seq2SeqModel: keeps these sources, and row r continues rows[r].
    void select(std::span<const int64_t> sources, std::span<const int64_t> rows);
  };
  State start(const StackMemory& memory) const;
  // x [R,1,C], what stands at the next position -> [R,1,C]
  Tensor step(const Tensor& x, State& state) const;

 private:
  Tensor finish(Residual& stream) const;

  float dropout_;
  bool residual_;
  std::vector<TransformerLayer> layers_;
  std::optional<LayerNorm> norm_;
};

}  // namespace heed
