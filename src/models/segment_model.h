// A language model that goes through a text segment by segment and remembers the ones before.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "models/model.h"

namespace heed {

// Also a LanguageModel. Training shows it segments of which each continues the one before, with
// what it remembers as a value of its own, so that whoever trains can keep it, save it and begin
// anew.
class SegmentModel {
 public:
  virtual ~SegmentModel() = default;

  // What it remembers, for each layer: [B,M,C] without gradient. Empty: nothing yet.
  using Memory = std::vector<Tensor>;
  // Positions that it remembers in training, at most.
  virtual int64_t memory() const = 0;
  // tokens i32 [B,T] behind those that the memory is of -> logits of what follows each, [B,T,V].
  // The memory moves on.
  virtual Tensor segment(const Tensor& tokens, Memory& memory) const = 0;
  // The same, as the mean of -log p of what follows, targets i32 [B,T]: words that do not follow
  // are computed only as far as that needs it.
  virtual Tensor segment_loss(const Tensor& tokens, const Tensor& targets,
                              Memory& memory) const = 0;

  // Decoding: how many positions before it each one sees, which may be more or fewer than in
  // training.
  virtual int64_t decoding_memory() const = 0;
  // As LanguageModel::start(), with another memory than that.
  virtual std::unique_ptr<DecodeState> start_with(int64_t memory) const = 0;
  // Shows every row more tokens, i32 [R,T], and gives the logits of what follows each, [R,T,V]:
  // step() for whoever wants to know them all.
  virtual Tensor extend(const Tensor& tokens, DecodeState& state) const = 0;
};

}  // namespace heed
