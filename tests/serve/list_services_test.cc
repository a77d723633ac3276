// Encoders and translators through an engine: what comes together is as alone, lists share turns,
// and a job that fails fails alone.
#include <gtest/gtest.h>

#include <algorithm>

#include "serve/services/encode_service.h"
#include "serve/services/translate_service.h"
#include "serve/serving.h"
#include "support/tiny_encoder.h"

namespace heed::serve::testing {
namespace {

using ::heed::testing::TemporaryFolder;
using ::heed::testing::TinyEncoder;

const std::vector<std::string> kTexts{"the cat saw the dog", "dog", "a b c d", "the bird ran",
                                      "a dog and a cat and a bird and the dog ran"};

struct Encoding {
  explicit Encoding(int64_t turn_tokens, const EngineOptions& options = {})
      : model(folder.load()),
        engine(std::make_unique<EncodeService>(model, turn_tokens), options) {}

  std::vector<EncodedText> encoded(size_t first, size_t count) const {
    std::vector<EncodedText> texts;
    for (size_t i = first; i < first + count; ++i) {
      texts.push_back(encode(*model, {kTexts[i % kTexts.size()]}));
    }
    return texts;
  }
  std::shared_ptr<EncodeJob> submit(EncodeTask task, std::vector<EncodedText> texts) {
    reply = std::make_shared<Reply>();
    auto job = std::make_shared<EncodeJob>(reply, task, std::move(texts));
    engine.submit({job});
    return job;
  }

  TinyEncoder folder{{{"labels", 3}, {"masked_head", true}}, {.labels = {"x", "y", "z"}}};
  std::shared_ptr<const LoadedEncoder> model;
  Engine engine;
  std::shared_ptr<Reply> reply;  // the last one's
};

// Many jobs of all kinds, with turns that are too small for them.
TEST(EncodeService, TheSameAloneAndTogether) {
  Encoding encoding(40, {.slots = 16, .queue = 64});
  struct Waiting {
    std::shared_ptr<Reply> reply;
    std::shared_ptr<EncodeJob> job;
    size_t first;
  };
  std::vector<Waiting> all;
  for (size_t i = 0; i < 30; ++i) {
    const auto task = i % 2 == 0 ? EncodeTask::embed : EncodeTask::classify;
    const auto job = encoding.submit(task, encoding.encoded(i, 1 + i % 7));
    all.push_back({encoding.reply, job, i});
  }
  for (const Waiting& waiting : all) {
    const Heard heard = hear(*waiting.reply);
    ASSERT_TRUE(heard.done.has_value());
    int64_t tokens = 0;
    for (size_t i = 0; i < waiting.job->size(); ++i) {
      const std::vector<EncodedText> one = encoding.encoded(waiting.first + i, 1);
      tokens += std::ssize(one.front().tokens);
      const auto expected = waiting.job->task == EncodeTask::embed
                                ? embed_encoded(*encoding.model, one, {.normalize = true})
                                : classify_encoded(*encoding.model, one, 4096);
      EXPECT_EQ(waiting.job->vectors[i], expected.front());
    }
    EXPECT_EQ(heard.done->tokens_in, tokens);
  }
  EXPECT_TRUE(idle_soon(encoding.engine));
}

TEST(EncodeService, FillsMasks) {
  Encoding encoding(64);
  std::vector<EncodedText> texts;
  for (const char* text : {"the [MASK] saw [MASK] dog", "a [MASK]", "[MASK] ran and ran"}) {
    texts.push_back(encode(*encoding.model, {text}));
  }
  const auto job = encoding.submit(EncodeTask::fill, texts);
  ASSERT_TRUE(hear(*encoding.reply).done.has_value());
  const auto expected = fill_masks(*encoding.model, "the [MASK] saw [MASK] dog", 5);
  ASSERT_EQ(job->words[0].size(), 2U);
  ASSERT_EQ(expected.size(), 2U);
  for (size_t mask = 0; mask < 2; ++mask) {
    ASSERT_EQ(job->words[0][mask].size(), 5U);
    for (size_t i = 0; i < 5; ++i) {
      EXPECT_EQ(job->words[0][mask][i].word, expected[mask][i].word);
      EXPECT_EQ(job->words[0][mask][i].probability, expected[mask][i].probability);
    }
  }
  EXPECT_EQ(job->words[1].size(), 1U);
  encoding.submit(EncodeTask::fill, encoding.encoded(0, 1));
  EXPECT_EQ(hear(*encoding.reply).failed->message, "[fill] the text has no [MASK]");
}

TEST(EncodeService, WhatCannotBe) {
  Encoding encoding(64);
  const auto failure = [&](EncodeTask task, std::vector<EncodedText> texts) {
    encoding.submit(task, std::move(texts));
    const Heard heard = hear(*encoding.reply);
    EXPECT_TRUE(heard.failed && heard.failed->fault == Fault::request);
    return heard.failed ? heard.failed->message : "";
  };
  EXPECT_EQ(failure(EncodeTask::embed, {}),
            "[serve] the list of texts is empty, expected at least one");
  EXPECT_EQ(failure(EncodeTask::embed, {{}}), "[serve] a text has 0 tokens, expected 1 to 20");
  EXPECT_EQ(failure(EncodeTask::embed, {{std::vector<int32_t>(21, 5), 21}}),
            "[serve] a text has 21 tokens, expected 1 to 20");
  EXPECT_NE(failure(EncodeTask::classify, {{{5, -7}, 2}}).find("has token -7"), std::string::npos);
}

TEST(EncodeService, Attention) {
  Encoding encoding(64);
  const auto reply = std::make_shared<Reply>();
  const auto job = std::make_shared<AttentionJob>(
      reply, TextAttentionRequest{.text = "the cat", .second = "a dog"});
  encoding.engine.submit({job});
  ASSERT_TRUE(hear(*reply).done.has_value());
  EXPECT_EQ(job->found.source,
            (std::vector<std::string>{"[CLS]", "the", "cat", "[SEP]", "a", "dog", "[SEP]"}));
  EXPECT_EQ(job->found.maps.size(), 2U);
}

// Lists of numbers: what ListService does by itself. A number below 0 breaks its batch.
class NumberJob : public ListJob {
 public:
  NumberJob(std::shared_ptr<Reply> reply, std::vector<int> given, int task_kind = 0)
      : ListJob(std::move(reply)), numbers(std::move(given)), kind(task_kind) {}
  size_t size() const override { return numbers.size(); }
  int64_t cost(size_t /*index*/) const override { return 1; }

