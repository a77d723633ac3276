// Training of classifiers: what they learn, what they save, and what is wrong with their data.
#include "tasks/classify_task.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "decode/text/classify.h"
#include "support/error_of.h"
#include "support/tiny_texts.h"

namespace heed::testing {
namespace {

// "text TAB label": whether the letter a occurs.
std::string letter_table(uint64_t seed, int count) {
  std::string table;
  for (const std::string& text : letter_texts(seed, count, 8)) {
    table += text + "\t" + (text.find('a') == std::string::npos ? "without" : "with a") + "\n";
  }
  return table;
}

Json letter_recipe(const TemporaryFolder& folder) {
  Json recipe = tiny_text_recipe("classify");
  recipe["data"]["table"] = {folder.write("train.tsv", letter_table(1, 300)).string()};
  recipe["data"]["valid_table"] = folder.write("valid.tsv", letter_table(2, 80)).string();
  recipe["data"]["test_table"] = folder.write("test.tsv", letter_table(3, 80)).string();
  return recipe;
}

struct NotedWatcher : Watcher {
  void noted(const std::string& text) override { notes.push_back(text); }
  std::vector<std::string> notes;
};

TEST(ClassifyTask, LearnsClassesAndSavesTheirNames) {
  const TemporaryFolder folder;
  Watcher watcher;
  const Json recipe = letter_recipe(folder);
  Trainer trainer(
      prepare_run(parse_recipe(recipe, "test"), folder / "run", RunStart::anew, watcher), watcher);
  trainer.run(watcher.stop);
  ASSERT_EQ(watcher.validations.size(), 3U);
  const Score& score = watcher.validations.back().score;
  EXPECT_EQ(score.metric, "accuracy");
  EXPECT_GT(score.value, 0.95);
  EXPECT_LT(score.loss, 0.3);
  EXPECT_TRUE(score.example.ends_with("-> with a") || score.example.ends_with("-> without"));
  EXPECT_TRUE(
      trainer.test().starts_with(fmt::format("test {}: loss 0.", (folder / "test.tsv").string())));
  EXPECT_TRUE(trainer.test().ends_with(" over 80 examples"));

  const auto model = load_as<TextEncoder>(folder / "run", DType::f32);
  EXPECT_EQ(model->config.labels, (std::vector<std::string>{"with a", "without"}));
  EXPECT_FALSE(model->config.score);
  const std::vector<ClassifyText> texts{{"b a c"}, {"b c d h"}, {"a"}};
  const auto classes = classify(*model, texts, 4096);
  EXPECT_GT(classes[0][0], 0.5F);
  EXPECT_GT(classes[1][1], 0.5F);
  EXPECT_GT(classes[2][0], 0.5F);
}

TEST(ClassifyTask, LearnsWithARecurrentEncoderAndInBf16) {
  const TemporaryFolder folder;
  Json recipe = letter_recipe(folder);
  recipe["model"] = {{"kind", "rnn_encoder"}, {"embedding", 16}, {"hidden", 16}, {"dropout", 0.0}};
  recipe["text"]["kind"] = "char";
  recipe["train"]["precision"] = "bf16";
  recipe["validation"]["metric"] = "f1";
  Watcher watcher;
  train(recipe, folder / "run", watcher);
  EXPECT_EQ(watcher.validations.back().score.metric, "f1");
  EXPECT_GT(watcher.validations.back().score.value, 0.9);
  const auto model = load_as<TextEncoder>(folder / "run", DType::f32);
  EXPECT_EQ(model->config.labels.size(), 2U);
}

// The second text is the class, whatever the first one is.
TEST(ClassifyTask, LearnsFromPairsInNamedColumns) {
  const TemporaryFolder folder;
  const auto table = [](uint64_t seed, int count) {
    std::string rows = "label\tleft\tright\n";
    const std::vector<std::string> letters = letter_texts(seed, 2 * count, 2, 1);
    for (size_t i = 0; i < letters.size(); i += 2) {
      const char* label = letters[i + 1].front() == 'a' ? "first" : "second";
      rows += fmt::format("{}\t{}\t{}\n", label, letters[i].front(), letters[i + 1].front());
    }
    return rows;
  };
  Json recipe = tiny_text_recipe("classify");
  recipe["data"].update({{"table", {folder.write("train.tsv", table(1, 200)).string()}},
                         {"valid_table", folder.write("valid.tsv", table(2, 40)).string()},
                         {"text_column", "left"},
                         {"pair_column", "right"},
                         {"label_column", "label"}});
  recipe["validation"]["metric"] = "matthews";
  Watcher watcher;
  train(recipe, folder / "run", watcher);
  EXPECT_GT(watcher.validations.back().score.value, 0.95);
  const auto model = load_as<TextEncoder>(folder / "run", DType::f32);
  const std::vector<ClassifyText> texts{{"b", "a"}, {"a", "b"}};
  const auto classes = classify(*model, texts, 4096);
  EXPECT_GT(classes[0][0], 0.5F);
  EXPECT_GT(classes[1][1], 0.5F);
}

TEST(ClassifyTask, LearnsScores) {
  const TemporaryFolder folder;
  const auto table = [](uint64_t seed, int count) {
    std::string rows;
    for (const std::string& text : letter_texts(seed, count, 3)) {
      rows += fmt::format("{}\t{:.1f}\n", text, std::count(text.begin(), text.end(), 'a') - 1.5);
    }
    return rows;
  };
  Json recipe = tiny_text_recipe("classify");
  recipe["data"].update({{"table", {folder.write("train.tsv", table(1, 300)).string()}},
                         {"valid_table", folder.write("valid.tsv", table(2, 60)).string()},
                         {"score", true}});
  Watcher watcher;
  train(recipe, folder / "run", watcher);
  const Score& score = watcher.validations.back().score;
  EXPECT_EQ(score.metric, "spearman");
  EXPECT_GT(score.value, 0.9);
  EXPECT_LT(score.loss, 0.2);
  const auto model = load_as<TextEncoder>(folder / "run", DType::f32);
  EXPECT_TRUE(model->config.score);
  const std::vector<ClassifyText> texts{{"b c b"}, {"a a a"}};
  const auto scores = classify(*model, texts, 4096);
  EXPECT_NEAR(scores[0][0], -1.5, 1.0);
  EXPECT_NEAR(scores[1][0], 1.5, 1.0);
}

TEST(ClassifyTask, ResumesWithTheSameBits) {
  const TemporaryFolder folder;
  expect_resumes(letter_recipe(folder), folder);
}

TEST(ClassifyTask, BeginsWithAMaskedModel) {
  const TemporaryFolder folder;
  Json masked = tiny_text_recipe("masked");
  std::string text;
  for (const std::string& line : letter_texts(5, 60, 8)) {
    text += line + "\n";
  }
  masked["data"]["text"] = {folder.write("text.txt", text).string()};
  masked["train"]["steps"] = 3;
  train(masked, folder / "masked");
  Json recipe = letter_recipe(folder);
  recipe["train"]["from"] = (folder / "masked").string();
  recipe["train"]["steps"] = 1;
  recipe["schedule"]["rate"] = 0.0;  // weights stay as they begin
  recipe["model"] = {{"kind", "bert"}, {"dropout", 0.25}};
  NotedWatcher watcher;
  train(recipe, folder / "run", watcher);
  ASSERT_EQ(watcher.notes.size(), 1U);
  EXPECT_EQ(watcher.notes[0], fmt::format("begins with {}; new: classes.weight, classes.bias",
                                          (folder / "masked").string()));
  const auto before = load_as<TextEncoder>(folder / "masked", DType::f32);
  const auto after = load_as<TextEncoder>(folder / "run", DType::f32);
  size_t same = 0;
  for (const ParameterEntry& entry : after->store.entries()) {
    if (!entry.name.starts_with("classes.")) {
      ++same;
      EXPECT_EQ(entry.value.to_vector(), before->store.find(entry.name).value.to_vector())
          << entry.name;
    }
  }
  EXPECT_EQ(same + 2, after->store.entries().size());
  // What the other had for its own task is gone; its tokenizer and sizes are taken over.
  EXPECT_FALSE(after->config.model.at("masked_head").get<bool>());
  EXPECT_EQ(after->config.model.at("width"), 16);
  EXPECT_EQ(after->config.model.at("dropout"), 0.25);
  EXPECT_EQ(after->tokenizers.source->serialize(), before->tokenizers.source->serialize());
  Json other = recipe;
  other["model"] = {{"kind", "rnn_encoder"}};
  expect_error([&] { train(other, folder / "other"); },
               fmt::format("[train] {} is a \"bert\", the recipe needs a \"rnn_encoder\"",
                           (folder / "masked").string()));
}

struct ClassifyErrors : ::testing::Test {
  // What a training says of the tables.
  std::string error(const std::vector<std::string>& tables, const std::string& valid = "",
                    const Json& data = Json::object()) {
    Json recipe = tiny_text_recipe("classify");
    Json files = Json::array();
    for (const std::string& table : tables) {
      files.push_back(folder.write(fmt::format("train-{}.tsv", files.size()), table).string());
    }
    recipe["data"]["table"] = files;
    recipe["data"].update(data);
    if (!valid.empty()) {
      recipe["data"]["valid_table"] = folder.write("valid.tsv", valid).string();
    }
    recipe["train"]["steps"] = 1;
    return error_of([&] { train(recipe, folder / fmt::format("run-{}", runs++)); });
  }
  std::string path(const char* name) const { return (folder / name).string(); }

