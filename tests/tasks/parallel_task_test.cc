// Training to translate all words at once: it learns, begins with a translator's weights, and a
// resumed run gives the same bits.
#include "tasks/parallel_task.h"

#include <gtest/gtest.h>

#include "decode/text/rescore.h"
#include "support/error_of.h"
#include "support/tiny_training.h"

namespace heed {
namespace {

using namespace testing;

Json parallel_recipe(const TemporaryFolder& folder, const std::string& input) {
  Json recipe = tiny_recipe(folder);
  recipe["task"] = "translate_parallel";
  recipe["model"]["kind"] = "parallel_transformer";
  recipe["model"]["input"] = input;
  recipe["decoding"] = {{"iterations", 3}};
  return recipe;
}

class ParallelTaskTest : public ::testing::TestWithParam<std::string> {};

TEST_P(ParallelTaskTest, LearnsToReverse) {
  const TemporaryFolder folder;
  Json recipe = parallel_recipe(folder, GetParam());
  recipe["train"]["steps"] = 150;
  Watcher watcher;
  train(recipe, folder / "run", watcher);
  EXPECT_LT(watcher.validations.back().score.loss, 0.8 * watcher.validations.front().score.loss);
  EXPECT_EQ(watcher.validations.back().score.metric, "bleu");
  const auto loaded = load_translator(folder / "run", DType::f32);
  EXPECT_EQ(decoding_for(*loaded->model, "").name, GetParam() == "copied" ? "parallel" : "refine");
}

TEST_P(ParallelTaskTest, ResumesToTheSameBits) {
  const TemporaryFolder folder;
  const Json recipe = parallel_recipe(folder, GetParam());
  train(recipe, folder / "whole");
  Watcher stops(9);
  EXPECT_EQ(train(recipe, folder / "parts", stops).end, TrainEnd::interrupted);
  train(recipe, folder / "parts", true);
  expect_same_tensors(folder / "whole", folder / "parts");
}

INSTANTIATE_TEST_SUITE_P(Inputs, ParallelTaskTest, ::testing::Values("copied", "refined", "masked"),
                         [](const auto& info) { return info.param; });

TEST(ParallelTask, GlancingLearnsToo) {
  const TemporaryFolder folder;
  Json recipe = parallel_recipe(folder, "copied");
  recipe["train"]["glancing"] = 0.5;
  recipe["train"]["steps"] = 100;
  Watcher watcher;
  train(recipe, folder / "run", watcher);
  EXPECT_LT(watcher.validations.back().score.loss, 0.9 * watcher.validations.front().score.loss);
  recipe["train"]["steps"] = 24;
  train(recipe, folder / "whole");
  Watcher stops(9);
  train(recipe, folder / "parts", stops);
  train(recipe, folder / "parts", true);
  expect_same_tensors(folder / "whole", folder / "parts");
}

TEST(ParallelTask, BeginsWithATranslator) {
  const TemporaryFolder folder;
  Json teacher = tiny_recipe(folder);
  teacher["train"]["steps"] = 4;
  train(teacher, folder / "teacher");
  Json recipe = parallel_recipe(folder, "masked");
  recipe["train"]["from"] = (folder / "teacher").string();
  recipe["train"]["steps"] = 1;
  recipe["schedule"]["rate"] = 0.0;
  recipe["model"]["width"] = 8;  // the teacher's counts
  train(recipe, folder / "run");
  const auto old = load_model(folder / "teacher", DType::f32);
  const auto begun = load_translator(folder / "run", DType::f32);
  EXPECT_EQ(begun->spec().kind, "parallel_transformer");
  for (const char* name : {"embedding.weight", "encoder.0.self_attention.qkv.weight"}) {
    EXPECT_EQ(begun->store.find(name).value.to_vector(), old->store.find(name).value.to_vector())
        << name;
  }
  // A translator cannot begin with a parallel one.
  teacher["train"]["from"] = (folder / "run").string();
  EXPECT_NE(error_of([&] {
              train(teacher, folder / "back");
            }).find("is a \"parallel_transformer\", the recipe needs a \"transformer\""),
            std::string::npos);
}

// Each letter of the reversed word comes from one letter of the source.
std::string ones_for(const std::string& words) {
  std::string counts;
  for (const char c : words) {
    counts += c == '\n' ? "0\n" : "1 ";  // 0 for END
  }
  return counts;
}

TEST(ParallelTask, LearnsFertilities) {
  const TemporaryFolder folder;
  Json recipe = parallel_recipe(folder, "copied");
  recipe["model"]["fertilities"] = 3;
  EXPECT_NE(error_of([&] { train(recipe, folder / "none"); }).find("set both or neither"),
            std::string::npos);
  recipe["data"]["fertilities"] =
      folder.write("train.counts", ones_for(letter_words(1, 200, false))).string();
  recipe["train"]["steps"] = 100;
  Watcher watcher;
  train(recipe, folder / "run", watcher);
  const auto loaded = load_translator(folder / "run", DType::f32);
  const std::vector<DecodeRequest> requests{{loaded->encode_source("abcdef")}};
  DecodeOptions options;
  options.special = loaded->tokenizers.target->special();
  options.trace = true;
  // Six letters and END, whatever they are; copies of neighbours may repeat and are then merged.
  EXPECT_EQ(decode_batch(*loaded->model, requests, options)[0].front().trace.at(0).size(), 7U);
  recipe["data"]["fertilities"] = folder.write("short.counts", "1 1 0\n").string();
  EXPECT_NE(error_of([&] { train(recipe, folder / "short"); }).find("heed distil --alignments"),
            std::string::npos);
}

TEST(ParallelTask, CandidatesAreRescoredByTheTeacher) {
  const TemporaryFolder folder;
  Json teacher = tiny_recipe(folder);
  teacher["train"]["steps"] = 60;
  train(teacher, folder / "teacher");
  const auto loaded = load_model(folder / "teacher", DType::f32);
  const std::vector<DecodeRequest> requests{{loaded->encode_source("abc")},
                                            {loaded->encode_source("hgfedc")}};
  DecodeOptions options{.beam = 4, .length_penalty = 0.6F, .n_best = 4};
  options.special = loaded->tokenizers.target->special();
  auto found = decode_batch(*loaded->model, requests, options);
  const auto expected = found;
  for (auto& of_source : found) {
    for (Hypothesis& hypothesis : of_source) {
      hypothesis.score = hypothesis.log_probability = 0.0;
    }
  }
  rescore(*loaded->model, requests, options, found);
  for (size_t i = 0; i < found.size(); ++i) {
    for (size_t k = 0; k < found[i].size(); ++k) {
      EXPECT_NEAR(found[i][k].log_probability, expected[i][k].log_probability, 1e-3);
      EXPECT_NEAR(found[i][k].score, expected[i][k].score, 1e-3);
    }
  }
}

}  // namespace
}  // namespace heed
