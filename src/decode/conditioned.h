// An encoder-decoder with one source, seen as a language model of what it says about it, so that
// everything that draws from language models draws from it too.
#pragma once

#include <vector>

#include "models/model.h"

namespace heed {

// Every row begins with START and has the same source. The model must outlive it, and it the states
// it gives. May be used by several threads at once.
class ConditionedModel : public LanguageModel {
 public:
  // The source as the model wants it, END included.
  ConditionedModel(const Seq2SeqModel& model, std::vector<int32_t> source);

  Tensor logits(const Tensor& tokens, int64_t first = 0) const override;
  std::unique_ptr<DecodeState> start() const override;
  // Rows of different lengths are an Error.
  Tensor step(const Tensor& tokens, DecodeState& state,
              std::span<const int64_t> lengths = {}) const override;
  void select(DecodeState& state, std::span<const int64_t> rows) const override;
  // An Error: a decoder's rows stand all at the same position.
  void join(DecodeState& state, const DecodeState& more) const override;
  int64_t vocabulary() const override { return model_.target_vocabulary(); }
  // Any number: what a decoder said cannot be dropped, since the source goes along with it.
  int64_t context() const override { return 0; }

 private:
  struct State;
  // The source `rows` times, and its lengths.
  Tensor sources(int64_t rows) const;
  Tensor source_lengths(int64_t rows) const;

  const Seq2SeqModel& model_;
  std::vector<int32_t> source_;
};

}  // namespace heed
