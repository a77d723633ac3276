// Runs that are interrupted and resumed end with the same bits as those that are not.
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "support/error_of.h"
#include "support/tiny_training.h"

namespace heed {
namespace {

namespace fs = std::filesystem;
using namespace testing;

// Trains with an interruption after each of the given steps.
void train_in_parts(const Json& recipe, const fs::path& run, const std::vector<int64_t>& stops) {
  bool resume = false;
  for (const int64_t stop : stops) {
    Watcher watcher(stop);
    const Ended ended = train(recipe, run, watcher, resume);
    EXPECT_EQ(ended.end, TrainEnd::interrupted);
    EXPECT_EQ(ended.state.step, stop);
    resume = true;
  }
  Watcher watcher;
  const Ended ended = train(recipe, run, watcher, true);
  EXPECT_EQ(ended.end, TrainEnd::finished);
  EXPECT_EQ(watcher.run.resumed_from, stops.back());
}

TEST(Resume, GivesTheSameBitsWhereverItWasInterrupted) {
  const TemporaryFolder folder;
  const Json recipe = tiny_recipe(folder);
  train(recipe, folder / "whole");
  const std::vector<std::string> expected{"checkpoint-16", "checkpoint-20", "checkpoint-24"};
  ASSERT_EQ(checkpoint_names(folder / "whole"), expected);
  int trial = 0;
  // Before the first step, at a checkpoint, behind one, before the last step, and several times.
  for (const std::vector<int64_t>& stops :
       std::vector<std::vector<int64_t>>{{0}, {4}, {5}, {23}, {2, 3, 7, 18}}) {
    SCOPED_TRACE(stops.front());
    const fs::path run = folder / fmt::format("parts-{}", trial++);
    train_in_parts(recipe, run, stops);
    expect_same_tensors(folder / "whole", run);
  }
}

TEST(Resume, GivesTheSameBitsWithEveryOptimizer) {
  for (const char* kind : {"adamw", "adafactor", "sm3", "sgd"}) {
    SCOPED_TRACE(kind);
    const TemporaryFolder folder;
    Json recipe = tiny_recipe(folder);
    recipe["train"]["steps"] = 8;
    recipe["optimizer"] = {{"kind", kind}, {"momentum", 0.5}};
    train(recipe, folder / "whole");
    train_in_parts(recipe, folder / "parts", {3});
    expect_same_tensors(folder / "whole", folder / "parts");
  }
}

TEST(Resume, GivesTheSameBitsInBf16) {
  const TemporaryFolder folder;
  Json recipe = tiny_recipe(folder);
  recipe["train"]["steps"] = 8;
  recipe["train"]["precision"] = "bf16";
  train(recipe, folder / "whole");
  train_in_parts(recipe, folder / "parts", {3});
  expect_same_tensors(folder / "whole", folder / "parts");
}

// A corpus that is read in pools stands in the middle of one.
TEST(Resume, GivesTheSameBitsInTheMiddleOfAPool) {
  const TemporaryFolder folder;
  Json recipe = tiny_recipe(folder);
  recipe["train"]["steps"] = 0;
  recipe["train"]["epochs"] = 2;
  recipe["data"]["pool"] = 70;
  train(recipe, folder / "whole");
  train_in_parts(recipe, folder / "parts", {2, 5, 9});
  expect_same_tensors(folder / "whole", folder / "parts");
}

// What an interruption saves in between is no part of the mean of the last checkpoints.
TEST(Resume, GivesTheSameAverage) {
  const TemporaryFolder folder;
  Json recipe = tiny_recipe(folder);
  without_validation(recipe);
  recipe["train"]["steps"] = 10;
  recipe["train"]["average"] = 4;
  recipe["checkpoint"]["keep"] = 1;
  train(recipe, folder / "whole");
  int trial = 0;
  for (const std::vector<int64_t>& stops : std::vector<std::vector<int64_t>>{{0}, {5, 7}, {9}}) {
    SCOPED_TRACE(stops.front());
    const fs::path run = folder / fmt::format("parts-{}", trial++);
    train_in_parts(recipe, run, stops);
    expect_same_tensors(folder / "whole", run);
  }
}

TEST(Resume, OfAFinishedRunChangesNothing) {
  const TemporaryFolder folder;
  Json recipe = tiny_recipe(folder);
  recipe["train"]["average"] = 2;
  train(recipe, folder / "run");
  const auto before = tensor_files(folder / "run");
  EXPECT_EQ(train(recipe, folder / "run", true).end, TrainEnd::finished);
  EXPECT_TRUE(before == tensor_files(folder / "run"));
}

TEST(Resume, OfAFinishedRunWithMoreStepsIsTheLongerRun) {
  const TemporaryFolder folder;
  Json recipe = tiny_recipe(folder);
  Json shorter = recipe;
  shorter["train"]["steps"] = 18;
  train(recipe, folder / "whole");
  train(shorter, folder / "run");
  train(recipe, folder / "run", true);
  expect_same_tensors(folder / "whole", folder / "run");
}

TEST(Resume, OfARunThatStoppedEarlyStaysStopped) {
  const TemporaryFolder folder;
  Json recipe = tiny_recipe(folder);
  recipe["train"]["steps"] = 100;
  recipe["schedule"]["rate"] = 0.0;
  recipe["validation"] = {{"every", 2}, {"patience", 3}, {"best_by", "loss"}};
  EXPECT_EQ(train(recipe, folder / "run").state.step, 8);
  const Ended again = train(recipe, folder / "run", true);
  EXPECT_EQ(again.end, TrainEnd::early_stop);
  EXPECT_EQ(again.state.step, 8);
  recipe["validation"]["patience"] = 5;  // more patience goes on
  EXPECT_EQ(train(recipe, folder / "run", true).state.step, 12);
}

TEST(Resume, WithoutACheckpointStartsAnew) {
  const TemporaryFolder folder;
  const Json recipe = tiny_recipe(folder);
  train(recipe, folder / "whole");
  train(recipe, folder / "new", true);  // not even a folder
  expect_same_tensors(folder / "whole", folder / "new");
  {
    Watcher watcher;  // killed before the first checkpoint
    const Trainer trainer(
        prepare_run(parse_recipe(recipe, "test"), folder / "begun", RunStart::anew, watcher),
        watcher);
  }
  Watcher watcher;
  train(recipe, folder / "begun", watcher, true);
  EXPECT_EQ(watcher.run.resumed_from, 0);
  expect_same_tensors(folder / "whole", folder / "begun");
}

TEST(Resume, IgnoresAndRemovesWhatAKilledRunLeft) {
  const TemporaryFolder folder;
  const Json recipe = tiny_recipe(folder);
  train(recipe, folder / "whole");
  const fs::path run = folder / "run";
  Watcher watcher(9);
  train(recipe, run, watcher);
  fs::create_directories(run / ".unfinished-12");
  write_file(run / ".unfinished-12" / "model.safetensors", "half");
  write_file(run / "model.safetensors.tmp123-4", "half");
  EXPECT_EQ(checkpoint_names(run).back(), "checkpoint-9");
  train(recipe, run, true);
  EXPECT_FALSE(fs::exists(run / ".unfinished-12"));
  EXPECT_FALSE(fs::exists(run / "model.safetensors.tmp123-4"));
  expect_same_tensors(folder / "whole", run);
}

// The line that a kill cut off and those past the checkpoint are written again.
TEST(Resume, LogHasEveryStepOnce) {
  const TemporaryFolder folder;
  Json recipe = tiny_recipe(folder);
  without_validation(recipe);
  Watcher watcher(9);
  train(recipe, folder / "run", watcher);
  const fs::path log = folder / "run/log.jsonl";
  write_file(log, read_file(log) + "{\"step\":10,\"loss\":1}\n{\"step\":11,\"lo");
  train(recipe, folder / "run", true);
  std::istringstream lines(read_file(log));
  int64_t step = 0;
  for (std::string line; std::getline(lines, line);) {
    EXPECT_EQ(Json::parse(line).at("step"), ++step) << line;
  }
  EXPECT_EQ(step, 24);
}

TEST(Resume, WithAnotherRecipeIsAnErrorThatNamesTheKey) {
  const TemporaryFolder folder;
  const Json recipe = tiny_recipe(folder);
  const fs::path run = folder / "run";
  Watcher watcher(2);
  train(recipe, run, watcher);
  const auto resumed_with = [&](const char* table, const char* key, const Json& value) {
    Json changed = recipe;
    changed[table][key] = value;
    return error_of([&] { train(changed, run, true); });
  };
  const auto expected = [&](const char* key, const char* before, const char* now) {
    return fmt::format(
        "[train] {} was begun with {} = {}, and the recipe now has {}; a resumed run must have the "
        "same (--force starts over)",
        run.string(), key, before, now);
  };
  EXPECT_EQ(resumed_with("train", "seed", 2), expected("train.seed", "1", "2"));
  EXPECT_EQ(resumed_with("model", "width", 32), expected("model.width", "16", "32"));
  EXPECT_EQ(resumed_with("optimizer", "kind", "sgd"),
            expected("optimizer.kind", "\"adam\"", "\"sgd\""));
  EXPECT_EQ(resumed_with("data", "batch_tokens", 64), expected("data.batch_tokens", "128", "64"));
  EXPECT_EQ(resumed_with("checkpoint", "every", 5), expected("checkpoint.every", "4", "5"));
  // What the weights do not depend on may change.
  EXPECT_EQ(resumed_with("train", "log_every", 7), "no error");
}

TEST(Resume, IsNeededWhereARunIsAlready) {
  const TemporaryFolder folder;
  const Json recipe = tiny_recipe(folder);
  Watcher watcher(2);
  train(recipe, folder / "run", watcher);
  EXPECT_EQ(error_of([&] { train(recipe, folder / "run"); }),
            fmt::format("[train] {} holds a run already: continue it with --resume, replace it "
                        "with --force, or give another --out",
                        (folder / "run").string()));
}

// Asks to stop in the middle of a validation, by what an op of it does.
class StopsWhileValidating : public Watcher {
 public:
  explicit StopsWhileValidating(int64_t step) : step_(step) {}
  void advanced(const Advance& advance) override { now_ = advance.step; }
  void doing(const std::string& what) override {
    stop = stop || (what == "validating" && now_ == step_);
  }

