// Training on masked words.
#include "tasks/masked_task.h"

#include <gtest/gtest.h>

#include <cmath>

#include "decode/text/classify.h"
#include "decode/text/embed.h"
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

// Line after line one letter further round "a b c d": what follows a line is known from it.
std::string letters_in_turn(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) {
    const auto letter = static_cast<char>('a' + i % 4);
    text += std::string{letter, ' ', letter, '\n'};
  }
  return text;
}

// How sure the model in the folder is that the second text follows the first, 0 to 1.
double follows(const Loaded<TextEncoder>& model, const std::string& first,
               const std::string& second) {
  const Tokenizer& tokenizer = *model.tokenizers.source;
  const std::vector<EncodedText> texts{
      join_texts(tokenizer, tokenizer.encode(first), tokenizer.encode(second), 24)};
  const TextBatch batch = to_tensors(batch_texts(texts, 64, tokenizer.special().pad).front());
  const auto& heads = dynamic_cast<const MaskedModel&>(*model.model);
  const std::vector<float> logits = heads.follows(model.model->hidden(batch), batch).to_vector();
  return 1.0 / (1.0 + std::exp(static_cast<double>(logits[1] - logits[0])));
}

TEST(MaskedTask, AlsoLearnsWhichTextFollows) {
  const TemporaryFolder folder;
  Json recipe = round_recipe(folder);
  recipe["data"]["text"] = {folder.write("turns.txt", letters_in_turn(400)).string()};
  recipe["data"]["next_sentence"] = true;
  recipe["train"]["steps"] = 300;
  recipe["validation"]["every"] = 0;
  train(recipe, folder / "run");
  const auto model = load_as<TextEncoder>(folder / "run", DType::f32);
  // Half of the pairs follow, and of the others every fourth looks as if it did: at best 0.8.
  EXPECT_GT(follows(*model, "a a", "b b"), 0.6);
  EXPECT_GT(follows(*model, "d d", "a a"), 0.6);
  EXPECT_LT(follows(*model, "a a", "c c"), 0.2);
  EXPECT_LT(follows(*model, "b b", "a a"), 0.2);
}

TEST(MaskedTask, ResumesWithTheSameBits) {
  const TemporaryFolder folder;
  Json recipe = round_recipe(folder);
  recipe["data"]["next_sentence"] = true;
  expect_resumes(recipe, folder);
}

// With one or two tokens, most often none is masked: such a batch changes nothing.
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
  EXPECT_EQ(error(recipe), "[test] task masked names no training data: set data.text");
}

}  // namespace
}  // namespace heed::testing
