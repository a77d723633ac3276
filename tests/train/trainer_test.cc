#include "train/trainer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "formats/safetensors.h"
#include "support/error_of.h"
#include "support/tiny_training.h"
#include "train/validation.h"

namespace heed {
namespace {

namespace fs = std::filesystem;
using namespace testing;

std::vector<float> values_of(const fs::path& file) {
  const SafetensorsFile stored(file);
  std::vector<float> values;
  for (const TensorEntry& entry : stored.entries()) {
    std::vector<float> part(static_cast<size_t>(entry.size()));
    stored.copy(entry, std::span<float>(part));
    values.insert(values.end(), part.begin(), part.end());
  }
  return values;
}

TEST(Trainer, LearnsAndLeavesAModelFolder) {
  const TemporaryFolder folder;
  Json recipe = tiny_recipe(folder);
  recipe["train"]["steps"] = 150;
  Watcher watcher;
  const Ended ended = train(recipe, folder / "run", watcher);
  EXPECT_EQ(ended.end, TrainEnd::finished);
  EXPECT_EQ(ended.state.step, 150);
  ASSERT_EQ(watcher.steps.size(), 150U);
  const auto mean = [&](size_t begin) {
    return std::accumulate(&watcher.steps[begin], &watcher.steps[begin] + 10, 0.0,
                           [](double sum, const StepReport& step) { return sum + step.loss; }) /
           10;
  };
  EXPECT_LT(mean(140), 0.8 * mean(0));
  EXPECT_LT(watcher.validations.back().score.loss, 0.7 * watcher.validations.front().score.loss);
  for (const char* name : {"recipe.json", "config.json", "model.safetensors", "vocabulary.json",
                           "log.jsonl", "checkpoint-148", "checkpoint-150"}) {
    EXPECT_TRUE(fs::exists(folder / "run" / name)) << name;
  }
  const auto loaded = load_model(folder / "run", DType::f32);
  const ValidationSet set(folder / "valid.src", folder / "valid.tgt",
                          {.tokenizers = loaded->tokenizers, .batch_tokens = 128});
  double best = watcher.validations.front().score.loss;
  for (const ValidationReport& report : watcher.validations) {
    best = std::min(best, report.score.loss);
  }
  EXPECT_NEAR(set.loss(token_loss(*loaded->model)), best,
              1e-6);  // what is kept is the best, not the last
}

TEST(Trainer, BeginsWithAnotherModel) {
  const TemporaryFolder folder;
  Json recipe = tiny_recipe(folder);
  recipe["train"]["steps"] = 4;
  train(recipe, folder / "first");
  recipe["train"]["from"] = (folder / "first").string();
  recipe["train"]["steps"] = 1;
  recipe["schedule"]["rate"] = 0.0;
  recipe["model"]["width"] = 8;  // the folder's counts
  train(recipe, folder / "second");
  EXPECT_EQ(values_of(folder / "second/model.safetensors"),
            values_of(folder / "first/model.safetensors"));
}

TEST(Trainer, ReportsWhatItDoes) {
  const TemporaryFolder folder;
  Json recipe = tiny_recipe(folder);
  recipe["train"]["steps"] = 0;
  recipe["train"]["epochs"] = 2;
  Watcher watcher;
  const Ended ended = train(recipe, folder / "run", watcher);
  EXPECT_EQ(ended.end, TrainEnd::finished);
  ASSERT_TRUE(watcher.run.epoch_batches.has_value());
  ASSERT_TRUE(watcher.run.total_steps.has_value());
  EXPECT_EQ(*watcher.run.total_steps, *watcher.run.epoch_batches);  // two epochs, two a step
  EXPECT_EQ(ended.state.step, *watcher.run.total_steps);
  EXPECT_EQ(ended.state.data.epoch, 2);
  EXPECT_EQ(watcher.run.parameters, std::ssize(values_of(folder / "run/model.safetensors")));
  EXPECT_DOUBLE_EQ(watcher.steps.back().done, 1.0);
  EXPECT_EQ(watcher.steps.back().learning_rate, 0.01);
  EXPECT_EQ(watcher.validations.back().step, ended.state.step);  // the last model is judged too
  EXPECT_FALSE(watcher.validations.back().score.example.empty());
}

// Two batches that make one step count by their tokens, as one batch of both would.
TEST(Trainer, AccumulatedBatchesAreAsOne) {
  const TemporaryFolder folder;
  Json recipe = tiny_recipe(folder);
  without_validation(recipe);
  recipe["data"]["source"] = Json::array({folder.write("two.src", "abc\nabcdefghabcd\n").string()});
  recipe["data"]["target"] = Json::array({folder.write("two.tgt", "cba\ndcbahgfedcba\n").string()});
  recipe["model"]["dropout"] = 0.0;
  recipe["model"]["attention_dropout"] = 0.0;
  recipe["model"]["hidden_dropout"] = 0.0;
  recipe["train"] = {{"steps", 1}, {"precision", "f32"}, {"accumulate", 2}};
  recipe["optimizer"] = {{"kind", "sgd"}};
  recipe["data"]["batch_tokens"] = 16;
  Json at_once = recipe;
  at_once["train"]["accumulate"] = 1;
  at_once["data"]["batch_tokens"] = 64;
  Watcher parts;
  train(recipe, folder / "parts", parts);
  Watcher whole;
  train(at_once, folder / "whole", whole);
  ASSERT_EQ(parts.run.epoch_batches, 2);
  ASSERT_EQ(whole.run.epoch_batches, 1);
  EXPECT_NEAR(parts.steps.front().loss, whole.steps.front().loss, 1e-6);
  const auto a = values_of(folder / "parts/model.safetensors");
  const auto b = values_of(folder / "whole/model.safetensors");
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    ASSERT_NEAR(a[i], b[i], 1e-6) << i;
  }
}

TEST(Trainer, ClipsTheGradient) {
  const TemporaryFolder folder;
  Json recipe = tiny_recipe(folder);
  without_validation(recipe);
  recipe["train"] = {{"steps", 2}, {"precision", "f32"}, {"clip", 0.001}, {"log_every", 1}};
  recipe["optimizer"] = {{"kind", "sgd"}};
  recipe["schedule"]["rate"] = 1.0;
  recipe["checkpoint"]["every"] = 1;
  Watcher watcher;
  train(recipe, folder / "run", watcher);
  EXPECT_GT(watcher.steps.back().gradient_norm, 0.01);
  const auto before = values_of(folder / "run/checkpoint-1/model.safetensors");
  const auto after = values_of(folder / "run/checkpoint-2/model.safetensors");
  double squares = 0.0;
  for (size_t i = 0; i < before.size(); ++i) {
    squares += (double{after[i]} - before[i]) * (double{after[i]} - before[i]);
  }
  EXPECT_NEAR(std::sqrt(squares), 0.001, 1e-5);
}

TEST(Trainer, GivesUpAfterStepsThatAreNotFinite) {
  const TemporaryFolder folder;
  Json recipe = tiny_recipe(folder);
  without_validation(recipe);
  recipe["train"]["most_skips"] = 3;
  recipe["schedule"]["rate"] = 1e30;
  recipe["checkpoint"] = {{"every", 1}, {"keep", 10}};
  Watcher watcher;
  Trainer trainer(
      prepare_run(parse_recipe(recipe, "test"), folder / "run", RunStart::anew, watcher), watcher);
  const std::string error = error_of([&] { trainer.run(watcher.stop); });
  EXPECT_EQ(error.rfind("[train] 3 steps in a row had a loss or gradient that is not finite", 0),
            0U)
      << error;
  EXPECT_NE(error.find("Try a lower schedule.rate"), std::string::npos) << error;
  EXPECT_EQ(trainer.state().skipped, 3);
  EXPECT_EQ(trainer.state().skipped_in_row, 3);
  // The steps before the last attempt left checkpoints: steps 1 (finite), then two skipped.
  const std::vector<fs::path> checkpoints = list_checkpoints(folder / "run");
  ASSERT_EQ(std::ssize(checkpoints), trainer.state().step - 1);
  ASSERT_GE(checkpoints.size(), 3U);
  const fs::path& last_good = checkpoints[checkpoints.size() - 3];
  for (size_t i = checkpoints.size() - 2; i < checkpoints.size(); ++i) {
    for (const char* name : {"model.safetensors", "optimizer.safetensors"}) {
      EXPECT_TRUE(read_file(checkpoints[i] / name) == read_file(last_good / name)) << name;
    }
  }
}

// A validation loss that is no number is not the best, and can be saved and resumed.
TEST(Trainer, AModelThatIsNotFiniteIsNeverTheBest) {
  const TemporaryFolder folder;
  Json recipe = tiny_recipe(folder);
  recipe["train"]["steps"] = 3;
  recipe["schedule"]["rate"] = 1e30;
  recipe["validation"] = {{"every", 2}, {"best_by", "loss"}};
  Watcher watcher;
  const Ended ended = train(recipe, folder / "run", watcher);
  ASSERT_FALSE(std::isfinite(watcher.validations.front().score.loss));
  EXPECT_FALSE(watcher.validations.front().best);
  EXPECT_EQ(ended.state.best_step, -1);
  EXPECT_FALSE(fs::exists(folder / "run/model.safetensors"));
  EXPECT_EQ(error_of([&] { train(recipe, folder / "run", true); }), "no error");
}

TEST(Trainer, StopsEarlyWhenPatienceEnds) {
  const TemporaryFolder folder;
  Json recipe = tiny_recipe(folder);
  recipe["train"]["steps"] = 100;
  recipe["schedule"]["rate"] = 0.0;  // the first validation stays the best
  recipe["validation"] = {{"every", 2}, {"patience", 3}, {"best_by", "loss"}};
  Watcher watcher;
  const Ended ended = train(recipe, folder / "run", watcher);
  EXPECT_EQ(ended.end, TrainEnd::early_stop);
  EXPECT_EQ(ended.state.step, 8);
  EXPECT_EQ(ended.state.best_step, 2);
  ASSERT_EQ(watcher.validations.size(), 4U);
  EXPECT_TRUE(watcher.validations.front().best);
  EXPECT_FALSE(watcher.validations.back().best);
  EXPECT_EQ(checkpoint_names(folder / "run").back(), "checkpoint-8");
}

TEST(Trainer, StopsWhenItsMinutesAreOver) {
  const TemporaryFolder folder;
  Json recipe = tiny_recipe(folder);
  recipe["train"]["steps"] = 0;
  recipe["train"]["minutes"] = 0.005;
  without_validation(recipe);
  recipe["checkpoint"]["every"] = 0;
  Watcher watcher;
  const Ended ended = train(recipe, folder / "run", watcher);
  EXPECT_EQ(ended.end, TrainEnd::finished);
  EXPECT_GE(ended.state.seconds, 0.3);
  EXPECT_LT(watcher.steps[watcher.steps.size() - 2].seconds, 0.3);  // not a step more
  EXPECT_EQ(checkpoint_names(folder / "run"),
            std::vector<std::string>{fmt::format("checkpoint-{}", ended.state.step)});
}

// Sequences as long as learned positions allow can be trained on, and not only those of 32.
TEST(Trainer, TakesModelsWithFewPositions) {
  const TemporaryFolder folder;
  Json recipe = tiny_recipe(folder);
  recipe["train"]["steps"] = 2;
  recipe["model"]["positions"] = "learned";
  recipe["model"]["longest"] = 16;
  EXPECT_EQ(error_of([&] { train(recipe, folder / "run"); }), "no error");
}

}  // namespace
}  // namespace heed
