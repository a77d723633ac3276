// The recurrent text classifier: padding changes nothing, and a class is told from both ends.
#include "models/language/rnn_encoder.h"

#include <gtest/gtest.h>

#include "ops/loss/cross_entropy.h"
#include "support/error_of.h"
#include "train/optimizer.h"

namespace heed::testing {
namespace {

struct Kind {
  const char* cell;
  bool bidirectional;
  int64_t layers;
};

RnnEncoderConfig config_of(const Kind& kind, int64_t labels = 3) {
  return {.vocabulary = 20,
          .embedding = 6,
          .hidden = 5,
          .layers = kind.layers,
          .cell = kind.cell,
          .bidirectional = kind.bidirectional,
          .dropout = 0.0F,
          .labels = labels};
}

struct Built {
  explicit Built(const Kind& kind, int64_t labels = 3)
      : model(store.root(), config_of(kind, labels)) {
    store.allocate(DType::f32, 4, ParameterStore::Use::batch_invariant);
  }
  ParameterStore store;
  RnnEncoder model;
};

using Ids = std::vector<int32_t>;

// Rows padded with `pad` to the width.
TextBatch batch_of(const std::vector<Ids>& rows, size_t width, int32_t pad) {
  Ids tokens;
  Ids lengths;
  for (const Ids& row : rows) {
    tokens.insert(tokens.end(), row.begin(), row.end());
    tokens.insert(tokens.end(), width - row.size(), pad);
    lengths.push_back(static_cast<int32_t>(row.size()));
  }
  const auto count = static_cast<int64_t>(rows.size());
  return {.tokens = Tensor::from_ints(tokens, {count, static_cast<int64_t>(width)}),
          .types = {},
          .lengths = Tensor::from_ints(lengths, {count})};
}

std::vector<float> summary_of(const RnnEncoder& model, const TextBatch& batch) {
  return model.summary(model.hidden(batch), batch).to_vector();
}

std::vector<float> part(const std::vector<float>& values, size_t begin, size_t count) {
  const auto from = values.begin() + static_cast<int64_t>(begin);
  return {from, from + static_cast<int64_t>(count)};
}

class RnnEncoderTest : public ::testing::TestWithParam<Kind> {};

TEST_P(RnnEncoderTest, PaddingChangesNothing) {
  const Built built(GetParam());
  const std::vector<Ids> rows{{3, 7, 1, 9}, {5}, {2, 2, 8, 8, 4, 1}};
  const auto width = static_cast<size_t>(built.model.width());
  EXPECT_EQ(width, GetParam().bidirectional ? 10U : 5U);
  const TextBatch together = batch_of(rows, 6, 0);
  const std::vector<float> classes = built.model.classes(together).to_vector();
  EXPECT_EQ(classes, built.model.classes(batch_of(rows, 9, 13)).to_vector());
  const std::vector<float> hidden = built.model.hidden(together).to_vector();
  const std::vector<float> summary = summary_of(built.model, together);
  for (size_t i = 0; i < rows.size(); ++i) {
    const TextBatch alone = batch_of({rows[i]}, rows[i].size(), 0);
    EXPECT_EQ(built.model.classes(alone).to_vector(), part(classes, 3 * i, 3));
    EXPECT_EQ(summary_of(built.model, alone), part(summary, width * i, width));
    EXPECT_EQ(built.model.hidden(alone).to_vector(),
              part(hidden, 6 * width * i, rows[i].size() * width));
  }
}

// Forwards the last output, backwards the first: there each has read everything.
TEST_P(RnnEncoderTest, SummaryIsWhereAllIsRead) {
  const Built built(GetParam());
  const std::vector<Ids> rows{{3, 7, 1, 9}, {5, 6}};
  const TextBatch batch = batch_of(rows, 5, 0);
  const std::vector<float> hidden = built.model.hidden(batch).to_vector();
  const std::vector<float> summary = summary_of(built.model, batch);
  const auto width = static_cast<size_t>(built.model.width());
  for (size_t i = 0; i < rows.size(); ++i) {
    const size_t last = (5 * i + rows[i].size() - 1) * width;
    EXPECT_EQ(part(summary, width * i, 5), part(hidden, last, 5));
    if (GetParam().bidirectional) {
      EXPECT_EQ(part(summary, width * i + 5, 5), part(hidden, 5 * i * width + 5, 5));
    }
  }
  // Either end's token is noticed.
  EXPECT_NE(summary_of(built.model, batch_of({{4, 7, 1, 9}}, 4, 0)), part(summary, 0, width));
  EXPECT_NE(summary_of(built.model, batch_of({{3, 7, 1, 8}}, 4, 0)), part(summary, 0, width));
}

// Whether the first token is a 7: only what is carried through the whole text tells.
TEST_P(RnnEncoderTest, Learns) {
  ParameterStore store;
  const RnnEncoder model(store.root(), config_of(GetParam(), 2));
  store.allocate(DType::f32, 4);
  const auto optimizer = make_optimizer(store, {});
  const TextBatch batch = batch_of({{7, 1, 2, 3}, {5, 1, 2}, {7, 4}, {6, 4, 4, 7}, {7}, {3}}, 4, 0);
  const Tensor targets = Tensor::from_ints(Ids{1, 0, 1, 0, 1, 0}, {6});
  Tape tape(5);
  std::vector<float> losses;
  for (int i = 0; i < 120; ++i) {
    tape.clear();
    store.clear_gradients();
    const TapeScope scope(tape);
    const Tensor loss = cross_entropy(model.classes(batch), targets);
    losses.push_back(loss.item());
    tape.backward(loss);
    optimizer->step(0.02F);
  }
  EXPECT_GT(losses.front(), 0.5F);
  EXPECT_LT(losses.back(), 0.1F);
}

INSTANTIATE_TEST_SUITE_P(Kinds, RnnEncoderTest,
                         ::testing::Values(Kind{"lstm", true, 1}, Kind{"lstm", false, 2},
                                           Kind{"gru", true, 2}, Kind{"gru", false, 1}),
                         [](const auto& info) {
                           return fmt::format("{}{}{}", info.param.cell,
                                              info.param.bidirectional ? "BothWays" : "Forwards",
                                              info.param.layers);
                         });

TEST(RnnEncoder, WithoutAHeadHasNoClasses) {
  const Built built({"lstm", true, 1}, 0);
  EXPECT_EQ(built.model.labels(), 0);
  expect_error([&] { built.model.classes(batch_of({{1}}, 1, 0)); },
               "[rnn encoder] this model has no head for classes");
}

}  // namespace
}  // namespace heed::testing
