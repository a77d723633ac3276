// Training to accompany: it learns, uses the melody, and a resumed run gives the same bits.
#include "tasks/accompany_task.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "support/error_of.h"
#include "support/tiny_training.h"
#include "train/validation.h"

namespace heed {
namespace {

using namespace testing;

// Sopranos by chance, a new pitch every second sixteenth; the other voices follow from them.
std::string chorales_by_rule() {
  uint64_t drawn = 0;
  const RandomStream random{5, 0};
  const auto pieces = [&](int count) {
    Json all = Json::array();
    for (int i = 0; i < count; ++i) {
      Json piece = Json::array();
      int soprano = 0;
      for (int step = 0; step < 12; ++step) {
        soprano = step % 2 == 0 ? 70 + static_cast<int>(random.bits(drawn++) % 6) : soprano;
        piece.push_back({soprano, soprano - 4, soprano - 9, soprano - 24});
      }
      all.push_back(piece);
    }
    return all;
  };
  return Json{{"train", pieces(1000)}, {"valid", pieces(4)}, {"test", pieces(3)}}.dump();
}

Json accompany_recipe(const TemporaryFolder& folder) {
  Json recipe = Json::parse(R"({
      "task": "accompany",
      "data": {"max_length": 64, "batch_tokens": 512},
      "model": {"width": 32, "heads": 2, "encoder_layers": 1, "decoder_layers": 1, "hidden": 64,
                "dropout": 0.0, "attention_dropout": 0.0, "hidden_dropout": 0.0},
      "train": {"steps": 300, "precision": "f32", "label_smoothing": 0.0, "log_every": 1},
      "schedule": {"kind": "constant", "rate": 0.005, "warmup": 0},
      "validation": {"every": 50}})");
  recipe["data"]["chorales"] = folder.write("chorales.json", chorales_by_rule()).string();
  return recipe;
}

TEST(AccompanyTask, LearnsToFollowTheMelody) {
  const TemporaryFolder folder;
  const Json recipe = accompany_recipe(folder);
  Watcher watcher;
  train(recipe, folder / "run", watcher);
  EXPECT_GT(watcher.steps.front().loss, 3.5);  // log 133 is 4.9
  // Without the melody a new pitch costs log 6 in every sixth token: 0.3 nats.
  EXPECT_LT(watcher.validations.back().score.loss, 0.15);
  const auto loaded = load_model(folder / "run", DType::f32);
  EXPECT_EQ(music_form(*loaded->tokenizers.target), MusicForm::chorale);
  const std::vector<HostBatch> held_out = accompany_batches(
      chorale_pieces(parse_chorales(chorales_by_rule()).valid, MusicForm::chorale),
      {.form = MusicForm::chorale, .length = 64, .batch_tokens = 512});
  double best = 1e9;  // whose weights are kept
  for (const ValidationReport& report : watcher.validations) {
    best = std::min(best, report.score.loss);
  }
  EXPECT_NEAR(mean_loss(token_loss(*loaded->model), held_out), best, 1e-4);
  Watcher again;
  const Trainer trainer(
      prepare_run(parse_recipe(recipe, "test"), folder / "run", RunStart::resume, again), again);
  const std::string line = trainer.test();
  EXPECT_NE(line.find(" nats per token of the accompaniment, perplexity 1."), std::string::npos)
      << line;
  EXPECT_NE(line.find("over 108 in 3 pieces, END not counted"), std::string::npos) << line;
}

// Also of performances, with all that a resumed run has to bring back.
TEST(AccompanyTask, ResumesToTheSameBits) {
  const TemporaryFolder folder;
  Json recipe = accompany_recipe(folder);
  recipe["data"].update(
      {{"form", "performance"}, {"transpose", 2}, {"stretch", {0.9, 1.0}}, {"max_length", 48}});
  recipe["model"]["dropout"] = 0.1;
  recipe["train"].update({{"steps", 8}, {"accumulate", 2}, {"ema", 0.9}, {"agreement", 0.5}});
  recipe["checkpoint"] = {{"every", 3}};
  Watcher straight;
  train(recipe, folder / "straight", straight);
  EXPECT_GT(straight.steps.front().loss, 4.5);  // log 392 is 5.97
  EXPECT_LT(straight.steps.back().loss, straight.steps.front().loss);
  Watcher watcher(5);
  EXPECT_EQ(train(recipe, folder / "stopped", watcher).end, TrainEnd::interrupted);
  EXPECT_EQ(train(recipe, folder / "stopped", true).end, TrainEnd::finished);
  EXPECT_EQ(read_file(folder / "straight" / "model.safetensors"),
            read_file(folder / "stopped" / "model.safetensors"));
}

TEST(AccompanyTask, Errors) {
  const TemporaryFolder folder;
  const Json recipe = accompany_recipe(folder);
  Json demo = recipe;
  demo["data"] = {{"builtin", "demo"}};
  EXPECT_EQ(error_of([&] { parse_recipe(demo, "test"); }),
            "[test] the built-in pieces have one voice, so there is no accompaniment to learn: set "
            "data.midi or data.chorales");
  Json none = recipe;
  none["data"].erase("chorales");
  EXPECT_EQ(error_of([&] { parse_recipe(none, "test"); }),
            "[test] task accompany trains on exactly one of: data.midi, data.chorales");
  Json decoder = recipe;
  decoder["model"] = {{"kind", "music_transformer"}, {"width", 16}, {"heads", 2}};
  EXPECT_EQ(error_of([&] { train(decoder, folder / "decoder"); }),
            "[model] a music_transformer is not a sequence-to-sequence model");
}

}  // namespace
}  // namespace heed
