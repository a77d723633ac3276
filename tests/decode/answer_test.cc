// Answers to questions about stories, from a model folder.
#include "decode/stories/answer.h"

#include <gtest/gtest.h>

#include <numeric>

#include "base/ignore.h"
#include "decode/stories/judge.h"
#include "support/error_of.h"
#include "support/tiny_answerer.h"

namespace heed::testing {
namespace {

TEST(Answer, ReadsTheNewestFactsAlone) {
  const TinyAnswerer made;
  const auto model = load_answerer(made.path(), DType::f32);
  const std::vector<std::string> newest(kStoryFacts.begin() + 1, kStoryFacts.end());
  const std::vector<AskedQuestion> asked{
      {kStoryFacts, "where is Mary?"}, {newest, "Where is mary"}, {{}, "where is Mary?"}};
  const std::vector<Answered> answers = answer(*model, asked, {.look = true});
  EXPECT_EQ(answers[0].probabilities, answers[1].probabilities);  // the model reads three
  EXPECT_NE(answers[0].probabilities, answers[2].probabilities);
  for (const Answered& answered : answers) {
    EXPECT_NEAR(std::accumulate(answered.probabilities.begin(), answered.probabilities.end(), 0.0),
                1.0, 1e-5);
    EXPECT_EQ(answered.probabilities[answered.best],
              *std::ranges::max_element(answered.probabilities));
    EXPECT_GT(answered.question_steps, 0.0F);
    for (const FactAttention& look : answered.looks) {
      EXPECT_NEAR(std::accumulate(look.facts.begin(), look.facts.end(), look.question), 1.0F,
                  1e-5F);
    }
  }
  ASSERT_EQ(answers[0].looks[0].facts.size(), 4U);
  EXPECT_EQ(answers[0].looks[0].facts[0], 0.0F);
  EXPECT_EQ(answers[0].fact_steps[0], 0.0F);
  EXPECT_GT(answers[0].fact_steps[1], 0.0F);
  EXPECT_TRUE(answers[2].fact_steps.empty());
}

TEST(Answer, WordsThatNobodyKnows) {
  const TinyAnswerer made;
  const auto model = load_answerer(made.path(), DType::f32);
  const std::vector<AskedQuestion> asked{{{"xyzzy \xff plugh."}, "?"}, {{""}, ""}};
  EXPECT_EQ(answer(*model, asked)[0].probabilities.size(), 3U);
  const AskedQuestion longer{{}, "one two three four five six seven?"};
  expect_error([&] { check_question(*model, longer); },
               "[stories] the sentence \"one two three four five six seven\" has 7 words, the "
               "model reads at most 6");
}

TEST(Answer, AFolderThatNamesOtherAnswers) {
  const TinyAnswerer unnamed(std::vector<std::string>{});
  expect_error([&] { load_answerer(unnamed.path(), DType::f32); },
               "[model folder] " + unnamed.path().string() +
                   ": config.json names 0 answers (id2label), the model has 3");
}

TEST(Answer, ErrorsOfTasks) {
  const AnswerNumbers numbers({"Garden", "no idea"});
  EXPECT_EQ(numbers.of({"garden", "No Idea", "attic"}), (std::vector<int32_t>{0, 1, kIgnore}));
  EXPECT_EQ(numbers.keys(), (std::vector<std::string>{"garden", "no▁idea"}));
  const StoryErrors errors{.errors = {0.0, 0.05, 0.25}};
  EXPECT_NEAR(errors.mean_error(), 0.1, 1e-12);
  EXPECT_EQ(errors.failed(), 1);  // 5 % is no failure, more is one
}

}  // namespace
}  // namespace heed::testing
