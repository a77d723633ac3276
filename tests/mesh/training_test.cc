// Trainings on a mesh: the same steps as on one process, checkpoints that any mesh opens, runs that
// are repeated and resumed to the bit.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <mutex>

#include "support/error_of.h"
#include "support/thread_mesh.h"
#include "support/tiny_training.h"

namespace heed::testing {
namespace {

namespace fs = std::filesystem;

// Plain gradient descent: Adam's first steps would make as much of rounding as of gradients.
// Dropout only where nothing is split.
Json mesh_recipe(const TemporaryFolder& folder) {
  Json recipe = tiny_recipe(folder);
  recipe["model"].update(
      {{"heads", 4}, {"hidden", 32}, {"attention_dropout", 0.0}, {"hidden_dropout", 0.0}});
  recipe["train"].update({{"steps", 20}, {"accumulate", 4}});
  recipe["data"]["batch_tokens"] = 48;
  recipe["optimizer"] = {{"kind", "sgd"}, {"momentum", 0.5}};
  recipe["schedule"]["rate"] = 0.05;
  return recipe;
}

std::vector<double> losses_of(const Watcher& watcher) {
  std::vector<double> losses;
  for (const StepReport& step : watcher.steps) {
    losses.push_back(step.loss);
  }
  return losses;
}

struct MeshRun {
  std::vector<double> losses;       // of the first process
  std::vector<double> validations;  // likewise
  TrainEnd end = TrainEnd::finished;
};

MeshRun train_on(const MeshConfig& config, Json recipe, const fs::path& run, int64_t stop_at = -1,
                 RunStart start = RunStart::anew) {
  recipe["mesh"] = config::write(config);
  MeshRun result;
  on_mesh(config, [&](const Mesh& mesh) {
    Watcher watcher(mesh.leads() ? stop_at : -1);
    Trainer trainer(prepare_run(parse_recipe(recipe, "test"), run, start, watcher, mesh), watcher);
    const TrainEnd end = trainer.run(watcher.stop);
    if (mesh.leads()) {
      result.losses = losses_of(watcher);
      result.end = end;
      for (const ValidationReport& report : watcher.validations) {
        result.validations.push_back(report.score.loss);
      }
    }
  });
  return result;
}

double largest_difference(const std::vector<double>& a, const std::vector<double>& b) {
  EXPECT_EQ(a.size(), b.size());
  double largest = 0.0;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    largest = std::max(largest, std::abs(a[i] - b[i]));
  }
  return largest;
}

const std::vector<std::string> kMeshes = {"batch:2", "batch:4", "batch:2,model:2",
                                          "batch:1,model:4"};

TEST(MeshTraining, MakesTheStepsOfOneProcess) {
  const TemporaryFolder folder;
  const Json recipe = mesh_recipe(folder);
  Watcher watcher;
  train(recipe, folder / "one", watcher);
  ASSERT_EQ(watcher.steps.size(), 20U);
  ASSERT_LT(watcher.steps.back().loss, watcher.steps.front().loss - 0.1);
  for (const std::string& axes : kMeshes) {
    for (const bool sharded : {false, true}) {
      SCOPED_TRACE(axes + (sharded ? ", sharded" : ""));
      const MeshRun run = train_on({.axes = axes, .sharded = sharded, .bucket = 0.001}, recipe,
                                   folder / (axes + (sharded ? "-sharded" : "")));
      EXPECT_LT(largest_difference(run.losses, losses_of(watcher)), 1e-5);
      ASSERT_EQ(run.validations.size(), watcher.validations.size());
      EXPECT_NEAR(run.validations.back(), watcher.validations.back().score.loss, 1e-5);
    }
  }
}

TEST(MeshTraining, ShardsEveryOptimizer) {
  for (const char* kind : {"adam", "adamw", "adafactor", "sm3", "sgd"}) {
    SCOPED_TRACE(kind);
    const TemporaryFolder folder;
    Json recipe = mesh_recipe(folder);
    recipe["train"]["steps"] = 6;
    recipe["optimizer"] = {{"kind", kind}, {"momentum", 0.5}, {"epsilon", 1e-3}};
    recipe["schedule"]["rate"] = 0.002;
    const MeshRun whole = train_on({.axes = "batch:2"}, recipe, folder / "whole");
    const MeshRun sharded =
        train_on({.axes = "batch:2", .sharded = true}, recipe, folder / "parts");
    EXPECT_EQ(whole.losses, sharded.losses);
    expect_same_tensors(folder / "whole", folder / "parts");
  }
}

TEST(MeshTraining, GivesTheSameBitsAgainAndAfterResume) {
  for (const MeshConfig& config :
       {MeshConfig{.axes = "batch:2", .bucket = 0.001}, MeshConfig{.axes = "batch:2,model:2"},
        MeshConfig{.axes = "batch:2", .wire = "bf16", .sharded = true, .bucket = 0.001}}) {
    for (const char* precision : {"f32", "bf16"}) {
      SCOPED_TRACE(config.axes + " " + config.wire + " " + precision);
      const TemporaryFolder folder;
      Json recipe = mesh_recipe(folder);
      recipe["train"]["precision"] = precision;
      recipe["train"]["steps"] = 10;
      recipe["optimizer"] = {{"kind", "adam"}};
      const MeshRun first = train_on(config, recipe, folder / "first");
      const MeshRun second = train_on(config, recipe, folder / "second");
      EXPECT_EQ(first.losses, second.losses);
      expect_same_tensors(folder / "first", folder / "second");
      EXPECT_EQ(train_on(config, recipe, folder / "third", 7).end, TrainEnd::interrupted);
      train_on(config, recipe, folder / "third", -1, RunStart::resume);
      expect_same_tensors(folder / "first", folder / "third");
    }
  }
}

TEST(MeshTraining, CheckpointsOpenOnAnyMesh) {
  const TemporaryFolder folder;
  Json recipe = mesh_recipe(folder);
  recipe["train"]["steps"] = 12;
  recipe["optimizer"] = {{"kind", "adam"}, {"epsilon", 1e-3}};
  recipe["schedule"]["rate"] = 0.002;
  const MeshRun whole =
      train_on({.axes = "batch:2,model:2", .sharded = true}, recipe, folder / "a");
  for (const std::string axes : {"batch:1", "batch:4", "batch:1,model:4"}) {
    SCOPED_TRACE(axes);
    const fs::path run = folder / axes;
    train_on({.axes = "batch:2,model:2", .sharded = true}, recipe, run, 8);
    const MeshRun rest = train_on({.axes = axes}, recipe, run, -1, RunStart::resume);
    ASSERT_EQ(rest.losses.size(), 4U);
    EXPECT_LT(largest_difference(rest.losses, {whole.losses.begin() + 8, whole.losses.end()}),
              1e-5);
    EXPECT_NEAR(rest.validations.back(), whole.validations.back(), 1e-5);
  }
}

// Memories of earlier segments are rows of the process that has their streams.
TEST(MeshTraining, SharesTheStreamsOfATransformerXl) {
  const TemporaryFolder folder;
  Json recipe = mesh_recipe(folder);
  recipe["task"] = "language";
  recipe["data"] = {
      {"text", Json::array({folder.write("text", letter_words(3, 400, false)).string()})},
      {"max_length", 8},
      {"batch_tokens", 32},
      {"valid_share", 0.1}};
  recipe["model"] = {{"kind", "transformer_xl"},
                     {"width", 16},
                     {"heads", 4},
                     {"hidden", 32},
                     {"layers", 2},
                     {"memory", 8},
                     {"dropout", 0.0},
                     {"attention_dropout", 0.0},
                     {"hidden_dropout", 0.0}};
  recipe["train"]["accumulate"] = 1;
  Watcher watcher;
  train(recipe, folder / "one", watcher);
  for (const std::string axes : {"batch:2", "batch:2,model:2"}) {
    SCOPED_TRACE(axes);
    const MeshRun run = train_on({.axes = axes}, recipe, folder / axes);
    EXPECT_LT(largest_difference(run.losses, losses_of(watcher)), 1e-5);
    EXPECT_EQ(train_on({.axes = axes}, recipe, folder / (axes + "-parts"), 7).end,
              TrainEnd::interrupted);
    train_on({.axes = axes}, recipe, folder / (axes + "-parts"), -1, RunStart::resume);
    expect_same_tensors(folder / axes, folder / (axes + "-parts"));
  }
}

// Code books learn from the latents of all processes.
TEST(MeshTraining, CodeBooksLearnFromAllProcesses) {
  const TemporaryFolder folder;
  Json recipe = mesh_recipe(folder);
  recipe["task"] = "translate_latent";
  recipe["model"].update({{"kind", "latent_transformer"},
                          {"bottleneck", "vector_quantiser"},
                          {"codes", 8},
                          {"slices", 2},
                          {"shorten", 2},
                          {"dropout", 0.0},
                          {"autoencoder_dropout", 0.0}});
  recipe["train"]["steps"] = 6;
  Watcher watcher;
  train(recipe, folder / "one", watcher);
  const MeshRun run = train_on({.axes = "batch:2"}, recipe, folder / "two");
  EXPECT_LT(largest_difference(run.losses, losses_of(watcher)), 1e-4);
}

TEST(MeshTraining, RefusesAProcessThatDiffers) {
  const TemporaryFolder folder;
  const Json recipe = mesh_recipe(folder);
  const std::string text = error_of([&] {
    on_mesh({.axes = "batch:2"}, [&](const Mesh& mesh) {
      Json own = recipe;
      own["schedule"]["rate"] = mesh.leads() ? 0.05 : 0.06;
      Watcher watcher;
      prepare_run(parse_recipe(own, "test"), folder / "run", RunStart::anew, watcher, mesh);
    });
  });
  EXPECT_NE(text.find("the recipe of process 1 is"), std::string::npos) << text;
  EXPECT_NE(text.find("0.06"), std::string::npos) << text;
  EXPECT_NE(text.find("0.05"), std::string::npos) << text;
}

TEST(MeshTraining, SaysHowManyBatchesAStepNeeds) {
  const TemporaryFolder folder;
  Json recipe = mesh_recipe(folder);
  recipe["train"]["accumulate"] = 3;
  const std::string text = error_of([&] { train_on({.axes = "batch:2"}, recipe, folder / "run"); });
  EXPECT_NE(text.find("a step has 3 batches"), std::string::npos) << text;
  EXPECT_NE(text.find("multiple of 2"), std::string::npos) << text;
}

}  // namespace
}  // namespace heed::testing
