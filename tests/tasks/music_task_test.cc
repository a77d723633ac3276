// Training on music: it learns, a resumed run gives the same bits, and the held-out loss is what
// its comment says.
#include "tasks/music_task.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"
#include "decode/text/generate.h"
#include "ops/loss/cross_entropy.h"
#include "support/error_of.h"
#include "support/tiny_training.h"
#include "support/tunes.h"

namespace heed {
namespace {

namespace fs = std::filesystem;
using namespace testing;

// With all that a resumed run has to bring back.
Json music_recipe(const TemporaryFolder& folder) {
  write_tunes(folder / "tunes", 6, 24);
  write_tunes(folder / "held", 1, 24);
  Json recipe = Json::parse(R"({
      "task": "music",
      "data": {"max_length": 32, "batch_tokens": 256, "transpose": 2, "stretch": [0.95, 1, 1.05]},
      "model": {"width": 32, "heads": 2, "layers": 1, "hidden": 64, "relative_distance": 16,
                "dropout": 0.05, "attention_dropout": 0.05},
      "train": {"steps": 12, "precision": "f32", "accumulate": 2, "clip": 1.0, "ema": 0.9,
                "log_every": 1, "label_smoothing": 0.0},
      "schedule": {"kind": "constant", "rate": 0.01, "warmup": 0},
      "validation": {"every": 5},
      "checkpoint": {"every": 4, "keep": 3}})");
  recipe["data"]["midi"] = Json::array({(folder / "tunes").string()});
  recipe["data"]["valid_midi"] = Json::array({(folder / "held").string()});
  return recipe;
}

std::string chorale_json(int steps) {
  Json piece = Json::array();
  for (int i = 0; i < steps; ++i) {
    piece.push_back({72 + i / 4 % 3, 67, i % 8 == 0 ? -1 : 60, 48 + i / 4 % 2});
  }
  const Json pieces = Json::array({piece, piece, piece});
  return Json{{"train", pieces}, {"valid", {piece}}, {"test", {piece, piece}}}.dump();
}

TEST(MusicTask, LearnsTunesByHeart) {
  for (const bool recurrent : {false, true}) {
    SCOPED_TRACE(recurrent ? "rnn_language" : "music_transformer");
    const TemporaryFolder folder;
    Json recipe = music_recipe(folder);
    if (recurrent) {
      recipe["model"] = {
          {"kind", "rnn_language"}, {"embedding", 32}, {"hidden", 64}, {"layers", 1}};
    }
    recipe["data"]["test_midi"] = recipe["data"]["valid_midi"];
    recipe["data"]["stretch"] = {1.0};
    recipe["data"]["transpose"] = 0;
    recipe["train"] = {{"steps", 150}, {"precision", "f32"}, {"label_smoothing", 0.0}};
    recipe["validation"]["every"] = 50;
    const fs::path run = folder / "run";
    Watcher watcher;
    train(recipe, run, watcher);
    EXPECT_GT(watcher.steps.front().loss, 5.0);  // log 392 is 5.97
    EXPECT_LT(watcher.validations.back().score.loss, recurrent ? 1.5 : 0.4);
    const auto loaded = load_as<LanguageModel>(run, DType::f32);
    EXPECT_EQ(music_form(*loaded->tokenizers.target), MusicForm::performance);
    // Goes on far past the windows it learned from.
    const std::vector<GenerateRequest> requests{
        {.prompt = {loaded->tokenizers.target->special().start}}};
    const std::vector<Generated> said =
        generate(*loaded, requests, {.max_tokens = 100, .ignore_end = true});
    EXPECT_EQ(said.front().ids.size(), 100U);
    EXPECT_EQ(said.front().forgotten, 0);
    // The trainer's line about the test set.
    Watcher again;
    Trainer trainer(prepare_run(parse_recipe(recipe, "test"), run, RunStart::resume, again), again);
    const std::string line = trainer.test();
    EXPECT_NE(line.find(" nats per token, perplexity "), std::string::npos) << line;
    EXPECT_NE(line.find("over 97 in 1 pieces, END counted"), std::string::npos) << line;
  }
}

// A run that is stopped and goes on makes the same weights as one that is not.
TEST(MusicTask, ResumesToTheSameBits) {
  const TemporaryFolder folder;
  const Json recipe = music_recipe(folder);
  train(recipe, folder / "straight");
  for (const int64_t stop : {3, 8}) {
    const fs::path run = folder / ("stopped-" + std::to_string(stop));
    Watcher watcher(stop);
    EXPECT_EQ(train(recipe, run, watcher).end, TrainEnd::interrupted);
    EXPECT_EQ(train(recipe, run, true).end, TrainEnd::finished);
    EXPECT_EQ(read_file(folder / "straight" / "model.safetensors"),
              read_file(run / "model.safetensors"));
    EXPECT_EQ(read_file(folder / "straight" / "checkpoint-12" / "optimizer.safetensors"),
              read_file(run / "checkpoint-12" / "optimizer.safetensors"));
  }
}

// The mean over voice tokens, END left out, of whole pieces; computed here at once.
TEST(MusicTask, ChoralesAreJudgedByTheirVoiceTokens) {
  const TemporaryFolder folder;
  Json recipe = music_recipe(folder);
  recipe["data"] = {{"chorales", folder.write("chorales.json", chorale_json(20)).string()},
                    {"transpose", 3},
                    {"max_length", 128},
                    {"batch_tokens", 256}};
  recipe["train"]["ema"] = 0.0;
  Watcher watcher;
  train(recipe, folder / "run", watcher);
  EXPECT_EQ(load_config(folder / "run").content, Content::chorale);
  const auto loaded = load_as<LanguageModel>(folder / "run", DType::f32);
  EXPECT_EQ(music_form(*loaded->tokenizers.target), MusicForm::chorale);
  const ChoraleSplits splits = parse_chorales(chorale_json(20));
  const std::vector<int32_t> tokens =
      piece_tokens(chorale_pieces(splits.valid, MusicForm::chorale).front(), MusicForm::chorale);
  ASSERT_EQ(tokens.size(), 82U);
  const Tensor logits = loaded->model->logits(Tensor::from_ints({tokens.data(), 80}, {1, 80}));
  const float expected =
      cross_entropy(logits, Tensor::from_ints({tokens.data() + 1, 80}, {1, 80})).item();
  double best = 1e9;  // whose weights are kept
  for (const ValidationReport& report : watcher.validations) {
    best = std::min(best, report.score.loss);
  }
  EXPECT_NEAR(best, expected, 1e-4);
  EXPECT_LT(best, watcher.validations.front().score.loss + 1e-9);
  Watcher again;
  Trainer trainer(
      prepare_run(parse_recipe(recipe, "test"), folder / "run", RunStart::resume, again), again);
  EXPECT_NE(trainer.test().find("over 160 in 2 pieces, END not counted"), std::string::npos);
}

TEST(MusicTask, HoldsOutFilesByTheirNames) {
  const TemporaryFolder folder;
  Json recipe = music_recipe(folder);
  write_tunes(folder / "tunes", 40, 4);
  recipe["data"].erase("valid_midi");
  recipe["data"]["valid_share"] = 0.3;
  const auto begun = [&](const Json& wanted, const char* run) {
    Watcher watcher;
    const Trainer trainer(
        prepare_run(parse_recipe(wanted, "test"), folder / run, RunStart::anew, watcher), watcher);
    return watcher.run;
  };
  // A batch of 256 tokens takes eight of these tunes of 17, which count as 32.
  int64_t kept = 0;
  for (int i = 0; i < 40; ++i) {
    const RandomStream random{stream_of(fmt::format("tune-{}.mid", i)), 0};
    kept += random.uniform(0) < 0.3F ? 0 : 1;
  }
  EXPECT_NEAR(static_cast<double>(kept), 28.0, 10.0);
  EXPECT_EQ(begun(recipe, "share").epoch_batches, (kept + 7) / 8);
  recipe["data"]["valid_share"] = 0.0;
  EXPECT_EQ(begun(recipe, "all").epoch_batches, 5);
}

TEST(MusicTask, BadFilesAreSkippedAndNamed) {
  const TemporaryFolder folder;
  const Json recipe = music_recipe(folder);
  const std::string broken = folder.write("tunes/broken.mid", "MThd").string();
  Watcher watcher;
  const Trainer trainer(
      prepare_run(parse_recipe(recipe, "test"), folder / "run", RunStart::anew, watcher), watcher);
  EXPECT_NE(watcher.run.skipped.find("skipped 1 MIDI file"), std::string::npos);
  EXPECT_NE(watcher.run.skipped.find(broken), std::string::npos);
}

TEST(MusicTask, Errors) {
  const TemporaryFolder folder;
  const Json recipe = music_recipe(folder);
  int runs = 0;
  const auto error_with = [&](const char* table, const char* key, const Json& value) {
    Json changed = recipe;
    changed[table][key] = value;
    return error_of([&] { train(changed, folder / ("run" + std::to_string(++runs))); });
  };
  EXPECT_EQ(error_with("data", "midi", Json::array()),
            "[test] task music trains on exactly one of: data.midi, data.chorales, or builtin = "
            "\"demo\"");
  EXPECT_EQ(error_with("data", "chorales", "x.json"),
            "[test] task music trains on exactly one of: data.midi, data.chorales, or builtin = "
            "\"demo\"");
  EXPECT_EQ(error_with("data", "form", "chorale"),
            "[test] data.form is chorale, which only data.chorales can have");
  EXPECT_EQ(error_with("data", "stretch", Json::array()),
            "[test] data.stretch has no factor, expected at least one");
  EXPECT_NE(error_with("data", "stretch", Json::array({-1.0})), "no error");
  const std::string none = (folder / "none").string();
  EXPECT_EQ(error_with("data", "midi", Json::array({none})), "[music] " + none + " does not exist");
  const std::string broken = folder.write("broken.mid", "MThd").string();
  EXPECT_NE(error_with("data", "valid_midi", Json::array({broken})).find(broken),
            std::string::npos);
  EXPECT_EQ(error_with("model", "kind", "bert").substr(0, 6), "[test]");  // has no such fields
  Json chorales = recipe;
  chorales["data"].erase("midi");
  chorales["data"]["chorales"] = folder.write("bad.json", "{\"train\": 3}").string();
  EXPECT_EQ(error_of([&] { train(chorales, folder / "own"); }),
            "[test] data.chorales has its own valid and test pieces: leave valid_midi, test_midi "
            "and valid_share out");
  chorales["data"].erase("valid_midi");
  EXPECT_NE(error_of([&] { train(chorales, folder / "bad"); }).find("bad.json"), std::string::npos);
}

}  // namespace
}  // namespace heed
