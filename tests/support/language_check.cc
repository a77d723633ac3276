#include "support/language_check.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "autograd/tape.h"
#include "nn/scopes/attention_scope.h"
#include "ops/loss/cross_entropy.h"
#include "support/op_case.h"
#include "train/optimizer.h"

namespace heed::testing {
namespace {

constexpr int64_t kWhole = kLanguageCheckTokens;

Array row_of(const Array& logits, int64_t row, int64_t width) {
  const auto begin = logits.values.begin() + row * width;
  return {{width}, {begin, begin + width}};
}

// Rows that are shown token by token, each compared with its whole sequence at once.
class SteppedRows {
 public:
  explicit SteppedRows(const LanguageCheck& check)
      : check_(check), vocabulary_(check.model.vocabulary()) {
    for (int32_t r = 0; r < 4; ++r) {
      rows_.push_back(noise_tokens(kWhole, vocabulary_));
      for (int32_t& id : rows_.back()) {
        id = (id * (r + 1) + r) % static_cast<int32_t>(vocabulary_);
      }
      full_.push_back(to_array(check.whole.logits(Tensor::from_ints(rows_.back(), {1, kWhole}))));
    }
  }

  // The beginnings of sequences, into a state that is empty.
  void show(DecodeState& state, const std::vector<int64_t>& which,
            const std::vector<int64_t>& lengths) {
    const int64_t longest = *std::max_element(lengths.begin(), lengths.end());
    std::vector<int32_t> padded(which.size() * static_cast<size_t>(longest),
                                static_cast<int32_t>(vocabulary_ - 1));
    for (size_t r = 0; r < which.size(); ++r) {
      std::copy_n(rows_[static_cast<size_t>(which[r])].begin(), lengths[r],
                  padded.begin() + static_cast<int64_t>(r) * longest);
    }
    compare(
        check_.model.step(Tensor::from_ints(padded, {std::ssize(which), longest}), state, lengths),
        which, lengths);
    of_.insert(of_.end(), which.begin(), which.end());
    lengths_.insert(lengths_.end(), lengths.begin(), lengths.end());
  }

  void say_next(DecodeState& state) {
    std::vector<int32_t> next;
    for (size_t r = 0; r < of_.size(); ++r) {
      next.push_back(rows_[static_cast<size_t>(of_[r])][static_cast<size_t>(lengths_[r]++)]);
    }
    compare(check_.model.step(Tensor::from_ints(next, {std::ssize(next), 1}), state), of_,
            lengths_);
  }

  void keep(DecodeState& state, const std::vector<int64_t>& kept) {
    check_.model.select(state, kept);
    const std::vector<int64_t> old_of = std::exchange(of_, {});
    const std::vector<int64_t> old_lengths = std::exchange(lengths_, {});
    for (const int64_t row : kept) {
      of_.push_back(old_of[static_cast<size_t>(row)]);
      lengths_.push_back(old_lengths[static_cast<size_t>(row)]);
    }
  }

 private:
  void compare(const Tensor& logits, const std::vector<int64_t>& which,
               const std::vector<int64_t>& lengths) const {
    ASSERT_EQ(logits.shape(), (Shape{std::ssize(which), vocabulary_}));
    const Array found = to_array(logits);
    for (size_t r = 0; r < which.size(); ++r) {
      const Array& full = full_[static_cast<size_t>(which[r])];
      EXPECT_LE(error_between(row_of(found, static_cast<int64_t>(r), vocabulary_),
                              row_of(full, lengths[r] - 1, vocabulary_)),
                check_.tolerance)
          << "row " << which[r] << " of " << lengths[r];
    }
  }

