#include "support/seq2seq_check.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "nn/scopes/attention_scope.h"
#include "ops/loss/cross_entropy.h"
#include "support/op_case.h"
#include "train/optimizer.h"

namespace heed::testing {
namespace {

using Tokens = std::vector<int32_t>;

constexpr int32_t kStart = 1;
constexpr int32_t kFirst = 2;

// Rows of different lengths, padded with `filler` to the longest or further.
struct Padded {
  Tensor ids;      // i32 [B,T]
  Tensor lengths;  // i32 [B]
};
Padded pad_rows(const std::vector<Tokens>& rows, int32_t filler = 0, int64_t more = 0) {
  size_t longest = 0;
  Tokens lengths;
  for (const Tokens& row : rows) {
    longest = std::max(longest, row.size());
    lengths.push_back(static_cast<int32_t>(row.size()));
  }
  longest += static_cast<size_t>(more);
  Tokens ids;
  for (const Tokens& row : rows) {
    ids.insert(ids.end(), row.begin(), row.end());
    ids.resize(ids.size() + longest - row.size(), filler);
  }
  const auto count = static_cast<int64_t>(rows.size());
  return {Tensor::from_ints(ids, {count, static_cast<int64_t>(longest)}),
          Tensor::from_ints(lengths, {count})};
}

Batch batch_of(const Padded& source, const Padded& input) {
  Batch batch;
  batch.source = source.ids;
  batch.source_lengths = source.lengths;
  batch.input = input.ids;
  batch.target_lengths = input.lengths;
  return batch;
}

Tokens random_tokens(int64_t vocabulary, size_t length, uint64_t stream) {
  const RandomStream random{11, stream};
  Tokens tokens;
  for (size_t i = 0; i < length; ++i) {
    tokens.push_back(
        kFirst + static_cast<int32_t>(random.bits(i) % static_cast<uint64_t>(vocabulary - kFirst)));
  }
  return tokens;
}

// One row of the last but one axis of logits [B,T,V].
Array row_of(const Array& logits, int64_t batch, int64_t position) {
  const int64_t width = logits.shape[2];
  const auto first = logits.values.begin() + (batch * logits.shape[1] + position) * width;
  return {{width}, {first, first + width}};
}

std::vector<Tokens> sample_sources(int64_t vocabulary) {
  return {random_tokens(vocabulary, 5, 1), random_tokens(vocabulary, 2, 2),
          random_tokens(vocabulary, 4, 3)};
}

// Hypotheses as a beam search keeps them, beside the state of the model.
struct Rows {
  std::vector<Tokens> sources;
  std::vector<Tokens> said;  // sources.size() * beam
  size_t beam;

