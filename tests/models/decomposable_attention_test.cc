// Decomposable attention: the paper's equations by plain loops, no trace of padding or of other
// pairs, alignments that are distributions over the other sentence, and that it learns.
#include "models/language/decomposable_attention.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ops/loss/cross_entropy.h"
#include "support/error_of.h"
#include "support/op_case.h"
#include "train/optimizer.h"

namespace heed::testing {
namespace {

using Ids = std::vector<int32_t>;
struct Pair {
  Ids first;
  Ids second;
};

DecomposableAttentionConfig tiny(bool intra, int64_t labels = 3) {
  return {.vocabulary = 20,
          .embedding = 6,
          .hidden = 5,
          .intra_attention = intra,
          .distances = 2,
          .dropout = 0.0F,
          .labels = labels};
}

struct Built {
  explicit Built(bool intra, int64_t labels = 3) : model(store.root(), tiny(intra, labels)) {
    store.allocate(DType::f32, 4, ParameterStore::Use::batch_invariant);
    // Distances that all count alike would not be seen.
    for (ParameterEntry& entry : store.entries()) {
      if (entry.name == "intra.distance") {
        for (int64_t i = 0; i < entry.value.size(); ++i) {
          entry.value.data<float>()[i] = 0.3F * static_cast<float>(i);
        }
      }
    }
  }
  ParameterStore store;
  DecomposableAttention model;
};

// Both sentences in a row, padded with a token like any other.
TextBatch batch_of(const std::vector<Pair>& pairs, size_t width, int32_t pad = 0) {
  Ids tokens;
  Ids types;
  Ids lengths;
  for (const Pair& pair : pairs) {
    const size_t length = pair.first.size() + pair.second.size();
    tokens.insert(tokens.end(), pair.first.begin(), pair.first.end());
    tokens.insert(tokens.end(), pair.second.begin(), pair.second.end());
    tokens.insert(tokens.end(), width - length, pad);
    types.insert(types.end(), pair.first.size(), 0);
    types.insert(types.end(), width - pair.first.size(), 1);
    lengths.push_back(static_cast<int32_t>(length));
  }
  const auto rows = std::ssize(pairs);
  const Shape shape{rows, static_cast<int64_t>(width)};
  return {.tokens = Tensor::from_ints(tokens, shape),
          .types = Tensor::from_ints(types, shape),
          .lengths = Tensor::from_ints(lengths, {rows})};
}

const std::vector<Pair> kPairs{{{3, 7, 1}, {9, 2}}, {{5}, {6, 6, 4, 1}}, {{2, 8, 8, 4}, {1}}};

// --- The equations of the paper

using Vector = std::vector<double>;

class Equations {
 public:
  explicit Equations(const ParameterStore& store) : store_(store) {}

  Vector classes(const Pair& pair) const {
    Vector sums[2];
    const std::vector<Vector> words[2] = {embedded(pair.first), embedded(pair.second)};
    for (const int side : {0, 1}) {
      for (const Vector& word : words[side]) {
        Vector both = word;
        const Vector beta = aligned(word, words[1 - side]);
        both.insert(both.end(), beta.begin(), beta.end());
        const Vector v = network("compare", both);
        sums[side].resize(v.size());
        for (size_t i = 0; i < v.size(); ++i) {
          sums[side][i] += v[i];
        }
      }
    }
    sums[0].insert(sums[0].end(), sums[1].begin(), sums[1].end());
    return layer("classes", network("aggregate", sums[0]));
  }

