#include "models/language/music_transformer.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"
#include "models/registry.h"
#include "support/error_of.h"
#include "support/language_check.h"
#include "support/op_case.h"
#include "support/verify_check.h"

namespace heed::testing {
namespace {

struct Variant {
  std::string name;
  DType dtype = DType::f32;
  std::string positions = "none";
  int64_t distance = 6;  // shorter than the sequences: the rest is one distance
  bool per_head = true;
  int64_t window = 0;
  int64_t memory = 0;
  bool tied = true;
  int64_t pitch_distance = 0;
  std::vector<int64_t> cycles = {};

  MusicTransformerConfig config() const {
    MusicTransformerConfig config;
    config.vocabulary = pitch_distance > 0 ? 144 : 37;  // the chorales', whose tokens have pitches
    config.width = 32;
    config.heads = 4;
    config.layers = 2;
    config.hidden = 64;
    config.dropout = 0.0F;
    config.positions = positions;
    config.relative_distance = distance;
    config.relative_per_head = per_head;
    config.window = window;
    config.memory = memory;
    config.tied_output = tied;
    config.pitch_distance = pitch_distance;
    config.cycles = cycles;
    return config;
  }
  // The model in which training sees what decoding does in this one.
  MusicTransformerConfig windowed() const {
    MusicTransformerConfig result = config();
    result.window = window > 0 && memory > 0 ? std::min(window, memory) : std::max(window, memory);
    result.memory = 0;
    return result;
  }
  double tolerance() const { return dtype == DType::f32 ? 1e-4 : 0.06; }
};
std::string variant_name(const ::testing::TestParamInfo<Variant>& info) { return info.param.name; }

class MusicTransformerTest : public ::testing::TestWithParam<Variant> {
 protected:
  MusicTransformerTest()
      : model_(store_.root(), GetParam().config()), whole_(other_.root(), GetParam().windowed()) {
    store_.allocate(GetParam().dtype, 3, ParameterStore::Use::batch_invariant);
    other_.allocate(GetParam().dtype, 3, ParameterStore::Use::batch_invariant);
  }

