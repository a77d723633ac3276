// Training of models that answer questions about stories.
#include "tasks/questions/question_task.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "decode/stories/answer.h"
#include "support/error_of.h"
#include "support/tiny_stories.h"
#include "support/tiny_texts.h"

namespace heed::testing {
namespace {

double final_accuracy(const Json& recipe, const std::filesystem::path& run, std::string& test) {
  Watcher watcher;
  Trainer trainer(prepare_run(parse_recipe(recipe, "test"), run, RunStart::anew, watcher), watcher);
  trainer.run(watcher.stop);
  test = trainer.test();
  const Score& score = watcher.validations.back().score;
  EXPECT_EQ(score.metric, "accuracy");
  EXPECT_EQ(score.measures.at(0).name, "mean_error");
  EXPECT_NEAR(score.measures.at(0).value, 1.0 - score.value, 1e-9);
  EXPECT_EQ(score.measures.at(1).name, "failed_tasks");
  return score.value;
}

TEST(QuestionTask, MemoryNetworkFindsTheFact) {
  const TemporaryFolder folder;
  Json recipe = story_recipe(folder, "memory_network");
  recipe["train"]["linear_steps"] = 20;
  std::string test;
  EXPECT_GT(final_accuracy(recipe, folder / "run", test), 0.9);
  EXPECT_TRUE(test.starts_with("test: mean error ")) << test;
  EXPECT_NE(test.find(" % over 1 tasks, of which "), std::string::npos) << test;
  EXPECT_NE(test.find(" 80 questions\n"), std::string::npos) << test;
  EXPECT_TRUE(test.ends_with(" %  qa1_walks")) << test;

  // The folder needs no data.
  std::filesystem::remove(folder / "qa1_walks_train.txt");
  const auto model = load_answerer(folder / "run", DType::f32);
  EXPECT_EQ(model->config.labels,
            (std::vector<std::string>{"garden", "hallway", "kitchen", "office"}));
  EXPECT_FALSE(model->config.examples.empty());
  const std::vector<AskedQuestion> asked{
      {{"Mary went to the garden.", "John went to the office."}, "Where is Mary?"},
      {{"John went to the kitchen."}, "Where is John?"}};
  const std::vector<Answered> answers = answer(*model, asked, {.look = true});
  EXPECT_EQ(model->config.labels[answers[0].best], "garden");
  EXPECT_EQ(model->config.labels[answers[1].best], "kitchen");
  ASSERT_EQ(answers[0].looks.size(), 3U);
  ASSERT_EQ(answers[0].looks[0].facts.size(), 2U);
  EXPECT_NEAR(answers[0].looks[0].facts[0] + answers[0].looks[0].facts[1], 1.0F, 1e-5F);
  const auto alone = answer(*model, std::span(asked).first(1));
  EXPECT_EQ(alone[0].probabilities, answers[0].probabilities);
}

TEST(QuestionTask, TransformersFindTheFact) {
  for (const bool universal : {true, false}) {
    const TemporaryFolder folder;
    Json recipe = story_recipe(folder, "story_transformer");
    recipe["model"]["universal"] = universal;
    recipe["schedule"]["rate"] = 0.003;
    recipe["train"]["steps"] = 250;
    std::string test;
    EXPECT_GT(final_accuracy(recipe, folder / "run", test), 0.9) << universal;
    const auto model = load_answerer(folder / "run", DType::f32);
    const std::vector<AskedQuestion> asked{{{"Mary went to the garden."}, "Where is Mary?"}};
    const std::vector<Answered> answers = answer(*model, asked, {.look = true});
    ASSERT_FALSE(answers[0].looks.empty());
    EXPECT_NEAR(answers[0].looks[0].facts[0] + answers[0].looks[0].question, 1.0F, 1e-5F);
    EXPECT_EQ(answers[0].fact_steps.size(), universal ? 1U : 0U);
    EXPECT_EQ(answers[0].question_steps > 0.0F, universal);
  }
}

TEST(QuestionTask, SeveralTasksAtOnce) {
  const TemporaryFolder folder;
  Json recipe = story_recipe(folder, "memory_network");
  std::filesystem::create_directory(folder / "stories");
  folder.write("stories/qa1_walks_train.txt", walking_stories(1, 60));
  folder.write("stories/qa2_more_train.txt", walking_stories(5, 60));
  folder.write("stories/qa3_other_train.txt", "1 Who?\tnobody\n");
  recipe["data"].erase("valid_stories");
  recipe["data"].erase("test_stories");
  recipe["data"].update(
      {{"stories", {(folder / "stories").string()}}, {"tasks", {1, 2}}, {"valid_share", 0.3}});
  recipe["train"]["steps"] = 2;
  recipe["validation"]["every"] = 1;
  Watcher watcher;
  Trainer trainer(
      prepare_run(parse_recipe(recipe, "test"), folder / "run", RunStart::anew, watcher), watcher);
  trainer.run(watcher.stop);
  EXPECT_EQ(trainer.test(), "");
  const std::vector<Measure>& measures = watcher.validations.back().score.measures;
  ASSERT_EQ(measures.size(), 4U);
  EXPECT_EQ(measures[2].name, "qa1_walks");
  EXPECT_EQ(measures[3].name, "qa2_more");
  EXPECT_NEAR(measures[0].value, (measures[2].value + measures[3].value) / 2, 1e-9);
}

TEST(QuestionTask, Resumes) {
  for (const char* kind : {"memory_network", "story_transformer"}) {
    const TemporaryFolder folder;
    Json recipe = story_recipe(folder, kind);
    recipe["data"]["empty_facts"] = 0.2;
    if (recipe["model"]["kind"] == "memory_network") {
      recipe["train"]["linear_steps"] = 5;
    }
    expect_resumes(recipe, folder);
  }
}

TEST(QuestionTask, Errors) {
  const TemporaryFolder folder;
  const auto fails = [&](const Json& changes, const std::string& text) {
    Json recipe = story_recipe(folder, "story_transformer");
    recipe.merge_patch(changes);
    expect_error([&] { train(recipe, folder / "run"); }, text);
  };
  fails({{"data", {{"stories", Json::array()}}}},
        "[test] task questions names no training data: set data.stories");
  fails({{"data", {{"valid_share", 0.1}}}},
        "[test] data.valid_stories and data.valid_share both say what is held out: set one of "
        "them");
  fails({{"train", {{"linear_steps", 10}}}},
        "[test] train.linear_steps is 10, but only a memory_network begins without softmax");
  fails({{"model", {{"sentence", 4}}}},
        "[stories] the sentence \"Fred went to the hallway\" has 5 words, the model reads at most "
        "4");
  fails({{"model", {{"kind", "bert"}, {"memory", nullptr}, {"sentence", nullptr}}}},
        "[model] a bert does not answer questions about stories");
  const auto unanswered = folder.write("qa1_x_train.txt", "1 Mary is here.\n2 Where is Mary?\n");
  fails({{"data", {{"stories", {unanswered.string()}}}}},
        fmt::format("[{}:2] the question \"Where is Mary?\" has no answer: it follows the question "
                    "behind a tab",
                    unanswered.string()));
}

// The first bAbI task, if its files are there.
TEST(QuestionTask, LearnsTheFirstTaskSlow) {
  const char* data = std::getenv("HEED_DATA");
  const std::filesystem::path babi =
      std::filesystem::path(data == nullptr ? "../shared/data" : data) / "babi";
  const auto train = babi / "en-10k" / "qa1_single-supporting-fact_train.txt.gz";
  const auto test = babi / "test_A" / "qa1_single-supporting-fact_test.txt.gz";
  if (!std::filesystem::exists(train) || !std::filesystem::exists(test)) {
    GTEST_SKIP() << "there is no " << train << "; set HEED_DATA";
  }
  const TemporaryFolder folder;
  Json recipe = story_recipe(folder, "memory_network");
  recipe["data"].update({{"stories", {train.string()}},
                         {"valid_stories", {test.string()}},
                         {"test_stories", {test.string()}},
                         {"batch_tokens", 512}});
  recipe["train"]["steps"] = 500;
  recipe["validation"]["every"] = 250;
  std::string line;
  EXPECT_GT(final_accuracy(recipe, folder / "run", line), 0.98) << line;
}

}  // namespace
}  // namespace heed::testing