 private:
  const float* values(const std::string& name, int64_t* columns = nullptr) const {
    for (const ParameterEntry& entry : store_.entries()) {
      if (entry.name == name) {
        if (columns != nullptr) {
          *columns = entry.shape[-1];
        }
        return entry.value.data<float>();
      }
    }
    throw Error(name);
  }
  std::vector<Vector> embedded(const Ids& ids) const {
    int64_t width = 0;
    const float* table = values("tokens.weight", &width);
    std::vector<Vector> words;
    for (const int32_t id : ids) {
      words.emplace_back(table + id * width, table + (id + 1) * width);
    }
    return words;
  }
  Vector layer(const std::string& name, const Vector& x) const {
    int64_t columns = 0;
    const float* weight = values(name + ".weight", &columns);
    int64_t rows = 0;
    const float* bias = values(name + ".bias", &rows);
    EXPECT_EQ(columns, std::ssize(x)) << name;
    Vector y(bias, bias + rows);
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < columns; ++j) {
        y[static_cast<size_t>(i)] += weight[i * columns + j] * x[static_cast<size_t>(j)];
      }
    }
    return y;
  }
  Vector network(const std::string& name, Vector x) const {
    for (const char* part : {".linear1", ".linear2"}) {
      x = layer(name + part, x);
      std::transform(x.begin(), x.end(), x.begin(), [](double v) { return std::max(v, 0.0); });
    }
    return x;
  }
  // sum_j softmax_j(F(word) . F(other_j)) other_j
  Vector aligned(const Vector& word, const std::vector<Vector>& others) const {
    const Vector f = network("attend", word);
    Vector result(word.size());
    double total = 0.0;
    for (const Vector& other : others) {
      const Vector g = network("attend", other);
      double e = 0.0;
      for (size_t i = 0; i < f.size(); ++i) {
        e += f[i] * g[i];
      }
      total += std::exp(e);
      for (size_t i = 0; i < other.size(); ++i) {
        result[i] += std::exp(e) * other[i];
      }
    }
    std::transform(result.begin(), result.end(), result.begin(),
                   [&](double v) { return v / total; });
    return result;
  }

  const ParameterStore& store_;
};

TEST(DecomposableAttention, IsAsThePaperHasIt) {
  const Built built(false);
  const Equations equations(built.store);
  const std::vector<float> classes = built.model.classes(batch_of(kPairs, 6)).to_vector();
  for (size_t row = 0; row < kPairs.size(); ++row) {
    const Vector expected = equations.classes(kPairs[row]);
    for (size_t i = 0; i < 3; ++i) {
      EXPECT_NEAR(classes[3 * row + i], expected[i], 1e-5);
    }
  }
}

// --- What every encoder promises

class DecomposableAttentionTest : public ::testing::TestWithParam<bool> {};

TEST_P(DecomposableAttentionTest, PaddingChangesNothing) {
  const Built built(GetParam());
  const std::vector<float> classes = built.model.classes(batch_of(kPairs, 6)).to_vector();
  EXPECT_EQ(classes, built.model.classes(batch_of(kPairs, 9, 13)).to_vector());
  for (size_t i = 0; i < kPairs.size(); ++i) {
    const size_t length = kPairs[i].first.size() + kPairs[i].second.size();
    const auto row = classes.begin() + static_cast<int64_t>(3 * i);
    EXPECT_EQ(built.model.classes(batch_of({kPairs[i]}, length)).to_vector(),
              std::vector<float>(row, row + 3));
  }
}

TEST_P(DecomposableAttentionTest, AttentionIsSound) {
  const Built built(GetParam());
  const TextBatch batch = batch_of(kPairs, 8);
  AttentionScope scope;
  const Tensor hidden = built.model.hidden(batch);
  ASSERT_EQ(hidden.shape(), (Shape{3, 8, 5}));
  ASSERT_EQ(scope.layers().size(), GetParam() ? 2U : 1U);
  for (const LayerAttention& map : scope.layers()) {
    const bool own = GetParam() && map.layer == 0;  // the words of one's own sentence
    EXPECT_EQ(map.kind, "encoder");
    ASSERT_EQ(map.weights.shape(), (Shape{3, 1, 8, 8}));
    for (size_t row = 0; row < kPairs.size(); ++row) {
      const size_t first = kPairs[row].first.size();
      const size_t length = first + kPairs[row].second.size();
      for (size_t i = 0; i < length; ++i) {
        const float* weights = map.weights.data<float>() + (row * 8 + i) * 8;
        double sum = 0.0;
        for (size_t j = 0; j < 8; ++j) {
          const bool same = (i < first) == (j < first);
          sum += weights[j];
          EXPECT_EQ(weights[j] > 0.0F, j < length && same == own) << row << " " << i << " " << j;
        }
        EXPECT_NEAR(sum, 1.0, 1e-5);
      }
    }
  }
}

