// Training deep character models: the schedule of the auxiliary losses, what they add up to, that
// they help to learn, and that neither an interruption nor recomputed layers change a bit.
#include "tasks/deep/deep_language_task.h"

#include <gtest/gtest.h>

#include <cmath>

#include "decode/text/generate.h"
#include "support/error_of.h"
#include "support/tiny_texts.h"
#include "support/tiny_training.h"

namespace heed {
namespace {

using namespace testing;

Json deep_recipe(const TemporaryFolder& folder) {
  std::string text;
  for (int i = 0; i < 80; ++i) {
    text += "quick fox jumps,\n";
  }
  Json recipe = Json::parse(R"({
      "task": "deep_language",
      "data": {"batch_tokens": 256, "valid_share": 0.1},
      "text": {"kind": "char"},
      "model": {"kind": "character_transformer", "context": 32, "width": 32, "heads": 2,
                "layers": 3, "dropout": 0.05, "hidden_dropout": 0.1, "attention_dropout": 0.1,
                "initializer_range": 0.1},
      "train": {"steps": 60, "precision": "f32", "label_smoothing": 0.0, "log_every": 1},
      "schedule": {"kind": "constant", "rate": 0.005, "warmup": 0},
      "validation": {"every": 20}})");
  recipe["data"]["text"] = Json::array({folder.write("train.txt", text).string()});
  return recipe;
}

TEST(DeepLanguageTask, LowerLayersStopFirstAndAllByHalf) {
  // Layer l of 4, counted from 1, stops after l / 8 of 80 steps.
  const auto lowest = [](int64_t complete) { return lowest_predicting_layer(4, complete, 80); };
  EXPECT_EQ(lowest(0), 0);
  EXPECT_EQ(lowest(9), 0);
  EXPECT_EQ(lowest(10), 1);
  EXPECT_EQ(lowest(19), 1);
  EXPECT_EQ(lowest(20), 2);
  EXPECT_EQ(lowest(29), 2);
  EXPECT_EQ(lowest(30), 3);  // the last layer goes on
  EXPECT_EQ(lowest(40), 3);
  EXPECT_EQ(lowest(80), 3);
  EXPECT_EQ(lowest_predicting_layer(1, 0, 10), 0);
  // The last but one of 64 layers until 63 / 128 = 0.492.
  EXPECT_EQ(lowest_predicting_layer(64, 492, 1000), 62);
  EXPECT_EQ(lowest_predicting_layer(64, 493, 1000), 63);
}

// Before anything is learned every prediction costs about log V, so the first loss counts them.
TEST(DeepLanguageTask, AddsUpAllPredictions) {
  const TemporaryFolder folder;
  Json recipe = deep_recipe(folder);
  recipe["train"]["steps"] = 12;
  recipe["model"]["initializer_range"] = 0.001;
  recipe["schedule"]["rate"] = 1e-7;
  const Json none = Json::object();
  const auto losses = [&](const Json& model, const Json& auxiliary) {
    Json changed = recipe;
    changed["model"].update(model);
    changed["auxiliary"] = auxiliary;
    static int run = 0;
    Watcher watcher;
    train(changed, folder / ("run" + std::to_string(run++)), watcher);
    std::vector<double> of_steps;
    for (const StepReport& step : watcher.steps) {
      of_steps.push_back(step.loss);
    }
    return of_steps;
  };
  const std::vector<double> plain = losses({{"intermediate_losses", false}, {"targets", 1}}, none);
  const double one = plain.front();
  EXPECT_NEAR(one, std::log(32.0), 0.1);  // 18 letters and four special tokens, rounded up
  EXPECT_NEAR(plain.back(), one, 0.01);
  const std::vector<double> two =
      losses({{"intermediate_losses", false}}, {{"target_weight", 0.5}});
  EXPECT_NEAR(two.front(), 1.5 * one, 0.02);
  const std::vector<double> last =
      losses({{"intermediate_losses", false}}, {{"every_position", false}});
  EXPECT_NEAR(last.front(), 1.5 * one, 0.05);
  // Three layers: the first stops after 1/6 of 12 steps, the second after 2/6.
  const std::vector<double> all = losses(none, none);
  const std::vector<double> counts{3, 3, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1};
  ASSERT_EQ(all.size(), counts.size());
  for (size_t step = 0; step < counts.size(); ++step) {
    EXPECT_NEAR(all[step], 1.5 * one * counts[step], 0.05) << "step " << step + 1;
  }
  const std::vector<double> longer = losses(none, {{"steps", 1200}});
  EXPECT_NEAR(longer.back(), 4.5 * one, 0.05);
}

TEST(DeepLanguageTask, LearnsAVerseAndSaysItsBitsPerCharacter) {
  const TemporaryFolder folder;
  Watcher watcher;
  train(deep_recipe(folder), folder / "run", watcher);
  const Score& score = watcher.validations.back().score;
  EXPECT_LT(score.loss, 0.1);
  ASSERT_EQ(score.measures.size(), 1U);
  EXPECT_EQ(score.measures[0].name, "bits_per_character");
  EXPECT_NEAR(score.measures[0].value, score.loss / std::log(2.0), 1e-12);
  const auto learned = load_as<LanguageModel>(folder / "run", DType::f32);
  const GenerateRequest request{encode_prompt(*learned->tokenizers.target, "quick")};
  const GenerateOptions options{.sampling = {.temperature = 0.0F}, .max_tokens = 25};
  EXPECT_EQ(generate(*learned, std::span(&request, 1), options).front().text,
            " fox jumps,\nquick fox jum");
}

TEST(DeepLanguageTask, TheLastPositionAloneTeachesToo) {
  const TemporaryFolder folder;
  Json recipe = deep_recipe(folder);
  recipe["auxiliary"] = {{"every_position", false}};
  recipe["train"]["accumulate"] = 2;
  Watcher watcher;
  train(recipe, folder / "run", watcher);
  EXPECT_LT(watcher.steps.back().loss, 0.5 * watcher.steps.front().loss);
}

TEST(DeepLanguageTask, AResumedRunHasTheSameBits) {
  const TemporaryFolder folder;
  expect_resumes(deep_recipe(folder), folder);
}

TEST(DeepLanguageTask, RecomputedLayersChangeNoBitAndTakeLessMemory) {
  for (const char* precision : {"f32", "bf16"}) {
    const TemporaryFolder folder;
    Json recipe = deep_recipe(folder);
    recipe["model"]["layers"] = 8;
    recipe["train"].update({{"steps", 12}, {"precision", precision}});
    recipe["optimizer"] = {{"kind", "sgd"}, {"momentum", 0.99}};
    Watcher kept;
    train(recipe, folder / "kept", kept);
    recipe["train"]["checkpoint_layers"] = true;
    Watcher again;
    train(recipe, folder / "again", again);
    expect_same_tensors(folder / "kept", folder / "again");
    EXPECT_LT(static_cast<double>(again.run.activation_bytes),
              0.6 * static_cast<double>(kept.run.activation_bytes));
    // Since the bits are the same, a run may go on with it or without it.
    recipe["train"].update({{"checkpoint_layers", false}, {"steps", 13}});
    EXPECT_EQ(train(recipe, folder / "again", true).state.step, 13);
  }
}

TEST(DeepLanguageTask, RefusesWhatDoesNotFitTogether) {
  const TemporaryFolder folder;
  Json recipe = deep_recipe(folder);
  recipe["train"] = {{"minutes", 1}};
  const std::string unknown =
      "[train] the losses of intermediate layers end by shares of the training, and the recipe "
      "does "
      "not say how long that is: set train.steps, train.epochs or auxiliary.steps, or "
      "model.intermediate_losses = false";
  const auto check_recipe = [&] {
    const Recipe parsed = parse_recipe(recipe, "test");
    parsed.kind->check_model(parsed);
  };
  expect_error(check_recipe, unknown);
  recipe["auxiliary"] = {{"steps", 100}};
  expect_error(check_recipe, "no error");
  recipe["auxiliary"] = Json::object();
  recipe["model"]["intermediate_losses"] = false;
  expect_error(check_recipe, "no error");
  recipe["model"] = {{"kind", "gpt2"}};
  EXPECT_NE(error_of(check_recipe), "no error");
  recipe["data"].erase("text");
  expect_error([&] { parse_recipe(recipe, "test"); },
               "[test] task deep_language names no training data: set data.text");
}

TEST(CheckpointLayers, NeedsAModelWithLayers) {
  const TemporaryFolder folder;
  Json recipe = deep_recipe(folder);
  recipe["task"] = "language";
  recipe["model"] = {{"kind", "rnn_language"}, {"embedding", 8}, {"hidden", 8}};
  recipe["train"].update({{"steps", 1}, {"checkpoint_layers", true}});
  expect_error([&] { train(recipe, folder / "run"); },
               "[train] train.checkpoint_layers is true, but no layer of a rnn_language can be "
               "computed again, which Transformer layers without a memory can: set it to false");
}

}  // namespace
}  // namespace heed
