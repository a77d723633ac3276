// What every language model promises, checked for any of them: the same numbers with a state as
// with all tokens at once, whatever the lengths of the rows, the same attention, and the same bits
// alone and in a batch; and that it learns.
#pragma once

#include <vector>

#include "models/model.h"
#include "nn/parameters.h"

namespace heed::testing {

// Tokens that look like noise: each below the vocabulary.
std::vector<int32_t> noise_tokens(int64_t count, int64_t vocabulary);

// `whole` gives the logits of whole sequences: the model itself, or one of the same weights. There
// is room for kLanguageCheckTokens tokens.
inline constexpr int64_t kLanguageCheckTokens = 24;
struct LanguageCheck {
  const LanguageModel& model;
  const LanguageModel& whole;
  double tolerance = 1e-4;
};
// A prompt at once, then token by token.
void expect_steps_equal_logits(const LanguageCheck& check);
// Rows that begin with different lengths, leave, come twice, and are joined by others.
void expect_rows_equal_logits(const LanguageCheck& check);
// An AttentionScope sees the same weights step by step as of all tokens at once.
void expect_steps_attend_as_logits(const LanguageCheck& check);
// For a store of batch-invariant inference: a row's numbers do not depend on the other rows.
void expect_same_bits_alone_and_in_a_batch(const LanguageModel& model);

// Learns two sequences of 16 tokens by heart.
struct TrainingRun {
  std::vector<float> losses;
  std::vector<float> weights;
};
TrainingRun learn_by_heart(const LanguageModel& model, ParameterStore& store, int steps,
                           float rate = 3e-3F);

}  // namespace heed::testing