  void select(std::span<const int64_t> kept, std::span<const int64_t> rows) {
    const std::vector<Tokens> old_sources = std::exchange(sources, {});
    const std::vector<Tokens> old_said = std::exchange(said, {});
    for (const int64_t source : kept) {
      sources.push_back(old_sources[static_cast<size_t>(source)]);
    }
    for (const int64_t row : rows) {
      said.push_back(old_said[static_cast<size_t>(row)]);
    }
  }
  Tensor last() const {
    Tokens tokens;
    for (const Tokens& row : said) {
      tokens.push_back(row.back());
    }
    return Tensor::from_ints(tokens, {static_cast<int64_t>(tokens.size())});
  }
  // What teacher forcing says of the last position of each row.
  Array expected(const Seq2SeqModel& model) const {
    std::vector<Tokens> repeated;
    for (size_t row = 0; row < said.size(); ++row) {
      repeated.push_back(sources[row / beam]);
    }
    const Array all = to_array(model.logits(batch_of(pad_rows(repeated), pad_rows(said))));
    Array result{{static_cast<int64_t>(said.size()), all.shape[2]}, {}};
    for (size_t row = 0; row < said.size(); ++row) {
      const Array one = row_of(all, static_cast<int64_t>(row), all.shape[1] - 1);
      result.values.insert(result.values.end(), one.values.begin(), one.values.end());
    }
    return result;
  }
};

}  // namespace

void expect_steps_equal_logits(const Seq2SeqModel& model, const Seq2SeqVocabulary& vocabulary,
                               double tolerance) {
  struct Selection {
    std::vector<int64_t> sources;
    std::vector<int64_t> rows;
  };
  const std::vector<Selection> selections{
      {{0, 1, 2}, {0, 1, 2, 3, 4, 5}},  // as they are
      {{0, 1, 2}, {1, 0, 2, 2, 4, 5}},  // exchanged; copied
      {{2, 1, 0}, {4, 5, 2, 3, 1, 0}},  // sources in another order
      {{0, 2}, {0, 1, 5, 4}},           // one is done
      {{1}, {3, 3}},
      {{0}, {0, 1}},
  };
  constexpr size_t kBeam = 2;
  Rows rows{sample_sources(vocabulary.source), {}, kBeam};
  rows.said.assign(rows.sources.size() * kBeam, {kStart});
  const Padded source = pad_rows(rows.sources);
  const auto state = model.start(source.ids, source.lengths, kBeam);
  for (size_t step = 0; step < selections.size(); ++step) {
    const Array expected = rows.expected(model);
    const Array actual = to_array(model.step(rows.last(), *state));
    EXPECT_LE(error_between(actual, expected), tolerance) << "step " << step;
    const Selection& selection = selections[step];
    model.select(*state, selection.sources, selection.rows);
    rows.select(selection.sources, selection.rows);
    const Tokens next = random_tokens(vocabulary.target, rows.said.size(), 100 + step);
    for (size_t row = 0; row < rows.said.size(); ++row) {
      rows.said[row].push_back(next[row]);
    }
  }
}

void expect_padding_changes_nothing(const Seq2SeqModel& model, const Seq2SeqVocabulary& vocabulary,
                                    double tolerance) {
  const std::vector<Tokens> sources = sample_sources(vocabulary.source);
  std::vector<Tokens> inputs;
  for (const size_t length : {3U, 6U, 4U}) {
    inputs.push_back(random_tokens(vocabulary.target, length, 10 + length));
    inputs.back().front() = kStart;
  }
  for (const int32_t filler : {0, 7}) {
    for (const int64_t more : {0, 3}) {
      const Array together = to_array(
          model.logits(batch_of(pad_rows(sources, filler, more), pad_rows(inputs, filler, more))));
      for (size_t row = 0; row < sources.size(); ++row) {
        const Array alone =
            to_array(model.logits(batch_of(pad_rows({sources[row]}), pad_rows({inputs[row]}))));
        for (int64_t i = 0; i < alone.shape[1]; ++i) {
          EXPECT_LE(
              error_between(row_of(together, static_cast<int64_t>(row), i), row_of(alone, 0, i)),
              tolerance)
              << "row " << row << ", position " << i << ", filler " << filler << ", " << more
              << " more columns";
        }
      }
    }
  }
}

void expect_attention_is_sound(const Seq2SeqModel& model, const Seq2SeqVocabulary& vocabulary,
                               size_t maps) {
  const std::vector<Tokens> sources = sample_sources(vocabulary.source);
  const std::vector<Tokens> inputs(sources.size(), {kStart, 5, 3, 9});
  const AttentionScope scope;
  model.logits(batch_of(pad_rows(sources, 7, 2), pad_rows(inputs)));
  EXPECT_EQ(scope.layers().size(), maps);
  for (const LayerAttention& map : scope.layers()) {
    SCOPED_TRACE(map.kind + " " + std::to_string(map.layer));
    ASSERT_EQ(map.weights.rank(), 4);
    ASSERT_EQ(map.weights.dtype(), DType::f32);
    ASSERT_EQ(map.weights.dim(0), 3);
    ASSERT_EQ(map.weights.dim(2), map.kind == "encoder" ? 7 : 4);
    ASSERT_EQ(map.weights.dim(3), map.kind == "decoder" ? 4 : 7);
    const std::vector<float> weights = map.weights.to_vector();
    const int64_t keys = map.weights.dim(3);
    for (int64_t row = 0; row < map.weights.size() / keys; ++row) {
      const auto source = static_cast<size_t>(row / (map.weights.dim(1) * map.weights.dim(2)));
      const int64_t query = row % map.weights.dim(2);
      const auto seen =
          map.kind == "decoder" ? query + 1 : static_cast<int64_t>(sources[source].size());
      const auto first = weights.begin() + row * keys;
      EXPECT_NEAR(std::accumulate(first, first + seen, 0.0), 1.0, 1e-5) << "row " << row;
      EXPECT_TRUE(std::all_of(first, first + keys, [](float w) { return w >= 0.0F; }));
      EXPECT_TRUE(std::all_of(first + seen, first + keys, [](float w) { return w == 0.0F; }))
          << "row " << row;
    }
  }
}

float loss_after_copying(const Seq2SeqModel& model, ParameterStore& store,
                         const CopyTraining& training) {
  const auto optimizer = make_optimizer(store, {});
  Tape tape(1);
  float last = 0;
  for (int step = 0; step < training.steps; ++step) {
    std::vector<Tokens> sources;
    std::vector<Tokens> targets;
    for (uint64_t row = 0; row < 16; ++row) {
      const uint64_t stream = static_cast<uint64_t>(step) * 16 + row;
      sources.push_back(random_tokens(20, 3 + stream % 4, stream));
      targets.push_back(sources.back());
      if (training.reverse) {
        std::reverse(targets.back().begin(), targets.back().end());
      }
    }
    std::vector<Tokens> inputs = targets;
    for (Tokens& input : inputs) {
      input.insert(input.begin(), kStart);
      input.pop_back();
    }
    const Batch batch = batch_of(pad_rows(sources), pad_rows(inputs));
    tape.clear();
    store.clear_gradients();
    {
      const TapeScope scope(tape);
      const Tensor loss = cross_entropy(model.logits(batch), pad_rows(targets, kIgnore).ids);
      last = loss.item();
      tape.backward(loss);
    }
    optimizer->step(training.learning_rate,
                    static_cast<float>(1.0 / std::max(1.0, gradient_norm(store))));
  }
  return last;
}

}  // namespace heed::testing
