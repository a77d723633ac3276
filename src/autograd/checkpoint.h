// Recomputation (Chen et al. 2016): the block's activations are not kept but computed again on the
// way back, which trades a second forward pass for their memory.
//
// A CheckpointScope asks the layers of models to do this; forward passes do not mention it. A scope
// belongs to one thread.
#pragma once

#include <utility>
#include <vector>

#include "autograd/tape.h"

namespace heed {

extern const OpName kCheckpoint;

// While one lives on a thread, layers that can compute themselves again keep only what they are
// given. Scopes nest; the innermost counts.
class CheckpointScope {
 public:
  explicit CheckpointScope(bool wanted = true);
  ~CheckpointScope();
  CheckpointScope(const CheckpointScope&) = delete;
  CheckpointScope& operator=(const CheckpointScope&) = delete;

  int64_t blocks() const { return blocks_; }  // that were asked for so far

  // For layers: whether the next block is to be recomputed, which only a tape that records asks
  // for.
  static bool asks();

 private:
  CheckpointScope* outer_;
  bool wanted_;
  int64_t blocks_ = 0;
};

namespace checkpoint_detail {

// Copies of the inputs on another tape. What their gradients have collected so far goes along, so
// that the block adds to it in the order and with the rounding of a block that was recorded.
std::vector<Tensor> lend_inputs(const std::vector<Tensor>& inputs, Tape& tape);
void return_gradients(const std::vector<Tensor>& inputs, const std::vector<Tensor>& lent);
// The backward pass of a recomputed block: gradients of the defined outputs, in order.
void run_backward(Tape& tape, const std::vector<Tensor>& outputs, GradSlot* const* gradients);

}  // namespace checkpoint_detail

// outputs = block(inputs), a function that is the same when called again; undefined tensors are
// allowed on both sides. Dropout draws the same numbers both times, and gradients have the bits
// that they have without recomputation.
template <typename Block>
std::vector<Tensor> checkpoint_all(Block block, const std::vector<Tensor>& inputs) {
  Tape* tape = Tape::current();
  const uint64_t draws = tape == nullptr ? 0 : tape->draws();
  std::vector<Tensor> outputs;
  {
    const PauseScope pause(tape);
    std::vector<Tensor> plain;
    plain.reserve(inputs.size());
    for (const Tensor& input : inputs) {
      plain.push_back(input.detached());
    }
    outputs = block(plain);
  }
  // Parameters inside the block want gradients even when the inputs do not, so any tape records.
  if (tape != nullptr && !tape->paused()) {
    std::vector<Tensor*> defined;
    for (Tensor& output : outputs) {
      if (output.defined()) {
        defined.push_back(&output);
      }
    }
    tape->record_outputs(
        kCheckpoint, defined,
        [block = std::move(block), inputs, draws, seed = tape->seed()](GradSlot* const* slots) {
          Tape again(seed);
          again.set_draws(draws);
          const TapeScope scope(again);
          const std::vector<Tensor> lent = checkpoint_detail::lend_inputs(inputs, again);
          checkpoint_detail::run_backward(again, block(lent), slots);
          checkpoint_detail::return_gradients(inputs, lent);
        });
  }
  return outputs;
}

// The same for one tensor: y = block(x).
template <typename Block>
Tensor checkpoint(Block block, const Tensor& x) {
  return checkpoint_all(
             [block = std::move(block)](const std::vector<Tensor>& inputs) {
               return std::vector<Tensor>{block(inputs.front())};
             },
             {x})
      .front();
}

}  // namespace heed