  TemporaryFolder folder;
  int runs = 0;
};

TEST_F(ClassifyErrors, NameFileLineAndLabel) {
  const std::string good = "a\tyes\nb\tno\n";
  EXPECT_EQ(error({good}, "a\tyes\nb\tperhaps\n"),
            fmt::format("[{}:2] the label perhaps does not occur in the training data",
                        path("valid.tsv")));
  EXPECT_EQ(error({"a\t1\nb\t2.5\n", "c\t3\nd\tx1\n"}, "", {{"score", true}}),
            fmt::format("[{}:2] the label x1 is not a number, but data.score is true",
                        path("train-1.tsv")));
  EXPECT_EQ(error({"a\t1\nb\tnan\n"}, "", {{"score", true}}),
            fmt::format("[{}:2] the label nan is not a number, but data.score is true",
                        path("train-0.tsv")));
  EXPECT_EQ(error({"a\tyes\nb\tyes\n"}),
            "[classify] the column of labels has 1 different values, expected 2 to 10000; is it "
            "the right one, or are they scores (data.score = true)?");
  EXPECT_EQ(error({"a\tyes\nb\tn\xf6\n"}),
            fmt::format("[{}:2] the label n\xf6 is not UTF-8", path("train-0.tsv")));
  EXPECT_EQ(error({good, "a\n"}),
            fmt::format("[{}:1] has 1 columns, expected column 2", path("train-1.tsv")));
  EXPECT_EQ(error({good}), "no error");
}

TEST_F(ClassifyErrors, OfRecipes) {
  EXPECT_EQ(error({}), "[test] task classify names no training data: set data.table");
  Json recipe = letter_recipe(folder);
  recipe["data"]["score"] = true;
  recipe["validation"]["metric"] = "accuracy";
  expect_error([&] { parse_recipe(recipe, "test"); },
               "[test] validation.metric is accuracy, expected pearson or spearman, which numbers "
               "have");
  recipe["data"]["score"] = false;
  recipe["model"] = {{"kind", "gpt2"}};
  EXPECT_NE(error_of([&] { train(recipe, folder / "gpt2"); }), "no error");
}

TEST(ClassifyTask, ReportsSkippedRows) {
  const TemporaryFolder folder;
  Json recipe = tiny_text_recipe("classify");
  const std::string file = folder.write("train.tsv", "a\tyes\n\tyes\nb\tno\n").string();
  recipe["data"]["table"] = {file};
  recipe["train"]["steps"] = 1;
  Watcher watcher;
  train(recipe, folder / "run", watcher);
  EXPECT_EQ(watcher.run.skipped,
            fmt::format("skipped 1 rows without text or label, the first is {}:2", file));
}

}  // namespace
}  // namespace heed::testing