 private:
  int64_t step_;
  int64_t now_ = 0;
};

TEST(Resume, GivesTheSameBitsAfterAnInterruptedValidation) {
  const TemporaryFolder folder;
  Json recipe = tiny_recipe(folder);
  recipe["train"]["average"] = 2;
  recipe["checkpoint"]["every"] = 5;
  train(recipe, folder / "whole");
  for (const int64_t step : {5, 15, 24}) {  // the last one is that of the end
    SCOPED_TRACE(step);
    const fs::path run = folder / fmt::format("parts-{}", step);
    StopsWhileValidating watcher(step);
    const Ended ended = train(recipe, run, watcher);
    EXPECT_EQ(ended.end, TrainEnd::interrupted);
    EXPECT_EQ(ended.state.step, step);
    EXPECT_TRUE(watcher.validations.empty() || watcher.validations.back().step < step);
    EXPECT_EQ(train(recipe, run, true).end, TrainEnd::finished);
    expect_same_tensors(folder / "whole", run);
  }
}

// The flag is set by another thread, so that it hits ops of forward and backward passes.
TEST(Resume, GivesTheSameBitsAfterAnInterruptedStep) {
  const TemporaryFolder folder;
  Json recipe = tiny_recipe(folder);
  recipe["train"]["steps"] = 40;
  train(recipe, folder / "whole");
  Ended ended{TrainEnd::interrupted, {}};
  int interruptions = 0;
  for (; ended.end == TrainEnd::interrupted && interruptions < 1000; ++interruptions) {
    Watcher watcher;
    std::jthread other([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20 + 30 * interruptions));
      watcher.stop = true;
    });
    ended = train(recipe, folder / "parts", watcher, true);
  }
  EXPECT_GT(interruptions, 1);
  expect_same_tensors(folder / "whole", folder / "parts");
}

