// Adaptive computation time (Graves 2016), position by position: how many steps each is thought
// about. A position's probabilities of halting add up step by step; where they reach the threshold
// it halts, and what is left of 1 is the weight of that step. So the weights of a position's steps
// add up to 1, and its result is the mean of its states by these weights.
//
// The number of steps has no gradient, the weights have one, and what is left of 1 at the last step
// is a cost that lets positions halt sooner.
#pragma once

#include <cstdint>
#include <vector>

#include "tensor/tensor.h"

namespace heed {

struct HaltingConfig {
  float threshold = 0.99F;  // of the sum of a position's probabilities
  float cost = 0.01F;       // of a step of a position, in the loss
};

class Halting {
 public:
  // Positions [B,T] of which those past a row's length, i32 [B] or undefined, never run.
  Halting(const HaltingConfig& config, int64_t batch, int64_t positions, const Tensor& lengths);

  // The next step of the positions that still run: how much it counts, f32 [B,T,1], 0 for the
  // others, given the probability of halting, f32 [B,T,1]. All that run halt at the last step.
  Tensor weigh(const Tensor& probability, bool is_last);
  // 1 for positions that still run, and 0 for those that have halted, f32 [B,T,1]; and the reverse.
  const Tensor& running() const { return running_; }
  Tensor halted() const;
  bool all_halted() const;
  // Steps of each position so far, f32 [B,T].
  Tensor steps() const { return steps_; }
  // The mean over positions of their steps and of what was left of 1, times the cost: one element.
  Tensor cost() const;

 private:
  HaltingConfig config_;
  int64_t counted_ = 0;       // positions that ran at all
  std::vector<float> total_;  // of each position's probabilities
  Tensor spent_;              // the same on the tape, f32 [B,T,1]
  Tensor running_;            // f32 [B,T,1]
  Tensor steps_;              // f32 [B,T]
  Tensor left_;               // the sum of what was left of 1 where positions halted: one element
};

}  // namespace heed
