// Recomputation (Chen et al. 2016): the block's activations are not kept but computed again on the
// way back, which trades a second forward pass for their memory.
#pragma once

#include <utility>

#include "autograd/tape.h"

namespace heed {

extern const OpName kCheckpoint;

// y = block(x), a function of one tensor that is the same when called again. Dropout draws the same
// numbers both times.
template <typename Block>
Tensor checkpoint(Block block, const Tensor& x) {
  Tape* tape = Tape::current();
  const uint64_t draws = tape == nullptr ? 0 : tape->draws();
  Tensor y;
  {
    const PauseScope pause(tape);
    y = block(x.detached());
  }
  // Parameters inside the block want gradients even when x does not, so any tape records.
  if (tape != nullptr && !tape->paused()) {
    tape->record(kCheckpoint, y,
                 [block = std::move(block), x, draws, seed = tape->seed()](const Tensor& dy) {
                   Tape again(seed);
                   again.set_draws(draws);
                   const TapeScope scope(again);
                   Tensor input = x.detached();
                   again.watch(input);
                   again.backward(block(input), dy);
                   if (needs_grad(x) && input.slot()->written) {
                     add_grad(x, input.slot()->grad);
                   }
                 });
  }
  return y;
}

}  // namespace heed
