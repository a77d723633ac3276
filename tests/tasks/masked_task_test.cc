// Training on masked words.
#include "tasks/masked_task.h"

#include <gtest/gtest.h>

#include <cmath>

#include "decode/text/classify.h"
#include "support/error_of.h"
#include "support/tiny_texts.h"

namespace heed::testing {
namespace {

// Lines that go round "a b c d" from any letter on: every word follows from its neighbours.
std::string round_lines(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) {
    for (int j = 0; j < 8 + i % 5; ++j) {
      text += j == 0 ? "" : " ";
      text += static_cast<char>('a' + (i / 2 + j) % 4);
    }
    text += "\n";
  }
  return text;
}

Json round_recipe(const TemporaryFolder& folder) {
  Json recipe = tiny_text_recipe("masked");
  recipe["data"]["text"] = {folder.write("text.txt", round_lines(120)).string()};
  recipe["data"]["valid_share"] = 0.2;
  recipe["train"]["steps"] = 200;
  recipe["validation"]["every"] = 50;
  return recipe;
}

TEST(MaskedTask, LearnsWordsFromTheirNeighbours) {
  const TemporaryFolder folder;
  Watcher watcher;
  train(round_recipe(folder), folder / "run", watcher);
  ASSERT_EQ(watcher.validations.size(), 4U);
  EXPECT_GT(watcher.steps.front().loss, 1.5);             // a guess among all tokens
  EXPECT_LT(watcher.validations.back().score.loss, 0.7);  // among four letters it is 1.39
  EXPECT_EQ(watcher.validations.back().score.metric, "");
  const auto model = load_as<TextEncoder>(folder / "run", DType::f32);
  const auto filled = fill_masks(*model, "a b [MASK] d a b c d", 2);
  ASSERT_EQ(filled.size(), 1U);
  EXPECT_EQ(filled[0][0].word, "c");
}

TEST(MaskedTask, AlsoLearnsWhichTextFollows) {
  const TemporaryFolder folder;
  Json recipe = round_recipe(folder);
  recipe["data"]["next_sentence"] = true;
  recipe["data"]["max_length"] = 24;
  recipe["train"]["steps"] = 30;
  recipe["validation"]["every"] = 0;
  Watcher watcher;
  train(recipe, folder / "run", watcher);
  EXPECT_LT(watcher.steps.back().loss, watcher.steps.front().loss);
  const auto model = load_as<TextEncoder>(folder / "run", DType::f32);
  EXPECT_TRUE(model->config.model.at("next_head").get<bool>());
  EXPECT_TRUE(model->config.model.at("pooler").get<bool>());
}

TEST(MaskedTask, ResumesWithTheSameBits) {
  const TemporaryFolder folder;
  Json recipe = round_recipe(folder);
  recipe["data"]["next_sentence"] = true;
  expect_resumes(recipe, folder);
}

// Of one or two tokens most often none is hidden: such a batch teaches nothing and harms nothing.
TEST(MaskedTask, GoesOnWithBatchesWithoutMasks) {
  const TemporaryFolder folder;
  Json recipe = round_recipe(folder);
  recipe["data"]["text"] = {
      folder.write("short.txt", "a\nb\na b\nb a\na\nb\na\nb\na\nb\n").string()};
  recipe["data"]["batch_tokens"] = 1;
  recipe["data"]["valid_share"] = 0.5;
  recipe["train"].update({{"steps", 40}, {"log_every", 1}, {"most_skips", 1}});
  recipe["validation"]["every"] = 10;
  Watcher watcher;
  EXPECT_EQ(train(recipe, folder / "run", watcher).end, TrainEnd::finished);
  EXPECT_EQ(watcher.steps.size(), 40U);
  int64_t without = 0;
  for (const StepReport& step : watcher.steps) {
    EXPECT_TRUE(std::isfinite(step.loss)) << "step " << step.step;
    without += step.loss == 0.0 ? 1 : 0;
  }
  EXPECT_GT(without, 10);
  EXPECT_LT(without, 40);
  EXPECT_TRUE(std::isfinite(watcher.validations.back().score.loss));
}

TEST(MaskedTask, LearnsFromTablesAndIsJudgedByAnotherText) {
  const TemporaryFolder folder;
  Json recipe = tiny_text_recipe("masked");
  std::string table = "id\tsentence\n";
  for (int i = 0; i < 40; ++i) {
    table += fmt::format("{}\ta b c d a b\n", i);
  }
  recipe["data"].update({{"table", {folder.write("table.tsv", table).string()}},
                         {"text_column", "sentence"},
                         {"valid_text", folder.write("valid.txt", round_lines(10)).string()}});
  recipe["train"]["steps"] = 5;
  recipe["validation"]["every"] = 5;
  Watcher watcher;
  train(recipe, folder / "run", watcher);
  ASSERT_EQ(watcher.validations.size(), 1U);
  EXPECT_GT(watcher.validations[0].score.loss, 0.0);
  recipe["data"]["valid_text"] = folder.write("empty.txt", "\n\n").string();
  expect_error([&] { train(recipe, folder / "empty"); },
               fmt::format("[masked] {} has no text", (folder / "empty.txt").string()));
}

TEST(MaskedTask, SaysWhatIsWrong) {
  const TemporaryFolder folder;
  int runs = 0;
  const auto error = [&](const Json& recipe) {
    return error_of([&] { train(recipe, folder / fmt::format("run-{}", runs++)); });
  };
  Json recipe = round_recipe(folder);
  recipe["text"]["kind"] = "char";
  EXPECT_EQ(error(recipe),
            "[masked] the tokenizer has no [MASK]: take text.kind = \"wordpiece\", or a BERT "
            "folder");
  recipe["text"]["kind"] = "wordpiece";
  recipe["model"] = {{"kind", "rnn_encoder"}};
  EXPECT_EQ(error(recipe), "[masked] a rnn_encoder has no head for masked words");
  recipe = round_recipe(folder);
  recipe["data"]["text"] = {folder.write("one.txt", "a b\n").string()};
  EXPECT_EQ(error(recipe), "[masked] there are 1 lines to learn from, expected more");
  recipe["data"]["text"] = Json::array();
  EXPECT_EQ(error(recipe), "[test] task masked names no file to learn from: set data.text");
}

}  // namespace
}  // namespace heed::testing
