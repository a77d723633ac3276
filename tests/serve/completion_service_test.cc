// Completions through an engine: the same text alone and among others, cancelled ones leave no
// slot busy, and what cannot be is refused.
#include "serve/services/completion_service.h"

#include <gtest/gtest.h>

#include "serve/serving.h"
#include "support/error_of.h"
#include "support/tiny_folder.h"

namespace heed::serve::testing {
namespace {

using ::heed::testing::tiny_gpt;
using ::heed::testing::TinyFolder;

struct Completing {
  explicit Completing(const EngineOptions& options = {}, DType dtype = DType::f32)
      : model(folder.load(dtype)),
        engine(std::make_unique<CompletionService>(model, PrefillOptions{.piece = 8, .tokens = 20}),
               options) {}

  TextRequest request(const std::string& prompt, int64_t tokens, uint64_t seed = 1) const {
    TextRequest made;
    made.prompt = encode_prompt(*folder.tokenizer, prompt);
    made.options = {.sampling = {.top_p = 0.95F}, .max_tokens = tokens, .seed = seed};
    return made;
  }
  std::shared_ptr<Reply> submit(const TextRequest& wanted) {
    auto reply = std::make_shared<Reply>();
    engine.submit({std::make_shared<CompletionJob>(reply, 0, wanted)});
    return reply;
  }

