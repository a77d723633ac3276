#include "train/validation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "support/error_of.h"
#include "support/tiny_training.h"
#include "train/metrics/bleu.h"

namespace heed {
namespace {

using namespace testing;
using Texts = std::vector<std::string>;

// A model of letters after a few steps, far from having learned them.
class Validation : public ::testing::Test {
 protected:
  Validation() {
    Json recipe = tiny_recipe(folder_);
    recipe["train"]["steps"] = 3;
    recipe["schedule"]["rate"] = 0.0;
    without_validation(recipe);
    train(recipe, folder_ / "run");
    model_ = load_model(folder_ / "run", DType::f32);
  }
  ValidationSet::Setting setting(int64_t batch_tokens = 128) const {
    return {.tokenizers = model_->tokenizers, .batch_tokens = batch_tokens};
  }
  ValidationSet valid(int64_t batch_tokens = 128) const {
    return {folder_ / "valid.src", folder_ / "valid.tgt", setting(batch_tokens)};
  }

  TemporaryFolder folder_;
  std::unique_ptr<LoadedModel> model_;
};

TEST_F(Validation, LossIsTheMeanOverTokensHoweverTheyAreBatched) {
  const ValidationSet one(Texts{"abc"}, Texts{"cba"}, setting());
  const ValidationSet other(Texts{"abcdefgh"}, Texts{"hgfedcba"}, setting());
  const ValidationSet both(Texts{"abc", "abcdefgh"}, Texts{"cba", "hgfedcba"}, setting());
  const double expected =
      (4 * one.loss(token_loss(*model_->model)) + 9 * other.loss(token_loss(*model_->model))) / 13;
  EXPECT_NEAR(both.loss(token_loss(*model_->model)), expected, 1e-6);
  EXPECT_NEAR(valid(16).loss(token_loss(*model_->model)),
              valid(4096).loss(token_loss(*model_->model)), 1e-6);
}

// The vocabulary of the model is rounded up to 16; the 12 of the tokenizer are all it may say.
TEST_F(Validation, AnUntrainedModelSaysOnlyWhatTheTokenizerHas) {
  ASSERT_EQ(model_->tokenizers.target->size(), 12);
  ASSERT_EQ(model_->model->target_vocabulary(), 16);
  for (const int64_t beam : {1, 4}) {
    const Texts texts = valid().translate(*model_->model, {.decode = {.beam = beam}});
    EXPECT_EQ(texts.size(), 20U);
  }
}

TEST_F(Validation, WeightsThatAreNoNumbersGiveAScoreAndNoError) {
  for (const ParameterEntry& entry : model_->store.entries()) {
    std::ranges::fill(entry.value.span<float>(), std::nanf(""));
  }
  for (const int64_t beam : {1, 4}) {
    const ValidationScore score =
        valid().score(*model_->model, token_loss(*model_->model), {.decode = {.beam = beam}});
    EXPECT_TRUE(std::isnan(score.loss));
    EXPECT_EQ(score.bleu, 0.0);
    EXPECT_EQ(score.translations, Texts(20));
  }
}

TEST_F(Validation, BleuIsThatOfTheTranslations) {
  const ValidationSet set = valid();
  const ValidationScore score =
      set.score(*model_->model, token_loss(*model_->model), {.sentences = 7});
  ASSERT_EQ(score.translations.size(), 7U);
  std::vector<std::vector<std::string>> references;
  for (size_t i = 0; i < 7; ++i) {
    references.push_back({set.targets()[i]});
  }
  EXPECT_EQ(score.bleu, bleu(score.translations, references).score);
  const ValidationScore without =
      set.score(*model_->model, token_loss(*model_->model), {.bleu = false});
  EXPECT_LT(without.bleu, 0.0);
  EXPECT_TRUE(without.translations.empty());
  EXPECT_EQ(without.loss, score.loss);
}

TEST_F(Validation, EmptySentencesAreTranslatedButHaveNoLoss) {
  const ValidationSet with(Texts{"abc", "", "def"}, Texts{"cba", "", "fed"}, setting());
  const ValidationSet without(Texts{"abc", "def"}, Texts{"cba", "fed"}, setting());
  EXPECT_EQ(with.loss(token_loss(*model_->model)), without.loss(token_loss(*model_->model)));
  EXPECT_EQ(with.translate(*model_->model, {}).size(), 3U);
}

TEST_F(Validation, FilesMustFitTogether) {
  const std::string three = folder_.write("three", "a\nb\nc\n");
  const std::string two = folder_.write("two", "a\nb\n");
  const std::string none = folder_.write("none", "");
  EXPECT_EQ(error_of([&] { const ValidationSet set(three, two, setting()); }),
            fmt::format("[validation] {} has 3 lines and {} has 2, expected as many", three, two));
  EXPECT_EQ(error_of([&] { const ValidationSet set(none, none, setting()); }),
            fmt::format("[validation] {} is empty", none));
}

}  // namespace
}  // namespace heed
