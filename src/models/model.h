// What training, decoding and pictures know about a model. Concrete models stand behind it.
//
// A sequence-to-sequence model is asked in two ways: all target positions at once (teacher forcing,
// `logits`), or one position at a time with everything already computed kept in a state (`start`,
// `step`). Both give the same numbers. Sources come in rows, padded, with their lengths.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tensor/tensor.h"

namespace heed {

inline constexpr int32_t kIgnore = -100;  // a target that does not count

// B pairs of sequences, padded to S and T.
struct Batch {
  Tensor source;          // i32 [B,S]
  Tensor source_lengths;  // i32 [B]
  Tensor input;           // i32 [B,T]: START and the target: what the decoder is shown
  Tensor target;          // i32 [B,T]: the target and END: what it shall say; kIgnore after it
  Tensor target_lengths;  // i32 [B]: of input and target
  int64_t source_tokens = 0;
  int64_t target_tokens = 0;  // that count
};

// Attention weights of one layer, f32 [B,H,queries,keys].
struct LayerAttention {
  std::string kind;  // "encoder", "decoder" (self-attention) or "cross"
  int64_t layer = 0;
  Tensor weights;
};

// What a model remembers between steps of one batch. Each model has its own.
class DecodeState {
 public:
  virtual ~DecodeState() = default;
};

class Seq2SeqModel {
 public:
  virtual ~Seq2SeqModel() = default;
  Seq2SeqModel() = default;
  Seq2SeqModel(const Seq2SeqModel&) = delete;
  Seq2SeqModel& operator=(const Seq2SeqModel&) = delete;

  // Teacher forcing: logits of every target position, [B,T,V]. With `maps` also the attention
  // weights of all layers, for pictures.
  virtual Tensor logits(const Batch& batch, std::vector<LayerAttention>* maps = nullptr) const = 0;

  // Begins to decode: source i32 [B,S], lengths i32 [B]. Each source gets `beam` rows, next to each
  // other, so the state has R = B * beam rows, all at position 0.
  virtual std::unique_ptr<DecodeState> start(const Tensor& source, const Tensor& lengths,
                                             int64_t beam) const = 0;
  // tokens i32 [R], what each row said last (START at first) -> logits of what comes next, [R,V].
  virtual Tensor step(const Tensor& tokens, DecodeState& state) const = 0;
  // Keeps the given sources, in order; row r of the new state continues row rows[r] of the old,
  // which belongs to the same source. rows.size() == sources.size() * beam.
  virtual void select(DecodeState& state, std::span<const int64_t> sources,
                      std::span<const int64_t> rows) const = 0;

  virtual int64_t target_vocabulary() const = 0;
  // Longest sequence it can be shown, or 0: any.
  virtual int64_t longest() const { return 0; }
};

}  // namespace heed
