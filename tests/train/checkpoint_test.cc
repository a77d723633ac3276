#include "train/checkpoint.h"

#include <gtest/gtest.h>

#include "formats/safetensors.h"
#include "support/error_of.h"
#include "support/tiny_training.h"

namespace heed {
namespace {

namespace fs = std::filesystem;
using namespace testing;
using Names = std::vector<std::string>;

TEST(Checkpoint, TheLastAreKept) {
  const TemporaryFolder folder;
  Json recipe = tiny_recipe(folder);
  recipe["train"]["steps"] = 10;
  recipe["checkpoint"] = {{"every", 3}, {"keep", 2}};
  train(recipe, folder / "two");
  EXPECT_EQ(checkpoint_names(folder / "two"), (Names{"checkpoint-9", "checkpoint-10"}));
  recipe["train"]["average"] = 3;  // needs more of them
  train(recipe, folder / "three");
  EXPECT_EQ(checkpoint_names(folder / "three"),
            (Names{"checkpoint-6", "checkpoint-9", "checkpoint-10"}));
  recipe["train"]["average"] = 0;
  recipe["checkpoint"]["every"] = 0;
  train(recipe, folder / "end");
  EXPECT_EQ(checkpoint_names(folder / "end"), Names{"checkpoint-10"});
}

TEST(Checkpoint, ListIsByStepAndHasNothingElse) {
  const TemporaryFolder folder;
  for (const char* name : {"checkpoint-10", "checkpoint-9", "checkpoint-", "checkpoint-7x",
                           "checkpoint--x", ".unfinished-11", "averaged"}) {
    fs::create_directories(folder / "run" / name);
  }
  write_file(folder / "run/checkpoint-12", "a file");
  EXPECT_EQ(checkpoint_names(folder / "run"), (Names{"checkpoint-9", "checkpoint-10"}));
  EXPECT_TRUE(list_checkpoints(folder / "none").empty());
}

TEST(Checkpoint, IsAModelFolder) {
  const TemporaryFolder folder;
  Json recipe = tiny_recipe(folder);
  recipe["train"]["steps"] = 4;
  train(recipe, folder / "run");
  const auto loaded = load_model(folder / "run/checkpoint-4", DType::f32);
  EXPECT_EQ(loaded->tokenizers.source->decode(loaded->tokenizers.source->encode("hag")), "hag");
}

// With an exponential average the folder's model is that average, the checkpoint's is not.
TEST(Checkpoint, ExponentialAverageFollowsItsFormula) {
  const TemporaryFolder folder;
  Json recipe = tiny_recipe(folder);
  without_validation(recipe);
  recipe["train"]["steps"] = 3;
  recipe["train"]["ema"] = 0.25;
  recipe["checkpoint"] = {{"every", 1}, {"keep", 10}};
  train(recipe, folder / "run");
  Watcher watcher(0);
  train(recipe, folder / "first", watcher);
  const auto load = [&](const char* file) { return SafetensorsFile(folder / file); };
  const SafetensorsFile weights[] = {
      load("first/checkpoint-0/model.safetensors"), load("run/checkpoint-1/model.safetensors"),
      load("run/checkpoint-2/model.safetensors"), load("run/checkpoint-3/model.safetensors")};
  const SafetensorsFile kept(folder / "run/model.safetensors");
  for (const TensorEntry& entry : kept.entries()) {
    const auto at = [&](const SafetensorsFile& file, int64_t i) {
      return double{file.load(file.at(entry.name)).data<float>()[i]};
    };
    const int64_t i = entry.size() / 2;
    double average = at(weights[0], i);
    for (int step = 1; step <= 3; ++step) {
      const double decay = std::min(0.25, (1.0 + step) / (10.0 + step));
      average = decay * average + (1 - decay) * at(weights[step], i);
    }
    EXPECT_NEAR(at(kept, i), average, 1e-6) << entry.name;
  }
}

TEST(Checkpoint, AverageIsTheMean) {
  const TemporaryFolder folder;
  Json recipe = tiny_recipe(folder);
  without_validation(recipe);
  recipe["train"]["steps"] = 12;
  recipe["train"]["average"] = 3;
  train(recipe, folder / "run");
  const std::vector<fs::path> parts = list_checkpoints(folder / "run");
  ASSERT_EQ(parts.size(), 3U);
  average_models(parts, folder / "mean");
  const SafetensorsFile mean(folder / "mean/model.safetensors");
  bool moved = false;
  for (const TensorEntry& entry : mean.entries()) {
    std::vector<double> sums(static_cast<size_t>(entry.size()), 0.0);
    const Tensor values = mean.load(entry);
    for (const fs::path& part : parts) {
      const SafetensorsFile file(part / "model.safetensors");
      const Tensor tensor = file.load(file.at(entry.name));
      for (size_t i = 0; i < sums.size(); ++i) {
        sums[i] += tensor.data<float>()[i];
        moved = moved || tensor.data<float>()[i] != values.data<float>()[i];
      }
    }
    for (size_t i = 0; i < sums.size(); ++i) {
      ASSERT_EQ(values.data<float>()[i], static_cast<float>(sums[i] / 3)) << entry.name;
    }
  }
  EXPECT_TRUE(moved);
  // The run did the same at its end.
  EXPECT_TRUE(read_file(folder / "run/model.safetensors") ==
              read_file(folder / "mean/model.safetensors"));
  EXPECT_NO_THROW(load_model(folder / "mean", DType::f32));
}

TEST(Checkpoint, AverageOfDifferentModelsIsAnError) {
  const TemporaryFolder folder;
  Json recipe = tiny_recipe(folder);
  recipe["train"]["steps"] = 1;
  train(recipe, folder / "a");
  recipe["model"]["width"] = 32;
  train(recipe, folder / "b");
  EXPECT_EQ(error_of([&] {
              average_models({folder / "a", folder / "b"}, folder / "c");
            }),
            fmt::format("[average] {} and {} are different models", (folder / "a").string(),
                        (folder / "b").string()));
  EXPECT_EQ(error_of([&] { average_models({}, folder / "c"); }),
            "[average] no model folders given");
  EXPECT_FALSE(fs::exists(folder / "c"));
}

}  // namespace
}  // namespace heed
