#include "decode/conditioned.h"

#include <utility>

#include "base/error.h"

namespace heed {

// Which rows there are, the first step tells; only then can the model begin.
struct ConditionedModel::State : DecodeState {
  std::unique_ptr<DecodeState> inner;
};

ConditionedModel::ConditionedModel(const Seq2SeqModel& model, std::vector<int32_t> source)
    : model_(model), source_(std::move(source)) {
  check(!source_.empty(), "[conditioned] the source has no tokens, expected at least END");
}

Tensor ConditionedModel::sources(int64_t rows) const {
  std::vector<int32_t> all;
  for (int64_t r = 0; r < rows; ++r) {
    all.insert(all.end(), source_.begin(), source_.end());
  }
  return Tensor::from_ints(all, {rows, std::ssize(source_)});
}

Tensor ConditionedModel::source_lengths(int64_t rows) const {
  const std::vector<int32_t> lengths(static_cast<size_t>(rows),
                                     static_cast<int32_t>(source_.size()));
  return Tensor::from_ints(lengths, {rows});
}

Tensor ConditionedModel::logits(const Tensor& tokens, int64_t first) const {
  check(first == 0, "[conditioned] the first token stands at {}, expected 0", first);
  const int64_t rows = tokens.dim(0);
  const std::vector<int32_t> lengths(static_cast<size_t>(rows),
                                     static_cast<int32_t>(tokens.dim(1)));
  Batch batch;
  batch.source = sources(rows);
  batch.source_lengths = source_lengths(rows);
  batch.input = tokens;
  batch.target_lengths = Tensor::from_ints(lengths, {rows});
  return model_.logits(batch);  // [B,T,V]
}

std::unique_ptr<DecodeState> ConditionedModel::start() const { return std::make_unique<State>(); }

Tensor ConditionedModel::step(const Tensor& tokens, DecodeState& base,
                              std::span<const int64_t> lengths) const {
  check(tokens.rank() == 2 && tokens.size() > 0, "[conditioned] tokens is {}, expected [R,T]",
        tokens.shape());
  check(lengths.empty(), "[conditioned] {} rows of different lengths, expected all the same",
        lengths.size());
  auto& state = static_cast<State&>(base);
  const int64_t rows = tokens.dim(0);
  if (state.inner == nullptr) {
    state.inner = model_.start(sources(rows), source_lengths(rows), 1);
  }
  const std::span<const int32_t> ids = tokens.span<int32_t>();
  Tensor logits;
  for (int64_t t = 0; t < tokens.dim(1); ++t) {
    std::vector<int32_t> column;
    for (int64_t r = 0; r < rows; ++r) {
      column.push_back(ids[static_cast<size_t>(r * tokens.dim(1) + t)]);
    }
    logits = model_.step(Tensor::from_ints(column, {rows}), *state.inner);  // [R,V]
  }
  return logits;
}

void ConditionedModel::select(DecodeState& base, std::span<const int64_t> rows) const {
  model_.select(*static_cast<State&>(base).inner, rows, rows);  // a source has one row
}

void ConditionedModel::join(DecodeState& /*state*/, const DecodeState& /*more*/) const {
  fail("[conditioned] rows cannot be joined: a decoder's stand all at the same position");
}

}  // namespace heed