TEST(RunFolder, IsTrainedInByOneAtATime) {
  const TemporaryFolder folder;
  const Json recipe = tiny_recipe(folder);
  Watcher watcher;
  const auto run =
      prepare_run(parse_recipe(recipe, "test"), folder / "run", RunStart::anew, watcher);
  for (const bool resume : {false, true}) {
    EXPECT_EQ(error_of([&] { train(recipe, folder / "run", resume); }),
              fmt::format("[file] {} is in use by process {}; wait until it has ended, or end it",
                          (folder / "run").string(), ::getpid()));
  }
}

TEST(RunFolder, IsNotThereAfterAStartThatFailed) {
  const TemporaryFolder folder;
  Json recipe = tiny_recipe(folder);
  recipe["model"]["width"] = 15;
  EXPECT_EQ(error_of([&] { train(recipe, folder / "new/run"); }),
            "[attention] width is 15, expected a multiple of 2 heads");
  EXPECT_FALSE(fs::exists(folder / "new"));
  recipe["model"]["width"] = 16;
  folder.write("train.tgt", "too\nfew\n");  // shows when the data is read
  EXPECT_NE(error_of([&] { train(recipe, folder / "new/run"); }).find("has 2"), std::string::npos);
  EXPECT_FALSE(fs::exists(folder / "new"));
}

