// Questions about stories through an engine: what comes together is as alone, and a job that cannot
// be done fails alone.
#include "serve/services/answer_service.h"

#include <gtest/gtest.h>

#include "data/text/story_set.h"
#include "serve/serving.h"
#include "support/text_files.h"

namespace heed::serve::testing {
namespace {

using ::heed::testing::TemporaryFolder;

const std::vector<std::string> kFacts{"Mary went to the garden.", "John went to the kitchen.",
                                      "Mary took the milk.", "John slept."};

// A model whose values are drawn by chance.
struct TinyAnswerer {
  TinyAnswerer() {
    SentenceTable table;
    for (const std::string& fact : kFacts) {
      table.number_of(fact);
    }
    FolderConfig config;
    config.labels = {"garden", "kitchen", "milk"};
    const auto words = story_vocabulary(table, config.labels);
    config.model = resolve_model_config({{"kind", "story_transformer"},
                                         {"vocabulary", words->size()},
                                         {"answers", 3},
                                         {"width", 16},
                                         {"heads", 2},
                                         {"hidden", 24},
                                         {"layers", 3},
                                         {"memory", 3},
                                         {"sentence", 6}},
                                        "test");
    ParameterStore store;
    const auto any = make_model(store.root(), config.model);
    store.allocate(DType::f32, 5, ParameterStore::Use::batch_invariant);
    save_config(folder / "", config);
    save_tokenizers(folder / "", {words, words});
    save_parameters(folder / "model.safetensors", store, config.model);
  }

  TemporaryFolder folder;
};

struct Answering {
  explicit Answering(int64_t turn_sentences)
      : model(load_answerer(made.folder / "", DType::f32)),
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
  return {{kFacts.begin(), kFacts.begin() + static_cast<int64_t>(facts)}, "where is Mary?"};
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