  TinyFolder folder{tiny_gpt({{"context", 32}})};
  std::shared_ptr<const LoadedLanguageModel> model;
  Engine engine;
};

class CompletionsTest : public ::testing::TestWithParam<DType> {};

TEST_P(CompletionsTest, TheSameAloneAndAmongOthers) {
  Completing completing({.slots = 33, .queue = 8}, GetParam());
  TextRequest mine = completing.request("the fox", 40, 5);
  mine.options.ignore_end = true;
  mine.log_probabilities = 2;
  const Heard alone = hear(*completing.submit(mine));
  ASSERT_TRUE(alone.done.has_value());
  EXPECT_FALSE(alone.text.empty());
  ASSERT_EQ(alone.tokens.size(), 40U);
  EXPECT_EQ(alone.done->end, GenerateEnd::length);
  EXPECT_EQ(alone.done->tokens_in, 7);
  EXPECT_EQ(alone.done->tokens_out, 40);
  // Once before the others, once behind them, once in the middle.
  for (const size_t place : {0, 16, 32}) {
    std::vector<std::shared_ptr<Reply>> replies;
    for (size_t i = 0; i < 33; ++i) {
      const std::string prompt(1 + i * 5 % 50, "the quick"[i % 9]);
      replies.push_back(completing.submit(
          i == place ? mine : completing.request(prompt, 1 + static_cast<int64_t>(i) * 3, i)));
    }
    for (size_t i = 0; i < 33; ++i) {
      const Heard heard = hear(*replies[i]);
      ASSERT_TRUE(heard.done.has_value());
      if (i == place) {
        EXPECT_EQ(heard.text, alone.text);
        ASSERT_EQ(heard.tokens.size(), alone.tokens.size());
        for (size_t t = 0; t < heard.tokens.size(); ++t) {
          EXPECT_EQ(heard.tokens[t].id, alone.tokens[t].id);
          EXPECT_EQ(heard.tokens[t].log_probability, alone.tokens[t].log_probability);
        }
      }
    }
  }
  EXPECT_TRUE(idle_soon(completing.engine));
}

INSTANTIATE_TEST_SUITE_P(DTypes, CompletionsTest,
                         ::testing::Values(DType::f32, DType::bf16, DType::i8),
                         [](const auto& info) { return std::string(name_of(info.param)); });

// What the engine says is what `generate` says.
TEST(Completions, AsGenerate) {
  Completing completing;
  const std::vector<GenerateRequest> requests{
      {encode_prompt(*completing.folder.tokenizer, "lazy dog"), 0}};
  const GenerateOptions options{.max_tokens = 20, .seed = 3};
  const Generated expected = generate(*completing.model, requests, options).front();
  TextRequest wanted;
  wanted.prompt = requests.front().prompt;
  wanted.options = options;
  const Heard heard = hear(*completing.submit(wanted));
  EXPECT_EQ(heard.text, expected.text);
  EXPECT_EQ(heard.done->end, expected.end);
  EXPECT_TRUE(heard.tokens.empty());  // not asked for
}

TEST(Completions, SeveralForOneRequest) {
  Completing completing({.slots = 2, .queue = 10});
  const auto reply = std::make_shared<Reply>();
  std::vector<std::shared_ptr<Job>> jobs;
  for (uint64_t i = 0; i < 5; ++i) {
    TextRequest wanted = completing.request("fox", 12);
    wanted.sample = i;
    jobs.push_back(std::make_shared<CompletionJob>(reply, i, wanted));
  }
  completing.engine.submit(jobs);
  const std::vector<Heard> heard = hear(*reply, 5);
  for (uint64_t i = 0; i < 5; ++i) {
    TextRequest wanted = completing.request("fox", 12);
    wanted.sample = i;
    EXPECT_EQ(hear(*completing.submit(wanted)).text, heard[i].text);
  }
}

// 200 clients that leave in the middle of their texts.
TEST(Completions, CancelledOnesLeaveNothing) {
  Completing completing({.slots = 8, .queue = 200});
  std::vector<std::shared_ptr<Reply>> replies;
  for (uint64_t i = 0; i < 200; ++i) {
    TextRequest wanted = completing.request("the lazy dog", 1 << 20, i);
    wanted.options.ignore_end = true;
    replies.push_back(completing.submit(wanted));
  }
  // Each is left when its first pieces have come, or while it waits.
  for (size_t i = 0; i < replies.size(); ++i) {
    for (size_t piece = 0; piece < i % 4; ++piece) {
      EXPECT_TRUE(replies[i]->next(kLong).has_value());
    }
    replies[i]->cancel();
  }
  EXPECT_TRUE(idle_soon(completing.engine));
  const EngineCounters counters = completing.engine.counters();
  EXPECT_EQ(counters.cancelled, 200U);
  EXPECT_EQ(counters.completed + counters.failed, 0U);
  EXPECT_GT(counters.tokens_out, 200);
  // And the next is served as the first was.
  EXPECT_TRUE(hear(*completing.submit(completing.request("fox", 5))).done.has_value());
}

TEST(Completions, WhatCannotBeFailsAlone) {
  Completing completing;
  TextRequest lasting = completing.request("fox", 1 << 20);
  lasting.options.ignore_end = true;
  const auto reply = completing.submit(lasting);
  TextRequest wrong = completing.request("fox", 5);
  wrong.prompt.push_back(99999);
  const Heard heard = hear(*completing.submit(wrong));
  ASSERT_TRUE(heard.failed.has_value());
  EXPECT_EQ(heard.failed->fault, Fault::request);
  EXPECT_NE(heard.failed->message.find("token 99999 is in the prompt"), std::string::npos);
  wrong = completing.request("fox", 5);
  wrong.options.stop = {""};
  EXPECT_EQ(hear(*completing.submit(wrong)).failed->message, "[generate] a stop text is empty");
  EXPECT_TRUE(hear(*completing.submit(completing.request("fox", 5))).done.has_value());
  EXPECT_FALSE(reply->cancelled());
  reply->cancel();
  EXPECT_TRUE(idle_soon(completing.engine));
}

// As when the prompt had been drawn.
TEST(Completions, ChancesOfThePrompt) {
  Completing completing;
  TextRequest wanted = completing.request("the ", 12);
  wanted.options.ignore_end = true;
  wanted.log_probabilities = 3;
  const Heard drawn = hear(*completing.submit(wanted));
  ASSERT_EQ(drawn.tokens.size(), 12U);
  for (const DrawnToken& token : drawn.tokens) {
    wanted.prompt.push_back(token.id);
  }
  wanted.options.max_tokens = 0;
  const auto reply = std::make_shared<Reply>();
  const auto job = std::make_shared<CompletionJob>(reply, 0, wanted);
  job->log_probabilities_of_prompt = true;
  completing.engine.submit({job});
  const Heard heard = hear(*reply);
  ASSERT_TRUE(heard.done.has_value());
  EXPECT_EQ(heard.done->tokens_in, 16);
  EXPECT_EQ(heard.done->tokens_out, 0);
  ASSERT_EQ(heard.tokens.size(), 15U);
  for (size_t i = 0; i < 12; ++i) {
    EXPECT_EQ(heard.tokens[i + 3].id, drawn.tokens[i].id);
    EXPECT_NEAR(heard.tokens[i + 3].log_probability, drawn.tokens[i].log_probability, 1e-4);
    ASSERT_EQ(heard.tokens[i + 3].likeliest.size(), 3U);
    EXPECT_NEAR(heard.tokens[i + 3].likeliest[2].log_probability,
                drawn.tokens[i].likeliest[2].log_probability, 1e-4);
  }
  // More than the model can look at.
  wanted.prompt.resize(33, wanted.prompt.front());
  const auto second = std::make_shared<Reply>();
  const auto longer = std::make_shared<CompletionJob>(second, 0, wanted);
  longer->log_probabilities_of_prompt = true;
  completing.engine.submit({longer});
  EXPECT_EQ(hear(*second).failed->message, "[serve] the prompt has 33 tokens, expected 1 to 32");
}

TEST(Completions, Attention) {
  Completing completing;
  const auto reply = std::make_shared<Reply>();
  const auto job = std::make_shared<AttentionJob>(
      reply, TextAttentionRequest{.text = "the fox", .most_tokens = 16});
  completing.engine.submit({job});
  ASSERT_TRUE(hear(*reply).done.has_value());
  EXPECT_EQ(job->found.target.size(), 7U);
  EXPECT_TRUE(job->found.source.empty());
  ASSERT_EQ(job->found.maps.size(), 2U);
  EXPECT_EQ(job->found.maps[1].weights.shape(), (Shape{1, 4, 7, 7}));
  for (const char* text : {"", "the quick brown fox jumps"}) {
    const auto second = std::make_shared<Reply>();
    completing.engine.submit({std::make_shared<AttentionJob>(
        second, TextAttentionRequest{.text = text, .most_tokens = 16})});
    const Heard heard = hear(*second);
    ASSERT_TRUE(heard.failed.has_value());
    EXPECT_EQ(heard.failed->fault, Fault::request);
  }
}

}  // namespace
}  // namespace heed::serve::testing
