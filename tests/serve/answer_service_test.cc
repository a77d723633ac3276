// Questions about stories through an engine: what comes together is as alone, and a job that cannot
// be done fails alone.
#include "serve/services/answer_service.h"

#include <gtest/gtest.h>

#include "serve/serving.h"
#include "support/tiny_answerer.h"

namespace heed::serve::testing {
namespace {

using ::heed::testing::kStoryFacts;
using ::heed::testing::TinyAnswerer;

struct Answering {
  explicit Answering(int64_t turn_sentences)
      : model(load_answerer(made.path(), DType::f32)),
        engine(std::make_unique<AnswerService>(model, turn_sentences), {.slots = 16, .queue = 64}) {
  }

  std::shared_ptr<AnswerJob> submit(std::vector<AskedQuestion> questions, bool look) {
    reply = std::make_shared<Reply>();
    auto job = std::make_shared<AnswerJob>(reply, std::move(questions), look);
    engine.submit({job});
    return job;
  }

  TinyAnswerer made;
  std::shared_ptr<const LoadedAnswerer> model;
  Engine engine;
  std::shared_ptr<Reply> reply;  // the last one's
};

AskedQuestion question_about(size_t facts) {
  return {{kStoryFacts.begin(), kStoryFacts.begin() + static_cast<int64_t>(facts)},
          "where is Mary?"};
}

TEST(AnswerService, TheSameAloneAndTogether) {
  Answering answering(8);
  struct Waiting {
    std::shared_ptr<Reply> reply;
    std::shared_ptr<AnswerJob> job;
  };
  std::vector<Waiting> all;
  for (size_t i = 0; i < 12; ++i) {
    const auto job =
        answering.submit({question_about(i % 5), question_about((i + 2) % 5)}, i % 2 == 0);
    all.push_back({answering.reply, job});
  }
  for (const Waiting& waiting : all) {
    const Heard heard = hear(*waiting.reply);
    ASSERT_TRUE(heard.done.has_value());
    EXPECT_GT(heard.done->tokens_in, 1);
    for (size_t i = 0; i < waiting.job->size(); ++i) {
      const std::vector<AskedQuestion> one{waiting.job->questions[i]};
      const Answered expected = answer(*answering.model, one, {.look = waiting.job->look})[0];
      const Answered& found = waiting.job->answers[i];
      EXPECT_EQ(found.probabilities, expected.probabilities);
      EXPECT_EQ(found.fact_steps, expected.fact_steps);
      EXPECT_EQ(found.looks.empty(), !waiting.job->look);
      if (waiting.job->look && one[0].facts.size() == 4) {  // the model reads three
        EXPECT_EQ(found.looks[0].facts[0], 0.0F);
        EXPECT_GT(found.looks[0].facts[1], 0.0F);
      }
    }
  }
  EXPECT_TRUE(idle_soon(answering.engine));
}

TEST(AnswerService, ALongSentenceIsTheRequestsFault) {
  Answering answering(64);
  answering.submit({{{"one two three four five six seven"}, "where is Mary?"}}, false);
  const Heard heard = hear(*answering.reply);
  ASSERT_TRUE(heard.failed.has_value());
  EXPECT_EQ(heard.failed->message,
            "[stories] the sentence \"one two three four five six seven\" has 7 words, the model "
            "reads at most 6");
  answering.submit({question_about(1)}, false);
  EXPECT_TRUE(hear(*answering.reply).done.has_value());
}

TEST(AnswerService, WhatItOffers) {
  const Answering answering(64);
  const AnswerService service(answering.model);
  EXPECT_EQ(service.abilities(), std::set<std::string>{"answer"});
  EXPECT_EQ(service.describe().at("facts"), 3);
  EXPECT_TRUE(AnswerService::serves(answering.model->spec(), answering.model->config));
}

}  // namespace
}  // namespace heed::serve::testing
