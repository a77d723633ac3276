// Decoding through latents: against a model whose codes and tokens are known by heart, and that a
// sentence's translation does not depend on the batch it comes in.
#include "decode/text/latent_decoding.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"
#include "decode/scripted_model.h"
#include "models/registry.h"
#include "support/error_of.h"

namespace heed::testing {
namespace {

constexpr int64_t kCodes = 3;  // 3 is the end
constexpr int64_t kVocabulary = 8;

// A prior that is a table, and a decoder that says code + 4, twice for each latent of two tokens,
// or END for code 0.
class ScriptedLatentModel : public LatentModel {
 public:
  explicit ScriptedLatentModel(std::map<Ids, Probabilities> table) : table_(std::move(table)) {}

  Sizes sizes() const override { return {.codes = kCodes, .slices = 1, .shorten = 2}; }
  int64_t target_vocabulary() const override { return kVocabulary; }
  Encoded encode(const Tensor& source, const Tensor& lengths) const override {
    return {source, lengths};
  }
  std::unique_ptr<Seq2SeqModel> prior(const Encoded& /*sources*/) const override {
    return std::make_unique<ScriptedModel>(
        [table = table_](const Ids& /*source*/, const Ids& said) {
          const auto found = table.find(said);
          return found == table.end() ? Probabilities{{kCodes, 1.0}} : found->second;
        },
        kCodes + 1, static_cast<int32_t>(kCodes));
  }
  Tensor logits(const Tensor& codes, const Tensor& /*latents*/,
                const Encoded& /*sources*/) const override {
    Tensor logits = Tensor::full({codes.dim(0), 2 * codes.dim(1), kVocabulary}, -100.0F);
    for (int64_t i = 0; i < logits.dim(0) * logits.dim(1); ++i) {
      const int32_t code = codes.data<int32_t>()[i / 2];
      // The second token of a latent is the other one of 5 and 6.
      const int64_t said = code == 0 ? kEnd : i % 2 == 0 ? code + 4 : 7 - code;
      logits.data<float>()[i * kVocabulary + said] = 0.0F;
    }
    return logits;
  }
  Taught teach(const Batch& /*batch*/, const Teaching& /*teaching*/) const override { return {}; }
  void learn(std::span<const Discrete> /*passes*/, const RandomStream& /*random*/) const override {}