  LanguageCheck check_;
  int64_t vocabulary_;
  std::vector<std::vector<int32_t>> rows_;
  std::vector<Array> full_;  // logits of each
  std::vector<int64_t> of_;  // which of rows_ each row of the state is
  std::vector<int64_t> lengths_;
};

}  // namespace

std::vector<int32_t> noise_tokens(int64_t count, int64_t vocabulary) {
  std::vector<int32_t> ids;
  for (int64_t i = 0; i < count; ++i) {
    ids.push_back(static_cast<int32_t>((i * 11 + 5) % vocabulary));
  }
  return ids;
}

void expect_steps_equal_logits(const LanguageCheck& check) {
  const int64_t width = check.model.vocabulary();
  const std::vector<int32_t> ids = noise_tokens(kWhole, width);
  const Array full = to_array(check.whole.logits(Tensor::from_ints(ids, {1, kWhole})));
  const auto state = check.model.start();
  constexpr int64_t kPrompt = 7;
  for (int64_t i = kPrompt; i <= kWhole; ++i) {
    const int64_t first = i == kPrompt ? 0 : i - 1;
    const std::vector<int32_t> shown(ids.begin() + first, ids.begin() + i);
    const Tensor logits = check.model.step(Tensor::from_ints(shown, {1, i - first}), *state);
    EXPECT_LE(error_between(row_of(to_array(logits), 0, width), row_of(full, i - 1, width)),
              check.tolerance)
        << "position " << i - 1;
  }
}

void expect_steps_attend_as_logits(const LanguageCheck& check) {
  const std::vector<int32_t> ids = noise_tokens(kWhole, check.model.vocabulary());
  AttentionScope scope;
  check.whole.logits(Tensor::from_ints(ids, {1, kWhole}));
  const std::vector<LayerAttention> whole = scope.take();
  ASSERT_FALSE(whole.empty());
  const auto state = check.model.start();
  for (int64_t i = 0; i < kWhole; ++i) {
    check.model.step(Tensor::from_ints({ids.data() + i, 1}, {1, 1}), *state);
    const std::vector<LayerAttention> found = scope.take();
    ASSERT_EQ(found.size(), whole.size());
    for (size_t layer = 0; layer < whole.size(); ++layer) {
      SCOPED_TRACE(fmt::format("layer {}, position {}", layer, i));
      const Tensor& step = found[layer].weights;
      const int64_t keys = step.dim(3);
      ASSERT_LE(keys, i + 1);
      ASSERT_EQ(step.shape(), (Shape{1, whole[layer].weights.dim(1), 1, keys}));
      EXPECT_EQ(found[layer].kind, whole[layer].kind);
      EXPECT_EQ(found[layer].layer, whole[layer].layer);
      for (int64_t at = 0; at < step.dim(1) * (i + 1); ++at) {
        const int64_t head = at / (i + 1);
        const int64_t key = at % (i + 1);
        const int64_t kept = key - (i + 1 - keys);  // below 0: forgotten, as nobody looks there
        EXPECT_NEAR(kept < 0 ? 0.0F : step.data<float>()[head * keys + kept],
                    whole[layer].weights.data<float>()[(head * kWhole + i) * kWhole + key],
                    check.tolerance);
      }
    }
  }
}

void expect_rows_equal_logits(const LanguageCheck& check) {
  SteppedRows rows(check);
  const auto state = check.model.start();
  rows.show(*state, {0, 1, 2, 3}, {3, 9, 1, 6});
  rows.say_next(*state);
  rows.say_next(*state);
  rows.keep(*state, {2, 0, 3});  // the longest leaves
  rows.say_next(*state);
  rows.keep(*state, {1, 1, 0});
  rows.say_next(*state);
  rows.keep(*state, {0});
  const auto fresh = check.model.start();  // others come in
  rows.show(*fresh, {1, 3}, {4, 2});
  check.model.join(*state, *fresh);
  for (int i = 0; i < 14; ++i) {
    rows.say_next(*state);
  }
}

void expect_same_bits_alone_and_in_a_batch(const LanguageModel& model) {
  const std::vector<int64_t> lengths{3, 9, 1, 6};
  constexpr int64_t kMore = 13;
  const int64_t width = model.vocabulary();
  const std::vector<int32_t> ids = noise_tokens(4 * kWhole, width);
  const auto at = [&](size_t row) { return ids.begin() + static_cast<int64_t>(row) * kWhole; };
  const auto bits = [&](const Tensor& logits, size_t row) {
    return row_of(to_array(logits), static_cast<int64_t>(row), width).values;
  };
  std::vector<int32_t> padded(4 * 9, 0);
  for (size_t r = 0; r < 4; ++r) {
    std::copy_n(at(r), lengths[r], padded.begin() + static_cast<int64_t>(r) * 9);
  }
  const auto together = model.start();
  std::vector<Tensor> steps{model.step(Tensor::from_ints(padded, {4, 9}), *together, lengths)};
  for (int64_t i = 0; i < kMore; ++i) {
    std::vector<int32_t> next;
    for (size_t r = 0; r < 4; ++r) {
      next.push_back(at(r)[lengths[r] + i]);
    }
    steps.push_back(model.step(Tensor::from_ints(next, {4, 1}), *together));
  }
  for (size_t r = 0; r < 4; ++r) {
    const auto alone = model.start();
    const std::vector<int32_t> prompt(at(r), at(r) + lengths[r]);
    EXPECT_EQ(bits(model.step(Tensor::from_ints(prompt, {1, lengths[r]}), *alone), 0),
              bits(steps[0], r))
        << "row " << r;
    for (int64_t i = 0; i < kMore; ++i) {
      const std::vector<int32_t> next{at(r)[lengths[r] + i]};
      EXPECT_EQ(bits(model.step(Tensor::from_ints(next, {1, 1}), *alone), 0),
                bits(steps[static_cast<size_t>(i + 1)], r))
          << "row " << r << " step " << i;
    }
  }
}

TrainingRun learn_by_heart(const LanguageModel& model, ParameterStore& store, int steps,
                           float rate) {
  const auto optimizer = make_optimizer(store, {});
  Tape tape(5);
  const std::vector<int32_t> ids = noise_tokens(33, model.vocabulary());
  const Tensor input = Tensor::from_ints({ids.data(), 32}, {2, 16});
  const Tensor target = Tensor::from_ints({ids.data() + 1, 32}, {2, 16});
  TrainingRun run;
  for (int i = 0; i < steps; ++i) {
    tape.clear();
    store.clear_gradients();
    {
      const TapeScope scope(tape);
      const Tensor loss = cross_entropy(model.logits(input), target);
      run.losses.push_back(loss.item());
      tape.backward(loss);
    }
    optimizer->step(rate);
  }
  run.weights = store.values().to_vector();
  return run;
}

}  // namespace heed::testing
