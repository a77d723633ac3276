#include "tasks/algorithm_task.h"

#include <gtest/gtest.h>

#include "decode/text/translator.h"
#include "formats/run_log.h"
#include "support/error_of.h"
#include "support/tiny_texts.h"
#include "support/tiny_training.h"

namespace heed::testing {
namespace {

Json algorithm_recipe(const std::string& kind = "universal_transformer") {
  Json recipe = Json::parse(R"({
      "task": "algorithm",
      "data": {"algorithm": "copy", "longest": 6, "examples": 400, "valid_examples": 20,
               "test_examples": 10, "test_lengths": [6, 12], "batch_tokens": 256},
      "model": {"width": 32, "heads": 2, "hidden": 64, "encoder_layers": 2, "decoder_layers": 2,
                "dropout": 0.0, "attention_dropout": 0.0, "hidden_dropout": 0.0, "pre_norm": true,
                "random_offset": 10},
      "train": {"steps": 10, "precision": "f32", "label_smoothing": 0.0},
      "schedule": {"kind": "constant", "rate": 0.003, "warmup": 0},
      "validation": {"every": 50},
      "checkpoint": {"every": 50}})");
  recipe["model"]["kind"] = kind;
  if (kind == "rnn") {
    recipe["model"] = {{"kind", "rnn"}, {"embedding", 16}, {"hidden", 16}, {"attention_width", 16}};
  }
  return recipe;
}

TEST(AlgorithmTask, ResumesWithTheSameBits) {
  const TemporaryFolder folder;
  expect_resumes(algorithm_recipe(), folder);
}

TEST(AlgorithmTask, LearnsToCopy) {
  const TemporaryFolder folder;
  Json recipe = algorithm_recipe();
  recipe["train"]["steps"] = 400;
  recipe["validation"]["every"] = 100;
  Watcher watcher;
  train(recipe, folder / "run", watcher);
  const Score& first = watcher.validations.front().score;
  const Score& last = watcher.validations.back().score;
  EXPECT_LT(last.loss, 0.5 * first.loss);
  EXPECT_EQ(last.metric, "character_accuracy");
  EXPECT_GT(last.value, 0.8);
  ASSERT_EQ(last.measures.size(), 2U);
  EXPECT_EQ(last.measures[0].name, "sequence_accuracy");
  EXPECT_LE(last.measures[0].value, last.value);
  EXPECT_EQ(last.measures[1].name, "forced_accuracy");
  EXPECT_NE(last.example.find(" -> "), std::string::npos);

  // The folder translates a line of digits, and has some to try.
  const auto loaded = load_translator(folder / "run", DType::f32);
  EXPECT_FALSE(loaded->config.examples.empty());
  const Translator translator(*loaded, {.decode = {.beam = 1}});
  const std::vector<SourceText> lines{{"3"}, {"123"}};
  const auto results = translator.translate(lines);
  EXPECT_EQ(results[0].best.front().text, "3");
  EXPECT_EQ(results[1].pieces, 1);
}

// A line of the longest test length is not cut.
TEST(AlgorithmTask, LongLinesStayWhole) {
  const TemporaryFolder folder;
  Json recipe = algorithm_recipe("transformer");
  recipe["data"].update({{"test_lengths", {300}}, {"test_examples", 1}});
  recipe["train"]["steps"] = 1;
  train(recipe, folder / "run");
  const auto loaded = load_translator(folder / "run", DType::f32);
  const Translator translator(*loaded, {.decode = {.beam = 1, .max_length = 4}});
  const std::vector<SourceText> lines{{std::string(300, '7')}};
  EXPECT_EQ(translator.translate(lines)[0].pieces, 1);
}

TEST(AlgorithmTask, TrainsOtherTranslatorsAndTests) {
  for (const char* kind : {"transformer", "rnn"}) {
    for (const std::string& algorithm : algorithm_names()) {
      const TemporaryFolder folder;
      Json recipe = algorithm_recipe(kind);
      recipe["data"]["algorithm"] = algorithm;
      recipe["train"]["steps"] = 2;
      train(recipe, folder / "run");
      ParameterStore store;
      AlgorithmTask task(
          parse_recipe(recipe, "test"),
          {.folder = folder / "run", .scope = store.root(), .note = {}, .doing = {}});
      const std::string line = task.test(folder / "run");
      EXPECT_TRUE(line.starts_with("test " + algorithm + ": length 6: character accuracy 0."))
          << line;
      EXPECT_NE(line.find("; length 12: character accuracy 0."), std::string::npos) << line;
      EXPECT_NE(line.find("sequence accuracy 0.0000"), std::string::npos) << line;
    }
  }
}

TEST(AlgorithmTask, NamesWhatIsWrong) {
  const TemporaryFolder folder;
  const auto error_with = [&](const char* key, const Json& value) {
    Json recipe = algorithm_recipe();
    recipe["data"][key] = value;
    return error_of([&] { train(recipe, folder / "run"); });
  };
  Json recipe = algorithm_recipe();
  recipe["data"].update({{"algorithm", "addition"}, {"longest", 2}});
  EXPECT_EQ(error_of([&] { train(recipe, folder / "run"); }),
            "[test] data.longest is 2, expected 3 or more for addition");
  recipe["data"].update({{"longest", 9}, {"test_lengths", {1, 9}}});
  EXPECT_EQ(error_of([&] { train(recipe, folder / "run"); }),
            "[test] data.test_lengths has 1, expected 3 or more for addition");
  EXPECT_NE(error_with("algorithm", "sort").find("data.algorithm"), std::string::npos);
  EXPECT_NE(error_with("batch_tokens", 4).find("batch_tokens"), std::string::npos);
  recipe = algorithm_recipe("gpt2");
  recipe["model"] = {{"kind", "gpt2"}, {"width", 16}, {"heads", 2}, {"layers", 1}};
  EXPECT_NE(error_of([&] { train(recipe, folder / "run"); }).find("sequence-to-sequence"),
            std::string::npos);
}

}  // namespace
}  // namespace heed::testing
