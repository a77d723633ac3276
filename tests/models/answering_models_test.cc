// Models that answer questions about stories: memory networks and Transformers.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "autograd/tape.h"
#include "models/answering/answering_model.h"
#include "models/answering/sentence_encoder.h"
#include "models/registry.h"
#include "nn/scopes/attention_scope.h"
#include "nn/scopes/loss_scope.h"
#include "ops/loss/cross_entropy.h"
#include "support/error_of.h"

namespace heed::testing {
namespace {

std::vector<Json> variants() {
  const Json memory{{"kind", "memory_network"},
                    {"vocabulary", 24},
                    {"answers", 5},
                    {"width", 12},
                    {"memory", 8},
                    {"sentence", 4},
                    {"standard_deviation", 0.5}};
  const Json story{{"kind", "story_transformer"},
                   {"vocabulary", 24},
                   {"answers", 5},
                   {"width", 16},
                   {"heads", 2},
                   {"hidden", 24},
                   {"layers", 3},
                   {"memory", 8},
                   {"sentence", 4},
                   {"dropout", 0.0}};
  const auto with = [](Json base, const Json& more) {
    base.update(more);
    return resolve_model_config(base, "test");
  };
  return {with(memory, {{"hops", 3}}), with(memory, {{"tying", "layerwise"}, {"order", "bag"}}),
          with(story, {{"halting", true}}), with(story, {{"halting", false}}),
          with(story, {{"universal", false}})};
}

struct Built {
  explicit Built(const Json& config, ParameterStore::Use use = ParameterStore::Use::batch_invariant)
      : any(make_model(store.root(), config)), model(model_as<AnsweringModel>(*any, config)) {
    store.allocate(DType::f32, 4, use);
  }
  ParameterStore store;
  std::unique_ptr<Model> any;
  const AnsweringModel& model;
};

constexpr int64_t kSentences = 7;

// Sentences of one to four words; sentence 0 is empty.
Tensor some_words() {
  std::vector<int32_t> words(kSentences * 4, 0);
  for (int32_t sentence = 1; sentence < kSentences; ++sentence) {
    for (int32_t word = 0; word <= sentence % 4; ++word) {
      words[static_cast<size_t>(sentence * 4 + word)] = 4 + (sentence * 5 + word * 3) % 20;
    }
  }
  return Tensor::from_ints(words, {kSentences, 4});
}

StoryBatch batch_of(const std::vector<std::vector<int32_t>>& stories) {
  size_t width = 0;
  for (const auto& story : stories) {
    width = std::max(width, story.size());
  }
  std::vector<int32_t> padded;
  std::vector<int32_t> lengths;
  for (const auto& story : stories) {
    padded.insert(padded.end(), story.begin(), story.end());
    padded.resize(lengths.size() * width + width, 0);
    lengths.push_back(static_cast<int32_t>(story.size()));
  }
  const auto rows = static_cast<int64_t>(stories.size());
  return {.words = some_words(),
          .stories = Tensor::from_ints(padded, {rows, static_cast<int64_t>(width)}),
          .lengths = Tensor::from_ints(lengths, {rows})};
}

const std::vector<std::vector<int32_t>> kStories{
    {1, 2, 3}, {4}, {5, 6, 1, 2, 3, 4, 5, 6, 1}, {2, 0, 3, 0}};

TEST(AnsweringModels, ARowIsTheSameInAnyBatch) {
  for (const Json& config : variants()) {
    SCOPED_TRACE(config.dump());
    const Built built(config);
    const std::vector<float> together = built.model.answers(batch_of(kStories)).to_vector();
    ASSERT_EQ(together.size(), kStories.size() * 5);
    for (size_t row = 0; row < kStories.size(); ++row) {
      const std::vector<float> alone = built.model.answers(batch_of({kStories[row]})).to_vector();
      const auto first = together.begin() + static_cast<int64_t>(row) * 5;
      EXPECT_EQ(alone, std::vector<float>(first, first + 5)) << row;
    }
  }
}

TEST(AnsweringModels, AttentionAddsUpToOne) {
  for (const Json& config : variants()) {
    SCOPED_TRACE(config.dump());
    const Built built(config);
    AttentionScope scope;
    built.model.answers(batch_of(kStories));
    const bool memory = config["kind"] == "memory_network";
    ASSERT_FALSE(scope.layers().empty());
    for (const LayerAttention& layer : scope.layers()) {
      EXPECT_EQ(layer.kind, memory ? "memory" : "encoder");
      const int64_t keys = layer.weights.dim(3);
      EXPECT_EQ(keys, memory ? 8 : 9);
      const int64_t every = layer.weights.dim(1) * layer.weights.dim(2) * keys;
      for (size_t row = 0; row < kStories.size(); ++row) {
        const float* weights = layer.weights.data<float>() + static_cast<int64_t>(row) * every;
        const auto seen = std::ssize(kStories[row]) - (memory ? 1 : 0);
        EXPECT_NEAR(std::accumulate(weights, weights + seen, 0.0), seen > 0 ? 1.0 : 0.0, 1e-5);
        EXPECT_EQ(std::accumulate(weights + seen, weights + keys, 0.0), 0.0);
      }
    }
    EXPECT_EQ(scope.pondering().size(),
              config.value("universal", false) && config.value("halting", false) ? 1U : 0U);
  }
}

TEST(AnsweringModels, HopsOfAMemoryNetwork) {
  const Built built(variants()[0]);
  AttentionScope scope;
  built.model.answers(batch_of(kStories));
  ASSERT_EQ(scope.layers().size(), 3U);
  EXPECT_EQ(scope.layers()[2].layer, 2);
}

// Without softmax the weights are the products themselves, so answers differ, and padding still
// counts for nothing.
TEST(AnsweringModels, LinearStart) {
  const Built built(variants()[0]);
  StoryBatch batch = batch_of(kStories);
  const std::vector<float> usual = built.model.answers(batch).to_vector();
  batch.linear = true;
  const std::vector<float> linear = built.model.answers(batch).to_vector();
  EXPECT_NE(usual, linear);
  StoryBatch alone = batch_of({kStories[0]});
  alone.linear = true;
  const std::vector<float> first = built.model.answers(alone).to_vector();
  for (size_t i = 0; i < first.size(); ++i) {
    EXPECT_NEAR(first[i], linear[i], 1e-5);
  }
}

TEST(AnsweringModels, PositionEncodingIsThePapers) {
  ParameterStore store;
  const SentenceEncoder encoder(store.root(), {.order = "positions", .longest = 4, .width = 6});
  const std::vector<int32_t> words{7, 8, 9, 0};
  const Tensor weights = encoder.weights(Tensor::from_ints(words, {1, 4}));
  ASSERT_EQ(weights.shape(), Shape({1, 4, 6}));
  for (int64_t j = 1; j <= 4; ++j) {
    for (int64_t k = 1; k <= 6; ++k) {
      const float place = static_cast<float>(j) / 3.0F;
      const float column = static_cast<float>(k) / 6.0F;
      const float expected = j > 3 ? 0.0F : (1.0F - place) - column * (1.0F - 2.0F * place);
      EXPECT_NEAR(weights.data<float>()[(j - 1) * 6 + k - 1], expected, 1e-6);
    }
  }
}

// The order of words matters where it is encoded, and nowhere else.
TEST(AnsweringModels, OrderOfWords) {
  for (const char* order : {"bag", "positions"}) {
    const Built built(resolve_model_config({{"kind", "memory_network"},
                                            {"vocabulary", 24},
                                            {"answers", 5},
                                            {"width", 12},
                                            {"memory", 8},
                                            {"sentence", 4},
                                            {"order", order}},
                                           "test"));
    const auto answers = [&](const std::vector<int32_t>& words) {
      const std::vector<int32_t> story{0, 1};
      const std::vector<int32_t> length{2};
      return built.model
          .answers({.words = Tensor::from_ints(words, {2, 3}),
                    .stories = Tensor::from_ints(story, {1, 2}),
                    .lengths = Tensor::from_ints(length, {1})})
          .to_vector();
    };
    const std::vector<float> one = answers({9, 10, 0, 11, 12, 13});
    const std::vector<float> other = answers({9, 10, 0, 13, 12, 11});
    float difference = 0.0F;
    for (size_t i = 0; i < one.size(); ++i) {
      difference = std::max(difference, std::abs(one[i] - other[i]));
    }
    EXPECT_EQ(difference < 1e-6F, std::string(order) == "bag");
  }
}

TEST(AnsweringModels, PonderingCosts) {
  const Built built(variants()[2], ParameterStore::Use::training);
  Tape tape(1);
  const TapeScope recording(tape);
  const LossScope costs;
  const Tensor scores = built.model.answers(batch_of(kStories));
  const std::vector<int32_t> truth{0, 1, 2, 3};
  const Tensor loss = cross_entropy(scores, Tensor::from_ints(truth, {4}));
  EXPECT_GT(costs.added_to(loss).item(), loss.item());
}

TEST(AnsweringModels, WhatTheyCannotRead) {
  const Built memory(variants()[0]);
  const Built story(variants()[2]);
  const StoryBatch long_story = batch_of({{1, 2, 3, 4, 5, 6, 1, 2, 3, 4}});
  expect_error([&] { memory.model.answers(long_story); },
               "[memory network] a story has 9 facts, the memory holds 8");
  expect_error([&] { story.model.answers(long_story); },
               "[story transformer] a story has 9 facts, the model reads 8");
  StoryBatch batch = batch_of({{0, 0}});
  batch.words = Tensor::zeros({1, 5}, DType::i32);
  expect_error([&] { story.model.answers(batch); },
               "[sentences] a sentence has 5 words, the model reads at most 4");
  expect_error(
      [] {
        ParameterStore store;
        make_model(store.root(),
                   resolve_model_config(
                       {{"kind", "memory_network"}, {"vocabulary", 8}, {"answers", 5}}, "test"));
      },
      "[memory network] a vocabulary of 8 words has no room for 5 answers behind the special "
      "tokens");
}

}  // namespace
}  // namespace heed::testing