  ParameterStore store_, other_;
  const MusicTransformer model_;
  const MusicTransformer whole_;
};

TEST_P(MusicTransformerTest, CachedDecodingEqualsFullForward) {
  expect_steps_equal_logits({model_, whole_, GetParam().tolerance()});
}

TEST_P(MusicTransformerTest, CachedAttentionEqualsThatOfTheFullForward) {
  expect_steps_attend_as_logits({model_, whole_, GetParam().dtype == DType::f32 ? 1e-5 : 0.02});
}

TEST_P(MusicTransformerTest, RowsOfDifferentLengths) {
  expect_rows_equal_logits({model_, whole_, GetParam().tolerance()});
}

TEST_P(MusicTransformerTest, TheSameBitsAloneAndInABatch) {
  expect_same_bits_alone_and_in_a_batch(model_);
}

TEST_P(MusicTransformerTest, VerifiedTokensHaveTheSameBitsAsSteps) {
  expect_verified_tokens_have_the_same_bits_as_steps(model_);
}

INSTANTIATE_TEST_SUITE_P(
    Variants, MusicTransformerTest,
    ::testing::Values(
        Variant{.name = "relative"}, Variant{.name = "relative_bf16", .dtype = DType::bf16},
        Variant{.name = "relative_i8", .dtype = DType::i8},
        Variant{.name = "relative_shared", .per_head = false, .tied = false},
        Variant{.name = "plain", .positions = "sinusoidal", .distance = 0},
        Variant{.name = "both", .dtype = DType::bf16, .positions = "sinusoidal"},
        Variant{.name = "pitch", .pitch_distance = 12},
        Variant{.name = "pitch_i8", .dtype = DType::i8, .pitch_distance = 3},
        Variant{.name = "pitch_memory", .dtype = DType::bf16, .memory = 5, .pitch_distance = 40},
        Variant{.name = "cycles", .cycles = {4, 7}}, Variant{.name = "window", .window = 5},
        Variant{.name = "memory", .memory = 4}, Variant{.name = "memory_of_one", .memory = 1},
        Variant{.name = "memory_bf16", .dtype = DType::bf16, .memory = 5},
        Variant{.name = "memory_plain", .positions = "sinusoidal", .distance = 0, .memory = 3},
        Variant{.name = "memory_and_window", .window = 3, .memory = 6}),
    variant_name);

class MusicTransformerTraining : public ::testing::TestWithParam<Variant> {};

TEST_P(MusicTransformerTraining, LearnsASequenceByHeart) {
  ParameterStore store;
  const MusicTransformer model(store.root(), GetParam().config());
  store.allocate(GetParam().dtype, 3);
  const TrainingRun run = learn_by_heart(model, store, 90);
  EXPECT_GT(run.losses.front(), 3.0F);
  EXPECT_LT(run.losses.back(), 0.2F);
}

TEST_P(MusicTransformerTraining, SameSeedSameBits) {
  const auto train = [] {
    MusicTransformerConfig config = GetParam().config();
    config.dropout = 0.1F;
    config.attention_dropout = 0.1F;
    ParameterStore store;
    const MusicTransformer model(store.root(), config);
    store.allocate(GetParam().dtype, 3);
    return learn_by_heart(model, store, 5);
  };
  const TrainingRun first = train();
  const TrainingRun second = train();
  EXPECT_EQ(first.losses, second.losses);
  EXPECT_EQ(first.weights, second.weights);
}

INSTANTIATE_TEST_SUITE_P(
    Variants, MusicTransformerTraining,
    ::testing::Values(Variant{.name = "f32"}, Variant{.name = "bf16", .dtype = DType::bf16},
                      Variant{.name = "shared_window", .per_head = false, .window = 8},
                      Variant{.name = "plain", .positions = "sinusoidal", .distance = 0},
                      Variant{.name = "pitch", .dtype = DType::bf16, .pitch_distance = 12}),
    variant_name);

// The embedding of a difference counts where two tokens are so far apart, and nowhere else.
TEST(MusicTransformer, TellsDifferencesOfPitch) {
  ParameterStore store;
  const MusicTransformer model(store.root(), Variant{.name = "", .pitch_distance = 24}.config());
  store.allocate(DType::f32, 3, ParameterStore::Use::inference);
  ParameterEntry& table = store.find("layers.0.self_attention.labels.weight");
  EXPECT_EQ(table.shape, (Shape{49, 8}));
  const auto logits = [&] {
    return to_array(model.logits(Tensor::from_ints(std::vector<int32_t>{64, 66, 68}, {1, 3})));
  };
  const Array before = logits();
  const auto set_difference = [&](int64_t semitones) {
    std::fill_n(table.value.data<float>() + (24 + semitones) * 8, 8, 1.0F);
  };
  set_difference(-3);
  set_difference(2);  // only later tokens are so far away
  EXPECT_EQ(error_between(logits(), before), 0.0);
  set_difference(-4);
  EXPECT_GT(error_between(logits(), before), 1e-4);
}

// A part from the middle is the same as in the whole, as far as attention sees: with a window of 3
// and one layer from its third token on.
TEST(MusicTransformer, APartKeepsItsPositions) {
  for (const char* positions : {"none", "sinusoidal"}) {
    ParameterStore store;
    MusicTransformerConfig config =
        Variant{.name = "", .positions = positions, .window = 3, .cycles = {4, 7}}.config();
    config.layers = 1;
    const MusicTransformer model(store.root(), config);
    store.allocate(DType::f32, 3, ParameterStore::Use::inference);
    const std::vector<int32_t> ids = noise_tokens(20, 37);
    const std::vector<int32_t> part(ids.begin() + 9, ids.end());
    const auto logits = [&](const std::vector<int32_t>& tokens, int64_t first) {
      std::vector<float> all =
          model.logits(Tensor::from_ints(tokens, {1, std::ssize(tokens)}), first).to_vector();
      return std::vector<float>(all.end() - 9 * 37, all.end());
    };
    const std::vector<float> whole = logits(ids, 0);
    const std::vector<float> cut = logits(part, 9);
    const std::vector<float> anew = logits(part, 0);
    float difference = 0.0F;
    float difference_anew = 0.0F;
    for (size_t i = 0; i < whole.size(); ++i) {
      difference = std::max(difference, std::abs(whole[i] - cut[i]));
      difference_anew = std::max(difference_anew, std::abs(whole[i] - anew[i]));
    }
    EXPECT_LT(difference, 1e-5F);
    EXPECT_GT(difference_anew, 1e-3F);
  }
}

// Attention is shown as decoding has it: no further than the memory.
TEST(MusicTransformer, MapsLookNoFurtherThanTheMemory) {
  ParameterStore store;
  const MusicTransformer model(store.root(), Variant{.name = "", .memory = 4}.config());
  store.allocate(DType::f32, 3, ParameterStore::Use::inference);
  AttentionScope scope;
  model.logits(Tensor::from_ints(noise_tokens(12, 37), {1, 12}));
  const std::vector<LayerAttention> maps = scope.take();
  ASSERT_EQ(maps.size(), 2U);
  for (int64_t i = 0; i < maps[0].weights.size(); ++i) {
    const int64_t distance = i / 12 % 12 - i % 12;
    EXPECT_EQ(maps[0].weights.data<float>()[i] > 0.0F, distance >= 0 && distance < 4);
  }
}

// The order of far tokens matters to relative attention only within its distance; with one layer
// and distance 3, tokens further away are a set.
TEST(MusicTransformer, TellsDistancesApartUpToTheLongest) {
  ParameterStore store;
  MusicTransformerConfig config = Variant{.name = "", .distance = 3}.config();
  config.layers = 1;
  const MusicTransformer model(store.root(), config);
  store.allocate(DType::f32, 3, ParameterStore::Use::inference);
  const auto last = [&](std::vector<int32_t> ids) {
    const auto state = model.start();
    return to_array(model.step(Tensor::from_ints(ids, {1, std::ssize(ids)}), *state));
  };
  const Array order = last({1, 2, 3, 4, 5, 6, 7, 8});
  EXPECT_LT(error_between(last({2, 1, 4, 3, 5, 6, 7, 8}), order), 1e-5);
  EXPECT_GT(error_between(last({1, 2, 3, 4, 6, 5, 7, 8}), order), 1e-3);
}

// However long it goes on, the caches do not grow.
TEST(MusicTransformer, MemoryStaysBounded) {
  ParameterStore store;
  const MusicTransformer model(store.root(), Variant{.name = "", .memory = 8}.config());
  store.allocate(DType::f32, 3, ParameterStore::Use::inference);
  CausalState state;
  model.step(Tensor::from_ints(noise_tokens(3 * 100, 37), {3, 100}), state,
             std::vector<int64_t>{100, 2, 50});
  for (int32_t i = 0; i < 40; ++i) {
    model.step(Tensor::from_ints(std::vector<int32_t>{i % 37, i % 36, i % 35}, {3, 1}), state);
  }
  EXPECT_EQ(state.seen, (std::vector<int64_t>{140, 42, 90}));
  ASSERT_EQ(state.caches.size(), 2U);
  for (const std::unique_ptr<MixerCache>& cache : state.caches) {
    EXPECT_LE(cache_as<KvCache>(*cache).k.dim(1), 16);
    EXPECT_LE(cache_as<KvCache>(*cache).length, 16);
  }
}

TEST(MusicTransformer, PerHeadDistancesHaveTheirOwnEmbeddings) {
  for (const bool per_head : {false, true}) {
    ParameterStore store;
    const MusicTransformer model(store.root(), Variant{.name = "", .per_head = per_head}.config());
    EXPECT_EQ(store.find("layers.0.self_attention.relative").shape,
              per_head ? (Shape{4, 7, 8}) : (Shape{7, 8}));
  }
}

TEST(MusicTransformer, ConfigErrors) {
  const auto error_with = [](const Json& fields) {
    Json json{{"kind", "music_transformer"}};
    json.update(fields);
    return error_of([&] {
      ParameterStore store;
      make_model(store.root(), resolve_model_config(json, "test"));
    });
  };
  EXPECT_EQ(error_with(Json::object()), "no error");
  EXPECT_EQ(error_with({{"preset", "base"}}), "no error");
  EXPECT_EQ(error_with({{"relative_distance", 0}}),
            "[music_transformer] positions is none and relative_distance 0: the model would not "
            "know the order of its tokens; set model.positions = \"sinusoidal\" or a "
            "relative_distance");
  EXPECT_EQ(error_with({{"heads", 7}}), "[attention] width is 256, expected a multiple of 7 heads");
  EXPECT_EQ(error_with({{"positions", "learned"}}),
            "[test] model.positions is \"learned\", expected one of: none, sinusoidal");
  EXPECT_EQ(error_with({{"memory", -1}}), "[test] model.memory is -1, expected at least 0");
  EXPECT_EQ(error_with({{"context", 64}, {"cycles", {4}}}),
            "[music_transformer] cycles are counted from the beginning of a piece, which a context "
            "of 64 forgets: set model.context = 0");
  EXPECT_EQ(error_with({{"vocabulary", 100}, {"pitch_distance", 12}}),
            "[music_transformer] pitch_distance is for tokens of music; a vocabulary of 100 is "
            "none");
  EXPECT_NE(error_with({{"relativ_distance", 1}}).find("relative_distance"), std::string::npos);
}

}  // namespace
}  // namespace heed::testing