  std::vector<int> numbers;
  int kind;
  std::vector<int> squares;
};

class NumberService : public ListService {
 public:
  explicit NumberService(int64_t turn_cost) : ListService(turn_cost) {}
  // (number, kind) of each turn, for a test that works without an engine.
  mutable std::vector<std::vector<std::pair<int, int>>> turns;

 protected:
  ListJob& checked(Job& job) const override { return dynamic_cast<ListJob&>(job); }
  bool together(const ListJob& a, const ListJob& b) const override {
    return dynamic_cast<const NumberJob&>(a).kind == dynamic_cast<const NumberJob&>(b).kind;
  }
  void work(std::span<const Item> items) const override {
    turns.emplace_back();
    for (const Item& item : items) {
      const auto& job = dynamic_cast<const NumberJob&>(*item.job);
      turns.back().emplace_back(job.numbers[item.index], job.kind);
      check(job.numbers[item.index] >= 0, "[test] {} comes", job.numbers[item.index]);
    }
    for (const Item& item : items) {
      auto& job = dynamic_cast<NumberJob&>(*item.job);
      EXPECT_EQ(job.squares.size(), item.index);
      job.squares.push_back(job.numbers[item.index] * job.numbers[item.index]);
    }
  }
};

TEST(ListService, TakesTextsOfAllInTurn) {
  const auto reply = std::make_shared<Reply>();
  NumberService service(3);
  NumberJob list(reply, {1, 2, 3, 4, 5, 6});
  NumberJob other(reply, {7, 8}, 1);
  NumberJob small(reply, {9});
  service.admit(list);
  service.admit(other);
  service.admit(small);
  service.turn();
  EXPECT_EQ(small.outcome(), Outcome::completed);
  service.turn();
  EXPECT_EQ(other.outcome(), Outcome::completed);
  service.turn();
  EXPECT_EQ(list.outcome(), Outcome::running);
  NumberJob gone(reply, {10});
  service.admit(gone);
  service.drop(gone);
  service.turn();
  EXPECT_EQ(list.outcome(), Outcome::completed);
  using Turn = std::vector<std::pair<int, int>>;
  EXPECT_EQ(service.turns,
            (std::vector<Turn>{
                {{1, 0}, {9, 0}, {2, 0}}, {{7, 1}, {8, 1}}, {{3, 0}, {4, 0}, {5, 0}}, {{6, 0}}}));
  EXPECT_EQ(list.squares, (std::vector<int>{1, 4, 9, 16, 25, 36}));
}

TEST(ListService, AJobThatFailsFailsAlone) {
  NumberService service(10);
  std::vector<std::shared_ptr<Reply>> replies;
  std::vector<std::unique_ptr<NumberJob>> jobs;
  for (const std::vector<int>& numbers : {std::vector{1, 2}, std::vector{3, -4}, std::vector{5}}) {
    replies.push_back(std::make_shared<Reply>());
    jobs.push_back(std::make_unique<NumberJob>(replies.back(), numbers));
    service.admit(*jobs.back());
  }
  service.turn();
  EXPECT_EQ(jobs[0]->squares, (std::vector<int>{1, 4}));
  EXPECT_EQ(jobs[2]->squares, (std::vector<int>{25}));
  EXPECT_TRUE(hear(*replies[0]).done.has_value());
  EXPECT_EQ(hear(*replies[1]).failed->message, "[test] -4 comes");
  EXPECT_TRUE(hear(*replies[2]).done.has_value());
}

// A small Transformer with values drawn by chance.
struct Translating {
  Translating() {
    const auto tokenizer = train_tokenizer(
        {"the quick brown fox jumps over the lazy dog.", "für Größe; ja! nein?"}, {.kind = "char"});
    FolderConfig config;
    config.model = resolve_model_config({{"kind", "transformer"},
                                         {"vocabulary", tokenizer->size()},
                                         {"width", 32},
                                         {"heads", 4},
                                         {"hidden", 48},
                                         {"encoder_layers", 1},
                                         {"decoder_layers", 1}},
                                        "test");
    ParameterStore store;
    const auto built = make_model(store.root(), config.model);
    store.allocate(DType::f32, 8, ParameterStore::Use::batch_invariant);
    save_folder(folder / "", config, {tokenizer, tokenizer}, store);
    model = load_translator(folder / "", DType::f32);
    engine =
        std::make_unique<Engine>(std::make_unique<TranslateService>(model, 24), EngineOptions{});
  }
  std::shared_ptr<TranslateJob> submit(std::vector<SourceText> texts,
                                       const DecodeOptions& options) {
    reply = std::make_shared<Reply>();
    auto job = std::make_shared<TranslateJob>(reply, std::move(texts), options);
    engine->submit({job});
    return job;
  }

