// Training of language models, and of translators, with every kind of tokenizer.
#include <gtest/gtest.h>

#include <cmath>

#include "support/error_of.h"
#include "support/tiny_training.h"

namespace heed {
namespace {

using namespace testing;

Json tiny_language_recipe(const TemporaryFolder& folder, const std::string& kind) {
  Json recipe = Json::parse(R"({
      "task": "language",
      "data": {"valid_share": 0.1, "batch_tokens": 128},
      "text": {"vocabulary": 300},
      "model": {"context": 16, "width": 16, "heads": 2, "layers": 1},
      "train": {"steps": 30, "precision": "f32", "label_smoothing": 0.0},
      "schedule": {"kind": "constant", "rate": 0.01, "warmup": 0},
      "validation": {"every": 10},
      "checkpoint": {"every": 0}})");
  std::string text;
  for (int i = 0; i < 60; ++i) {
    text += " the cat saw <unk> and the dog\n the dog saw the cat \n";
  }
  recipe["text"]["kind"] = kind;
  recipe["data"]["text"] = Json::array({folder.write("text.txt", text).string()});
  return recipe;
}

TEST(LanguageTask, LearnsWithEveryKindOfTokenizer) {
  for (const std::string& kind : tokenizer_kinds()) {
    for (const bool line_end : {false, true}) {
      SCOPED_TRACE(fmt::format("{} line_end {}", kind, line_end));
      const TemporaryFolder folder;
      Json recipe = tiny_language_recipe(folder, kind);
      recipe["data"]["line_end"] = line_end;
      Watcher watcher;
      train(recipe, folder / "run", watcher);
      const auto loaded = load_as<LanguageModel>(folder / "run", DType::f32);
      const Tokenizer& tokenizer = *loaded->tokenizers.target;
      EXPECT_EQ(tokenizer.kind(), kind);
      ASSERT_GE(watcher.validations.size(), 3U);
      EXPECT_LT(watcher.validations.back().score.loss, watcher.validations.front().score.loss);
      // The loss of a model that knows nothing is the logarithm.
      EXPECT_LT(watcher.validations.back().score.loss, 0.75 * std::log(tokenizer.size()));
    }
  }
}

// GPT-2's vocabulary has neither PAD nor UNK, and one token for START and END.
TEST(TranslateTask, LearnsWithGpt2sTokenizer) {
  const TemporaryFolder folder;
  Json recipe = tiny_recipe(folder);
  std::string answers;
  for (int i = 0; i < 200; ++i) {
    answers += "one two one two three\n";
  }
  recipe["data"]["target"] = Json::array({folder.write("train.tgt", answers).string()});
  recipe["data"]["valid_target"] =
      folder.write("valid.tgt", answers.substr(0, answers.size() / 10)).string();
  recipe["text"] = {{"kind", "byte_bpe"}, {"vocabulary", 300}};
  recipe["train"]["steps"] = 60;
  recipe["train"]["label_smoothing"] = 0.0;
  recipe["validation"] = {{"every", 0}, {"bleu", true}};
  Watcher watcher;
  train(recipe, folder / "run", watcher);
  // Right to the end: translations that never stop would score less.
  EXPECT_NEAR(watcher.validations.back().score.value, 100.0, 1e-9);
}

}  // namespace
}  // namespace heed