// Without attention within a sentence there is no order of its words.
TEST_P(DecomposableAttentionTest, OrderCountsOnlyWithDistances) {
  const Built built(GetParam());
  const auto classes = [&](const Pair& pair) {
    return to_array(built.model.classes(batch_of({pair}, 7)));
  };
  const Array one = classes({{3, 7, 1, 4}, {9, 2, 5}});
  const double reordered = error_between(one, classes({{7, 4, 3, 1}, {5, 9, 2}}));
  EXPECT_EQ(reordered < 1e-6, !GetParam()) << reordered;
  // But which sentence a word stands in always counts.
  EXPECT_GT(error_between(one, classes({{9, 2, 5, 4}, {3, 7, 1}})), 1e-3);
}

TEST_P(DecomposableAttentionTest, ATextAloneIsAPairWithItself) {
  const Built built(GetParam());
  const Ids text{3, 7, 1, 4};
  TextBatch alone = batch_of({{text, {}}}, 4);
  const Array expected = to_array(built.model.classes(batch_of({{text, text}}, 8)));
  EXPECT_LE(error_between(to_array(built.model.classes(alone)), expected), 1e-5);
  alone.types = {};  // all 0
  EXPECT_LE(error_between(to_array(built.model.classes(alone)), expected), 1e-5);
}

// Whether a word of the first sentence comes again in the second.
TEST_P(DecomposableAttentionTest, LearnsToAlign) {
  DecomposableAttentionConfig config = tiny(GetParam(), 2);
  config.embedding = 16;
  config.hidden = 16;
  ParameterStore store;
  const DecomposableAttention model(store.root(), config);
  store.allocate(DType::f32, 4);
  const auto optimizer = make_optimizer(store, {});
  const RandomStream random{3, 1};
  uint64_t drawn = 0;
  const auto draw = [&](int32_t below) {
    return static_cast<int32_t>(random.bits(drawn++) % below);
  };
  Tape tape(5);
  double late = 0.0;
  constexpr int kSteps = 300;
  for (int step = 0; step < kSteps; ++step) {
    std::vector<Pair> pairs(16);
    Ids labels;
    for (Pair& pair : pairs) {
      pair = {{2 + draw(9), 2 + draw(9)}, {11 + draw(9), 11 + draw(9)}};
      labels.push_back(draw(2));
      if (labels.back() == 1) {
        pair.second[static_cast<size_t>(draw(2))] = pair.first[static_cast<size_t>(draw(2))];
      } else if (draw(2) == 1) {
        pair.second[0] = pair.first[0] == 10 ? 2 : pair.first[0] + 1;
        pair.first[1] = pair.first[0];
      }
    }
    tape.clear();
    store.clear_gradients();
    const TapeScope scope(tape);
    const Tensor loss =
        cross_entropy(model.classes(batch_of(pairs, 5)), Tensor::from_ints(labels, {16}));
    late += step >= kSteps - 20 ? loss.item() / 20.0 : 0.0;
    tape.backward(loss);
    optimizer->step(5e-3F);
  }
  EXPECT_LT(late, 0.25);  // guessing costs 0.69
}

INSTANTIATE_TEST_SUITE_P(Forms, DecomposableAttentionTest, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "intra" : "plain"; });

TEST(DecomposableAttention, SaysWhatIsMissing) {
  const Built built(false, 0);
  EXPECT_EQ(built.model.labels(), 0);
  expect_error([&] { built.model.classes(batch_of(kPairs, 6)); },
               "[decomposable attention] this model has no head for classes: train one with a "
               "recipe of task \"classify\"");
  expect_error(
      [&] {
        built.model.hidden(
            {.tokens = Tensor::from_ints(Ids{1, 2}, {2}), .types = {}, .lengths = {}});
      },
      "[decomposable attention] tokens is [2], expected [B,T]");
}

}  // namespace
}  // namespace heed::testing