TEST(RunFolder, IsReplacedOnlyWhereThatIsAskedFor) {
  const TemporaryFolder folder;
  const Json recipe = tiny_recipe(folder);
  Json other = recipe;
  other["model"]["width"] = 32;
  train(recipe, folder / "whole");
  train(other, folder / "run");
  write_file(folder / "run/notes.txt", "mine");
  Json wrong = recipe;
  wrong["model"]["width"] = 15;
  const auto replace = [&](const Json& with) {
    Watcher watcher;
    Trainer trainer(
        prepare_run(parse_recipe(with, "test"), folder / "run", RunStart::replace, watcher),
        watcher);
    trainer.run(watcher.stop);
  };
  EXPECT_NE(error_of([&] { replace(wrong); }), "no error");
  EXPECT_EQ(load_config(folder / "run").spec().width, 32);  // not lost to a start that failed
  replace(recipe);
  expect_same_tensors(folder / "whole", folder / "run");
  EXPECT_EQ(read_file(folder / "run/notes.txt"), "mine");
}

TEST(RunFolder, IsNotThatOfAnotherModel) {
  const TemporaryFolder folder;
  const Json recipe = tiny_recipe(folder);
  train(recipe, folder / "run");
  average_models({folder / "run"}, folder / "model");
  for (const bool resume : {false, true}) {
    EXPECT_EQ(error_of([&] { train(recipe, folder / "model", resume); }),
              fmt::format("[train] {} holds another model: give another --out, or replace it with "
                          "--force",
                          (folder / "model").string()));
  }
}

TEST(Resume, FromDamagedFilesNamesThem) {
  for (const char* name : {"model.safetensors", "optimizer.safetensors", "state.json"}) {
    SCOPED_TRACE(name);
    const TemporaryFolder folder;
    const Json recipe = tiny_recipe(folder);
    Watcher watcher(4);
    train(recipe, folder / "run", watcher);
    const fs::path file = folder / "run" / "checkpoint-4" / name;
    fs::resize_file(file, fs::file_size(file) / 2);
    const std::string error = error_of([&] { train(recipe, folder / "run", true); });
    EXPECT_NE(error.find(file.string()), std::string::npos) << error;
    fs::remove(file);
    const std::string missing = error_of([&] { train(recipe, folder / "run", true); });
    EXPECT_NE(missing.find(file.string()), std::string::npos) << missing;
  }
}

}  // namespace
}  // namespace heed
