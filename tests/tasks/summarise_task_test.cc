// Training a decoder on sources and their summaries: only the summary counts, and it is learned.
#include "tasks/summarise_task.h"

#include <gtest/gtest.h>

#include "decode/text/generate.h"
#include "support/error_of.h"
#include "support/tiny_training.h"

namespace heed {
namespace {

using namespace testing;

// A few letters, one of them capital: the summary is that one, twice.
std::string examples(uint64_t seed, int count) {
  const RandomStream random{seed, 0};
  uint64_t drawn = 0;
  std::string text;
  for (int i = 0; i < count; ++i) {
    std::string source;
    for (uint32_t left = 4 + random.bits(drawn++) % 9; left > 0; --left) {
      source += static_cast<char>('a' + random.bits(drawn++) % 5);
    }
    const char marked = static_cast<char>('A' + random.bits(drawn++) % 5);
    source[random.bits(drawn++) % source.size()] = marked;
    text += source + "\t" + marked + marked + "\n";
  }
  return text;
}

Json summarise_recipe(const TemporaryFolder& folder, const std::string& attention) {
  Json recipe = Json::parse(R"({
      "task": "summarise",
      "data": {"text_column": "1", "pair_column": "2", "batch_tokens": 512},
      "text": {"kind": "char"},
      "model": {"kind": "gpt2", "context": 24, "width": 32, "heads": 2, "layers": 2, "window": 4},
      "train": {"steps": 500, "precision": "f32", "label_smoothing": 0.0, "clip": 1.0},
      "optimizer": {"kind": "adamw"},
      "schedule": {"kind": "cosine", "rate": 0.01, "warmup": 20},
      "validation": {"every": 500},
      "checkpoint": {"every": 500}})");
  recipe["model"]["attention"] = attention;
  recipe["data"]["table"] = Json::array({folder.write("train.tsv", examples(1, 600)).string()});
  recipe["data"]["valid_table"] = folder.write("valid.tsv", examples(2, 50)).string();
  recipe["data"]["test_table"] = folder.write("test.tsv", examples(3, 50)).string();
  return recipe;
}

// Compressed memories alone see only what came in whole threes, so a local layer stands in front.
TEST(SummariseTask, LearnsWhatMatters) {
  for (const char* attention : {"F", "LM"}) {
    SCOPED_TRACE(attention);
    const TemporaryFolder folder;
    Watcher watcher;
    const Recipe recipe = parse_recipe(summarise_recipe(folder, attention), "test");
    Trainer trainer(prepare_run(recipe, folder / "run", RunStart::anew, watcher), watcher);
    EXPECT_EQ(trainer.run(watcher.stop), TrainEnd::finished);
    ASSERT_EQ(watcher.validations.size(), 1U);
    EXPECT_LT(watcher.validations.back().score.loss, 0.1);  // guessing costs log(5) / 3 = 0.54
    EXPECT_TRUE(trainer.test().ends_with(" over 50 summaries")) << trainer.test();
    const auto model = load_as<LanguageModel>(folder / "run", DType::f32);
    const Tokenizer& tokenizer = *model->tokenizers.target;
    GenerateRequest request{tokenizer.encode("abcDabce")};
    request.prompt.push_back(separator_of(tokenizer));
    const auto said = generate(*model, std::span(&request, 1), {.sampling = {.temperature = 0.0F}});
    EXPECT_EQ(said.front().text, "DD");
    EXPECT_EQ(said.front().end, GenerateEnd::end_token);
  }
}

TEST(SummariseTask, LongSourcesLoseTheirEndAndLongSummariesAreNamed) {
  const TemporaryFolder folder;
  Json recipe = summarise_recipe(folder, "F");
  recipe["train"]["steps"] = 2;
  recipe["validation"]["every"] = 0;
  folder.write("train.tsv", std::string(100, 'a') + "\tb\nab\tc\n");
  Watcher watcher;
  Trainer fits(prepare_run(parse_recipe(recipe, "test"), folder / "run", RunStart::anew, watcher),
               watcher);
  EXPECT_EQ(fits.run(watcher.stop), TrainEnd::finished);

  folder.write("train.tsv", "ab\tc\nab\t" + std::string(30, 'c') + "\n");
  EXPECT_EQ(error_of([&] {
              Trainer(prepare_run(parse_recipe(recipe, "test"), folder / "other", RunStart::anew,
                                  watcher),
                      watcher);
            }),
            "[" + (folder / "train.tsv").string() +
                ":2] the summary has 31 tokens, the context of the model is 24: raise "
                "model.context");
}

TEST(SummariseTask, AsksForTheColumnOfSummaries) {
  const TemporaryFolder folder;
  Json recipe = summarise_recipe(folder, "F");
  recipe["data"]["pair_column"] = "";
  Watcher watcher;
  EXPECT_EQ(
      error_of([&] {
        Trainer(prepare_run(parse_recipe(recipe, "test"), folder / "run", RunStart::anew, watcher),
                watcher);
      }),
      "[test] data.pair_column is empty, expected the column of the summaries");
}

}  // namespace
}  // namespace heed
