// Training a language model: it learns, a resumed run gives the same bits, and it may begin with
// another model's weights.
#include "tasks/language_task.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/file.h"
#include "decode/text/generate.h"
#include "support/error_of.h"
#include "support/tiny_training.h"

namespace heed {
namespace {

namespace fs = std::filesystem;
using namespace testing;

constexpr const char* kVerse = "the fox sees the dog, and the dog sees the fox.\n";

std::string repeated(const std::string& verse, int count) {
  std::string text;
  for (int i = 0; i < count; ++i) {
    text += verse;
  }
  return text;
}

// With all that a resumed run has to bring back.
Json language_recipe(const TemporaryFolder& folder) {
  Json recipe = Json::parse(R"({
      "task": "language",
      "data": {"max_length": 32, "batch_tokens": 256},
      "text": {"kind": "char"},
      "model": {"kind": "gpt2", "context": 32, "width": 32, "heads": 2, "layers": 1,
                "dropout": 0.05, "embedding_dropout": 0.05, "attention_dropout": 0.05},
      "train": {"steps": 12, "precision": "f32", "accumulate": 2, "clip": 1.0, "ema": 0.9,
                "log_every": 1, "label_smoothing": 0.0},
      "schedule": {"kind": "constant", "rate": 0.01, "warmup": 0},
      "validation": {"every": 5},
      "checkpoint": {"every": 4, "keep": 3}})");
  recipe["data"]["text"] = Json::array({folder.write("train.txt", repeated(kVerse, 40)).string()});
  recipe["data"]["valid_text"] = folder.write("valid.txt", repeated(kVerse, 3)).string();
  return recipe;
}

TEST(LanguageTask, LearnsAVerseByHeart) {
  const TemporaryFolder folder;
  Json recipe = language_recipe(folder);
  const std::string verse = "quick fox jumps,\n";
  folder.write("train.txt", repeated(verse, 100));
  folder.write("valid.txt", repeated(verse, 8));
  recipe["data"]["test_text"] = folder.write("test.txt", repeated(verse, 3)).string();
  recipe["train"] = {{"steps", 60}, {"precision", "f32"}, {"label_smoothing", 0.0}};
  recipe["validation"]["every"] = 20;
  const fs::path run = folder / "run";
  Watcher watcher;
  Trainer trainer(prepare_run(parse_recipe(recipe, "test"), run, RunStart::anew, watcher), watcher);
  EXPECT_EQ(trainer.run(watcher.stop), TrainEnd::finished);
  ASSERT_EQ(watcher.validations.size(), 3U);
  EXPECT_LT(watcher.validations.back().score.loss, 0.4);  // guessing costs log(17) = 2.8
  EXPECT_TRUE(watcher.validations.back().score.metric.empty());
  // 17 characters three times and END, of which all but the first are foreseen.
  const std::string line = trainer.test();
  EXPECT_TRUE(line.starts_with("test " + (folder / "test.txt").string() + ": loss 0.")) << line;
  EXPECT_TRUE(line.ends_with(" over 51 tokens")) << line;

  const auto model = load_as<LanguageModel>(run, DType::f32);
  EXPECT_EQ(model->config.model.at("vocabulary").get<int64_t>() % 16, 0);
  const GenerateRequest request{encode_prompt(*model->tokenizers.target, "quick")};
  const auto said = generate(*model, std::span(&request, 1),
                             {.sampling = {.temperature = 0.0F}, .max_tokens = 20});
  EXPECT_EQ(said.front().text, " fox jumps,\nquick fo");
}

// The loss of a model that knows nothing is the vocabulary's size.
TEST(LanguageTask, BeginsAtChance) {
  const TemporaryFolder folder;
  Json recipe = language_recipe(folder);
  recipe["train"]["steps"] = 1;
  recipe["schedule"]["rate"] = 0.0;
  Watcher watcher;
  train(recipe, folder / "run", watcher);
  const double rows = load_config(folder / "run").model.at("vocabulary").get<double>();
  EXPECT_NEAR(watcher.validations.back().score.loss, std::log(rows), 0.05);
  EXPECT_NEAR(watcher.steps.back().loss, std::log(rows), 0.05);
}

TEST(LanguageTask, ResumedRunsGiveTheSameBits) {
  for (const char* precision : {"f32", "bf16"}) {
    const TemporaryFolder folder;
    Json recipe = language_recipe(folder);
    recipe["train"]["precision"] = precision;
    train(recipe, folder / "whole");
    int trial = 0;
    for (const std::vector<int64_t>& stops :
         std::vector<std::vector<int64_t>>{{0}, {1}, {4}, {11}, {2, 3, 9}}) {
      SCOPED_TRACE(fmt::format("{} {}", precision, stops.front()));
      const fs::path run = folder / fmt::format("parts-{}", trial++);
      for (size_t i = 0; i < stops.size(); ++i) {
        Watcher watcher(stops[i]);
        EXPECT_EQ(train(recipe, run, watcher, i > 0).end, TrainEnd::interrupted);
      }
      EXPECT_EQ(train(recipe, run, true).end, TrainEnd::finished);
      expect_same_tensors(folder / "whole", run);
    }
  }
}

// A model that remembers segments, which are shorter than the verse.
Json segment_recipe(const TemporaryFolder& folder) {
  Json recipe = language_recipe(folder);
  recipe["data"]["max_length"] = 16;
  recipe["data"]["batch_tokens"] = 64;
  recipe["model"] = {{"kind", "transformer_xl"},
                     {"memory", 24},
                     {"width", 32},
                     {"heads", 2},
                     {"layers", 2},
                     {"hidden", 64},
                     {"dropout", 0.05},
                     {"word_dropout", 0.05},
                     {"embedding_dropout", 0.05},
                     {"attention_dropout", 0.05}};
  return recipe;
}

// What the model remembers of each stream is part of the checkpoint, in the middle of an epoch too:
// 40 * 48 characters in 4 streams are 29 segments, of which a step takes two.
TEST(LanguageTask, ResumedRunsRememberTheSegmentsBefore) {
  for (const char* precision : {"f32", "bf16"}) {
    const TemporaryFolder folder;
    Json recipe = segment_recipe(folder);
    recipe["train"]["precision"] = precision;
    recipe["train"]["steps"] = 18;
    train(recipe, folder / "whole");
    EXPECT_TRUE(fs::exists(folder / "whole/checkpoint-16/task.safetensors"));
    EXPECT_FALSE(fs::exists(folder / "whole/task.safetensors"));
    int trial = 0;
    for (const std::vector<int64_t>& stops :
         std::vector<std::vector<int64_t>>{{1}, {14}, {2, 3, 9, 15}}) {
      SCOPED_TRACE(fmt::format("{} {}", precision, stops.front()));
      const fs::path run = folder / fmt::format("parts-{}", trial++);
      for (size_t i = 0; i < stops.size(); ++i) {
        Watcher watcher(stops[i]);
        EXPECT_EQ(train(recipe, run, watcher, i > 0).end, TrainEnd::interrupted);
      }
      EXPECT_EQ(train(recipe, run, true).end, TrainEnd::finished);
      expect_same_tensors(folder / "whole", run);
    }
    // Without what it remembers the run would be another one.
    Watcher watcher(9);
    train(recipe, folder / "forgetful", watcher);
    fs::remove(folder / "forgetful/checkpoint-9/task.safetensors");
    train(recipe, folder / "forgetful", true);
    EXPECT_NE(read_file(folder / "forgetful/model.safetensors"),
              read_file(folder / "whole/model.safetensors"));
  }
}

TEST(LanguageTask, SegmentsInOrderAreLearned) {
  const TemporaryFolder folder;
  Json recipe = segment_recipe(folder);
  recipe["data"]["test_text"] = folder.write("test.txt", repeated(kVerse, 2)).string();
  recipe["train"] = {{"steps", 120}, {"precision", "f32"}, {"label_smoothing", 0.0}};
  recipe["validation"]["every"] = 40;
  Watcher watcher;
  Trainer trainer(
      prepare_run(parse_recipe(recipe, "test"), folder / "run", RunStart::anew, watcher), watcher);
  EXPECT_EQ(trainer.run(watcher.stop), TrainEnd::finished);
  EXPECT_LT(watcher.validations.back().score.loss, 0.5);
  const std::string line = trainer.test();
  EXPECT_TRUE(line.ends_with(" over 96 tokens")) << line;
  const auto model = load_as<LanguageModel>(folder / "run", DType::f32);
  const GenerateRequest request{encode_prompt(*model->tokenizers.target, "the fox sees")};
  const auto said = generate(*model, std::span(&request, 1),
                             {.sampling = {.temperature = 0.0F}, .max_tokens = 60});
  EXPECT_NE(said.front().text.find(" sees the fox.\nthe fox sees the dog,"), std::string::npos)
      << said.front().text;
}

TEST(LanguageTask, CountsEpochs) {
  const TemporaryFolder folder;
  Json recipe = language_recipe(folder);
  recipe["train"] = {{"epochs", 2}, {"precision", "f32"}};
  Watcher watcher;
  const Ended ended = train(recipe, folder / "run", watcher);
  // 40 * 48 characters and END: 59 windows of 32 behind any offset, 8 in a batch.
  EXPECT_EQ(watcher.run.epoch_batches, 7);
  EXPECT_EQ(ended.state.step, 14);
  EXPECT_EQ(ended.state.data.epoch, 2);
}

TEST(LanguageTask, BeginsWithOtherWeights) {
  const TemporaryFolder folder;
  Json recipe = language_recipe(folder);
  train(recipe, folder / "first");
  recipe["train"]["from"] = (folder / "first").string();
  recipe["train"]["steps"] = 1;
  recipe["train"]["seed"] = 77;
  recipe["schedule"]["rate"] = 0.0;
  recipe["model"] = {{"kind", "gpt2"}, {"dropout", 0.3}};  // all else is as in the folder
  train(recipe, folder / "second");
  EXPECT_EQ(read_file(folder / "first/model.safetensors"),
            read_file(folder / "second/model.safetensors"));
  EXPECT_EQ(read_file(folder / "first/vocabulary.json"),
            read_file(folder / "second/vocabulary.json"));
  const Json first = load_config(folder / "first").model;
  Json second = load_config(folder / "second").model;
  EXPECT_FLOAT_EQ(second.at("dropout").get<float>(), 0.3F);
  for (const char* key : {"dropout", "embedding_dropout", "attention_dropout"}) {
    second[key] = first.at(key);
  }
  EXPECT_EQ(first, second);
  // It goes on to learn, and a run of its own can be resumed.
  recipe["schedule"]["rate"] = 0.01;
  recipe["train"]["steps"] = 6;
  train(recipe, folder / "whole");
  EXPECT_NE(read_file(folder / "whole/model.safetensors"),
            read_file(folder / "first/model.safetensors"));
  Watcher watcher(3);
  train(recipe, folder / "parts", watcher);
  train(recipe, folder / "parts", true);
  expect_same_tensors(folder / "whole", folder / "parts");
  recipe["model"] = {{"kind", "transformer"}};
  EXPECT_EQ(error_of([&] { train(recipe, folder / "other"); }),
            "[train] " + (folder / "first").string() +
                " is a \"gpt2\", the recipe needs a \"transformer\"");
}

TEST(LanguageTask, HoldsOutAShare) {
  const TemporaryFolder folder;
  Json recipe = language_recipe(folder);
  recipe["data"].erase("valid_text");
  recipe["train"]["steps"] = 1;
  Watcher none;
  train(recipe, folder / "none", none);
  EXPECT_TRUE(none.validations.empty());
  recipe["data"]["valid_share"] = 0.25;
  Watcher some;
  train(recipe, folder / "some", some);
  EXPECT_EQ(some.validations.size(), 1U);
  EXPECT_EQ(*some.run.epoch_batches, 5);  // of three quarters: 44 windows
  EXPECT_EQ(*none.run.epoch_batches, 7);
}

TEST(LanguageTask, LinesWithEnds) {
  const TemporaryFolder folder;
  Json recipe = language_recipe(folder);
  recipe["data"]["line_end"] = true;
  recipe["train"]["steps"] = 1;
  train(recipe, folder / "run");
  EXPECT_FALSE(load_tokenizers(folder / "run").target->find("\n").has_value());
  recipe["data"]["line_end"] = false;
  train(recipe, folder / "other");
  EXPECT_TRUE(load_tokenizers(folder / "other").target->find("\n").has_value());
}

// A folder says what its model is; a head that the task adds on its own could not be loaded.
class TaskWithAHeadOfItsOwn : public LanguageTask {
 public:
  TaskWithAHeadOfItsOwn(const Recipe& recipe, const TaskSetup& setup)
      : LanguageTask(recipe, setup) {
    (setup.scope / "head").param("weight", {2}, Init::constant(0.0F));
  }
};

TEST(LanguageTask, AParameterThatTheModelDoesNotHaveIsAnErrorBeforeTheFirstStep) {
  const TemporaryFolder folder;
  const std::vector<TaskKind> kinds{task_kind<TaskWithAHeadOfItsOwn>("language", "", "gpt2")};
  Watcher watcher;
  EXPECT_EQ(error_of([&] {
              prepare_run(parse_recipe(language_recipe(folder), "test", kinds), folder / "run",
                          RunStart::anew, watcher);
            }),
            "[train] task language has the parameter head.weight, which a model of its "
            "configuration does not have");
}

TEST(LanguageTask, RecipesThatCannotBeTrained) {
  const TemporaryFolder folder;
  const Json recipe = language_recipe(folder);
  int trial = 0;
  const auto error_with = [&](const char* table, const char* key, const Json& value) {
    Json changed = recipe;
    changed[table][key] = value;
    return error_of([&] { train(changed, folder / fmt::format("run-{}", trial++)); });
  };
  EXPECT_EQ(error_with("data", "text", Json::array()),
            "[test] task language names no training data: set data.text");
  EXPECT_EQ(error_with("model", "kind", "bert").substr(0, 8), "[test] t");  // has no context
  const std::string few = folder.write("few.txt", "the fox").string();
  EXPECT_EQ(error_with("data", "text", Json::array({few})),
            "[text] there are 9 tokens, expected more than the context of 32; give "
            "more text or a smaller model.context");
  const std::string empty = folder.write("empty.txt", "").string();
  EXPECT_EQ(error_with("data", "valid_text", empty),
            "[text] 1 tokens are held out for validation, expected at least 2");
  const std::string none = (folder / "none.txt").string();
  EXPECT_NE(error_with("data", "text", Json::array({none})).find(none), std::string::npos);
}

// The losses differ, so train.loss reaches the model.
TEST(LanguageTask, MinimisesWhatTheRecipeSays) {
  const TemporaryFolder folder;
  Json recipe = language_recipe(folder);
  recipe["train"]["steps"] = 1;
  const auto first_loss = [&](const char* loss) {
    recipe["train"]["loss"] = loss;
    Watcher watcher;
    train(recipe, folder / loss, watcher);
    return watcher.steps.front().loss;
  };
  EXPECT_NEAR(first_loss("cross_entropy"), 3.4, 0.3);
  EXPECT_LT(first_loss("mse"), 1.1);
}

}  // namespace
}  // namespace heed
