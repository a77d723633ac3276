// What every model that verifies tokens promises: each token has the bits that a step gives it, in
// whatever company, and what is taken back leaves no trace.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "models/model.h"

namespace heed::testing {

// Of a store of batch-invariant inference.
struct VerifyCheck {
  const VerifyingModel& model;
  int64_t vocabulary;
  // A state with the given rows, of 0 to 2, which have seen what precedes.
  std::function<std::unique_ptr<DecodeState>(const std::vector<int64_t>& rows)> start;
  // tokens i32 [R] -> logits [R,V]
  std::function<Tensor(const Tensor& tokens, DecodeState& state)> step;
};
void expect_verified_tokens_have_the_same_bits_as_steps(const VerifyCheck& check);
// The same of a language model behind prompts of 10, 5 and 7 tokens; 24 fill the context.
void expect_verified_tokens_have_the_same_bits_as_steps(const LanguageModel& model);

}  // namespace heed::testing
