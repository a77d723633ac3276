// Training proposals: the translator stays what it is, to the bit, unless it is to learn along; a
// resumed run gives the same bits.
#include "tasks/blockwise/translate_blockwise_task.h"

#include <gtest/gtest.h>

#include "support/error_of.h"
#include "support/tiny_training.h"

namespace heed {
namespace {

using namespace testing;

// A translator that has learned something, and a recipe that goes on with it.
Json blockwise_recipe(const TemporaryFolder& folder, bool frozen) {
  Json teacher = tiny_recipe(folder);
  teacher["train"]["steps"] = 120;
  train(teacher, folder / "teacher");
  Json recipe = tiny_recipe(folder);
  recipe["task"] = "translate_blockwise";
  recipe["model"] = {{"kind", "blockwise_transformer"}, {"block", 3}};
  recipe["blockwise"] = {{"frozen", frozen}};
  recipe["train"]["from"] = (folder / "teacher").string();
  recipe["validation"]["best_by"] = "score";
  return recipe;
}

std::vector<std::vector<Hypothesis>> decoded(const LoadedTranslator& model,
                                             const std::string& decoding) {
  std::vector<DecodeRequest> requests;
  for (const char* word : {"abc", "hgfedc", "aabb", "dach", "fadedag"}) {
    requests.push_back({model.encode_source(word)});
  }
  DecodeOptions options{.decoding = decoding};
  options.special = model.tokenizers.target->special();
  options.vocabulary = model.tokenizers.target->size();
  return decode_batch(*model.model, requests, options);
}

TEST(TranslateBlockwiseTask, KeepsTheTranslatorToTheBit) {
  const TemporaryFolder folder;
  Json recipe = blockwise_recipe(folder, true);
  recipe["train"]["steps"] = 150;
  recipe["train"]["average"] = 3;
  recipe["optimizer"] = {{"kind", "adamw"}, {"weight_decay", 0.1}, {"decay_vectors", true}};
  Watcher watcher;
  train(recipe, folder / "run", watcher);
  const Score& first = watcher.validations.front().score;
  const Score& last = watcher.validations.back().score;
  EXPECT_LT(last.loss, first.loss);
  EXPECT_EQ(last.metric, "tokens_per_pass");
  EXPECT_GT(last.value, 1.05);
  EXPECT_LE(last.value, 3.0);
  const auto teacher = load_translator(folder / "teacher", DType::f32);
  const auto learned = load_translator(folder / "run", DType::f32);
  for (const ParameterEntry& entry : teacher->store.entries()) {
    EXPECT_EQ(learned->store.find(entry.name).value.to_vector(), entry.value.to_vector())
        << entry.name;
  }
  const auto greedy = decoded(*teacher, "greedy");
  const auto blockwise = decoded(*learned, "");
  PassCount count;
  for (size_t i = 0; i < greedy.size(); ++i) {
    EXPECT_EQ(blockwise[i].front().ids, greedy[i].front().ids);
    EXPECT_EQ(blockwise[i].front().log_probability, greedy[i].front().log_probability);
    count.add(blockwise[i].front());
  }
  EXPECT_GT(count.mean(), 1.0);
}

TEST(TranslateBlockwiseTask, LetsTheTranslatorLearnAlong) {
  const TemporaryFolder folder;
  Json recipe = blockwise_recipe(folder, false);
  recipe["model"]["block"] = 2;
  Watcher watcher;
  train(recipe, folder / "run", watcher);
  EXPECT_EQ(watcher.validations.back().score.metric, "bleu");
  const auto teacher = load_translator(folder / "teacher", DType::f32);
  const auto learned = load_translator(folder / "run", DType::f32);
  EXPECT_NE(learned->store.find("embedding.weight").value.to_vector(),
            teacher->store.find("embedding.weight").value.to_vector());
}

TEST(TranslateBlockwiseTask, ResumesToTheSameBits) {
  const TemporaryFolder folder;
  const Json recipe = blockwise_recipe(folder, true);
  train(recipe, folder / "whole");
  Watcher stops(9);
  EXPECT_EQ(train(recipe, folder / "parts", stops).end, TrainEnd::interrupted);
  train(recipe, folder / "parts", true);
  expect_same_tensors(folder / "whole", folder / "parts");
}

TEST(TranslateBlockwiseTask, NeedsATranslatorToKeep) {
  const TemporaryFolder folder;
  Json recipe = tiny_recipe(folder);
  recipe["task"] = "translate_blockwise";
  EXPECT_EQ(error_of([&] { parse_recipe(recipe, "test"); }),
            "[test] blockwise.frozen keeps a model as it is, and train.from names none: set "
            "train.from to a trained model, or blockwise.frozen = false");
  recipe["blockwise"] = {{"frozen", false}};
  EXPECT_NO_THROW(parse_recipe(recipe, "test"));
}

}  // namespace
}  // namespace heed