  TemporaryFolder folder;
  std::shared_ptr<const LoadedTranslator> model;
  std::unique_ptr<Engine> engine;
  std::shared_ptr<Reply> reply;  // the last one's
};

TEST(TranslateService, TheSameAloneAndTogether) {
  Translating translating;
  const std::vector<SourceText> texts{
      {"the fox"}, {"ja! nein?"}, {""}, {"the quick brown fox jumps over the lazy dog."}, {"q"}};
  const std::vector<DecodeOptions> options{
      {}, {.beam = 1}, {.beam = 3, .n_best = 2}, {.decoding = "greedy", .trace = true}};
  std::vector<std::pair<std::shared_ptr<Reply>, std::shared_ptr<TranslateJob>>> all;
  for (size_t i = 0; i < 12; ++i) {
    std::vector<SourceText> some(texts.begin() + static_cast<int64_t>(i % 5), texts.end());
    const auto job = translating.submit(std::move(some), options[i % 4]);
    all.emplace_back(translating.reply, job);
  }
  for (const auto& [reply, job] : all) {
    const Heard heard = hear(*reply);
    ASSERT_TRUE(heard.done.has_value());
    const Translator translator(*translating.model, {.decode = job->options});
    for (size_t i = 0; i < job->texts.size(); ++i) {
      const auto expected = translator.translate(std::span(&job->texts[i], 1)).front();
      ASSERT_EQ(job->results[i].best.size(), expected.best.size());
      for (size_t k = 0; k < expected.best.size(); ++k) {
        EXPECT_EQ(job->results[i].best[k].text, expected.best[k].text);
        EXPECT_EQ(job->results[i].best[k].score, expected.best[k].score);
        EXPECT_EQ(job->results[i].best[k].trace, expected.best[k].trace);
      }
    }
    EXPECT_GT(heard.done->tokens_in, 0);
  }
  EXPECT_TRUE(idle_soon(*translating.engine));
  EXPECT_EQ(translating.engine->counters().completed, 12U);
}

TEST(TranslateService, WhatCannotBe) {
  Translating translating;
  const auto failure = [&](const DecodeOptions& options) {
    translating.submit({{"fox"}}, options);
    return hear(*translating.reply).failed.value_or(Failed{}).message;
  };
  EXPECT_EQ(failure({.beam = 0}), "[decode] beam is 0, expected a whole number from 1 to 256");
  EXPECT_EQ(failure({.beam = 2, .n_best = 3}), "[translate] n_best is 3, expected 1 to 2");
  EXPECT_EQ(failure({.decoding = "greedy", .n_best = 2}),
            "[decode] n_best is 2, expected 1: decoding greedy finds one translation");
  EXPECT_TRUE(
      failure({.decoding = "refine"})
          .starts_with("[decode] this model was not trained for decoding refine; it can do: "
                       "greedy, beam. A model for refine is trained with "));
}

TEST(TranslateService, Attention) {
  Translating translating;
  const auto reply = std::make_shared<Reply>();
  const auto job = std::make_shared<AttentionJob>(
      reply, TextAttentionRequest{.text = "the fox", .second = "ja!"});
  translating.engine->submit({job});
  ASSERT_TRUE(hear(*reply).done.has_value());
  EXPECT_EQ(job->found.source.size(), 8U);  // with END
  EXPECT_EQ(job->found.target.size(), 4U);  // with START
  EXPECT_EQ(job->found.translation, "ja!");
  ASSERT_EQ(job->found.maps.size(), 3U);
  const auto cross = std::find_if(job->found.maps.begin(), job->found.maps.end(),
                                  [](const LayerAttention& map) { return map.kind == "cross"; });
  ASSERT_NE(cross, job->found.maps.end());
  EXPECT_EQ(cross->weights.shape(), (Shape{1, 4, 4, 8}));
}

}  // namespace
}  // namespace heed::serve::testing