 private:
  std::map<Ids, Probabilities> table_;
};

std::vector<Hypothesis> decode(const LatentModel& model, const DecodeOptions& options) {
  const std::vector<DecodeRequest> requests{{.source = {4, 5, kEnd}}};
  return decode_latents(model, requests, options).front();
}

ScriptedLatentModel garden_path() {
  return ScriptedLatentModel({{{}, {{1, 0.6}, {2, 0.4}}},
                              {{1}, {{1, 0.3}, {2, 0.3}, {0, 0.4}}},
                              {{2}, {{0, 0.9}, {1, 0.1}}}});
}

TEST(LatentDecoding, SaysCodesThenAllTokens) {
  const auto best = decode(garden_path(), {.beam = 1, .trace = true});
  ASSERT_EQ(best.size(), 1U);
  EXPECT_EQ(best[0].ids, (Ids{5, 6}));  // code 1, then 0: END
  EXPECT_NEAR(best[0].log_probability, std::log(0.6 * 0.4), 1e-5);
  EXPECT_EQ(best[0].steps, 4);  // two latents, their end, and the pass over the tokens
  ASSERT_EQ(best[0].trace.size(), 2U);
  EXPECT_EQ(best[0].trace[0], best[0].ids);
}

TEST(LatentDecoding, ABeamFindsTheLikelierCodes) {
  const auto best = decode(garden_path(), {.beam = 3, .n_best = 3});
  ASSERT_EQ(best.size(), 3U);
  EXPECT_NEAR(best[0].log_probability, std::log(0.4 * 0.9), 1e-5);
  EXPECT_EQ(best[0].ids.front(), 6);
  EXPECT_GE(best[0].score, best[1].score);
}

// A word that is said twice in a row is said once.
TEST(LatentDecoding, MergesRepeatedWords) {
  class Stutterer : public ScriptedLatentModel {
   public:
    using ScriptedLatentModel::ScriptedLatentModel;
    Tensor logits(const Tensor& codes, const Tensor& /*latents*/,
                  const Encoded& /*sources*/) const override {
      Tensor logits = Tensor::full({codes.dim(0), 2 * codes.dim(1), kVocabulary}, -100.0F);
      for (int64_t i = 0; i < logits.dim(0) * logits.dim(1); ++i) {
        logits.data<float>()[i * kVocabulary + codes.data<int32_t>()[i / 2] + 4] = 0.0F;
      }
      return logits;
    }
  };
  const Stutterer model({{{}, {{1, 1.0}}}, {{1}, {{2, 1.0}}}});
  EXPECT_EQ(decode(model, {.beam = 1}).front().ids, (Ids{5, 6}));
  const auto forced = decode(model, {.beam = 1, .max_length = 3, .forced_length = true});
  EXPECT_EQ(forced.front().ids.size(), 3U);
}

// Codes that never end: each source has the latents that its longest translation needs.
TEST(LatentDecoding, CodesThatDoNotEndAreFew) {
  class Endless : public ScriptedLatentModel {
   public:
    Endless() : ScriptedLatentModel({}) {}
    std::unique_ptr<Seq2SeqModel> prior(const Encoded& /*sources*/) const override {
      return std::make_unique<ScriptedModel>(
          [](const Ids& /*source*/, const Ids& said) {
            return Probabilities{{static_cast<int32_t>(1 + said.size() % 2), 1.0}};
          },
          kCodes + 1, static_cast<int32_t>(kCodes));
    }
  };
  const std::vector<DecodeRequest> requests{{.source = {4, 5, kEnd}}, {.source = Ids(9, 4)}};
  for (const int64_t beam : {1, 2}) {
    const auto found = decode_latents(Endless(), requests, {.beam = beam});
    EXPECT_EQ(found[0][0].steps, (2 * 3 + 16) / 2 + 1);  // two tokens each, and the last pass
    EXPECT_EQ(found[1][0].steps, (2 * 9 + 16) / 2 + 1);
  }
  const auto shorter = decode_latents(Endless(), requests, {.beam = 1, .max_length = 5});
  EXPECT_EQ(shorter[0][0].steps, 3 + 1);
  EXPECT_EQ(shorter[1][0].steps, 3 + 1);
}

TEST(LatentDecoding, NamesWhatIsWrong) {
  EXPECT_EQ(error_of([] { decode(garden_path(), {.beam = 2, .n_best = 3}); }),
            "[decode] n_best is 3, expected 1 to 2, the beam");
}

class LatentBatchTest : public ::testing::TestWithParam<const char*> {};

// Sources of many lengths, alone and all at once.
TEST_P(LatentBatchTest, TranslatesTheSameInAnyBatch) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::i8}) {
    SCOPED_TRACE(name_of(dtype));
    ParameterStore store;
    const auto any = make_model(store.root(), resolve_model_config({{"kind", "latent_transformer"},
                                                                    {"vocabulary", 40},
                                                                    {"width", 32},
                                                                    {"heads", 4},
                                                                    {"hidden", 64},
                                                                    {"encoder_layers", 2},
                                                                    {"decoder_layers", 2},
                                                                    {"predictor_layers", 2},
                                                                    {"shorten", 4},
                                                                    {"codes", 16},
                                                                    {"slices", 2},
                                                                    {"bottleneck", GetParam()}},
                                                                   "test"));
    store.allocate(dtype, 5, ParameterStore::Use::batch_invariant);
    const auto& model = dynamic_cast<const LatentModel&>(*any);
    const RandomStream random{3, 1};
    std::vector<DecodeRequest> requests;
    uint64_t drawn = 0;
    for (const size_t length : {3U, 17U, 1U, 9U, 30U, 9U}) {
      DecodeRequest request;
      while (request.source.size() < length) {
        request.source.push_back(4 + static_cast<int32_t>(random.bits(drawn++) % 36));
      }
      requests.push_back(request);
    }
    for (const int64_t beam : {1, 3}) {
      const DecodeOptions options{.beam = beam, .n_best = beam};
      const auto together = decode_latents(model, requests, options);
      for (size_t i = 0; i < requests.size(); ++i) {
        const auto alone = decode_latents(model, {&requests[i], 1}, options);
        ASSERT_EQ(alone[0].size(), together[i].size());
        for (size_t k = 0; k < alone[0].size(); ++k) {
          EXPECT_EQ(alone[0][k].ids, together[i][k].ids);
          EXPECT_EQ(alone[0][k].score, together[i][k].score);
          EXPECT_EQ(alone[0][k].steps, together[i][k].steps);
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Bottlenecks, LatentBatchTest,
                         ::testing::Values("semantic_hash", "vector_quantiser", "gumbel_softmax"));

}  // namespace
}  // namespace heed::testing
