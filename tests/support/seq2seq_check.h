// What every sequence-to-sequence model promises, checked for any of them: the same numbers step by
// step as with teacher forcing, no trace of padding, attention that is a distribution over what may
// be seen; and that it learns.
#pragma once

#include "models/model.h"
#include "nn/parameters.h"

namespace heed::testing {

// Source and target tokens are drawn from 2 on; 1 is START.
struct Seq2SeqVocabulary {
  int64_t source = 20;
  int64_t target = 20;
};

// Several sources with two hypotheses each, which are reordered, copied and dropped on the way.
void expect_steps_equal_logits(const Seq2SeqModel& model, const Seq2SeqVocabulary& vocabulary,
                               double tolerance = 1e-4);

// A row's logits do not depend on padding, on the other rows, or on target tokens that come later.
void expect_padding_changes_nothing(const Seq2SeqModel& model, const Seq2SeqVocabulary& vocabulary,
                                    double tolerance = 1e-4);

// Rows of all attention maps sum to 1, and no weight is on padding or on the future.
void expect_attention_is_sound(const Seq2SeqModel& model, const Seq2SeqVocabulary& vocabulary,
                               size_t maps);

// Trains to copy random sequences of 3 to 6 tokens, or to reverse them; the loss of the last step.
// Guessing among the 18 tokens of a vocabulary of 20 costs log(18) = 2.9.
struct CopyTraining {
  int steps = 300;
  float learning_rate = 3e-3F;
  bool reverse = false;
};
float loss_after_copying(const Seq2SeqModel& model, ParameterStore& store,
                         const CopyTraining& training);

}  // namespace heed::testing
