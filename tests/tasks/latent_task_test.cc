#include "tasks/latent_task.h"

#include <gtest/gtest.h>

#include "formats/run_log.h"
#include "support/error_of.h"
#include "support/tiny_texts.h"
#include "support/tiny_training.h"

namespace heed::testing {
namespace {

// Words of three to seven letters, to be copied or reversed.
Json latent_recipe(const TemporaryFolder& folder, const std::string& bottleneck) {
  Json recipe = tiny_recipe(folder);
  recipe["task"] = "translate_latent";
  recipe["model"].update({{"kind", "latent_transformer"},
                          {"bottleneck", bottleneck},
                          {"codes", 16},
                          {"shorten", 2},
                          {"predictor_layers", 1}});
  recipe["train"]["pretrain"] = 6;
  return recipe;
}

class LatentTaskTest : public ::testing::TestWithParam<const char*> {};

// What a code book learned, and when it has to learn, comes back with the rest.
TEST_P(LatentTaskTest, ResumesWithTheSameBits) {
  const TemporaryFolder folder;
  expect_resumes(latent_recipe(folder, GetParam()), folder);
}

INSTANTIATE_TEST_SUITE_P(Bottlenecks, LatentTaskTest,
                         ::testing::Values("semantic_hash", "vector_quantiser", "gumbel_softmax"));

TEST(LatentTask, LearnsToCopy) {
  const TemporaryFolder folder;
  Json recipe = latent_recipe(folder, "vector_quantiser");
  recipe["data"]["target"] = recipe["data"]["source"];
  recipe["data"]["valid_target"] = recipe["data"]["valid_source"];
  recipe["model"].update({{"width", 32}, {"codes", 64}, {"dropout", 0.0}, {"slices", 2}});
  recipe["train"].update({{"steps", 120}, {"accumulate", 1}, {"pretrain", 40}});
  recipe["schedule"]["rate"] = 0.003;  // at 0.01 the vectors outrun the code book
  recipe["validation"]["every"] = 20;
  Watcher watcher;
  train(recipe, folder / "run", watcher);
  const Score& first = watcher.validations.front().score;
  const Score& last = watcher.validations.back().score;
  EXPECT_LT(last.loss, 0.8 * first.loss);
  ASSERT_EQ(last.measures.size(), 4U);
  EXPECT_EQ(last.measures[0].name, "token_loss");
  EXPECT_LT(last.measures[0].value, 0.7 * first.measures[0].value);
  EXPECT_EQ(last.measures[1].name, "code_loss");
  EXPECT_LT(last.measures[1].value, first.measures[1].value);
  EXPECT_EQ(last.measures[2].name, "code_usage");
  EXPECT_GT(last.measures[2].value, 0.1);  // of 128 codes, by twenty words
  EXPECT_GT(last.measures[3].value, 4.0);
  const RunLog log = read_run_log(folder / "run");
  ASSERT_EQ(log.validations.back().measures.size(), 4U);
  EXPECT_EQ(log.validations.back().measures[2].name, "code_usage");
  EXPECT_EQ(log.validations.back().measures[2].value, last.measures[2].value);
}

TEST(LatentTask, BeginsWithATransformer) {
  const TemporaryFolder folder;
  Json teacher = tiny_recipe(folder);
  teacher["train"]["steps"] = 2;
  train(teacher, folder / "teacher");
  Json recipe = latent_recipe(folder, "semantic_hash");
  recipe["train"].update({{"steps", 1}, {"from", (folder / "teacher").string()}});
  EXPECT_EQ(train(recipe, folder / "run").state.step, 1);
}

TEST(LatentTask, NamesWhatIsWrong) {
  const TemporaryFolder folder;
  Json recipe = latent_recipe(folder, "semantic_hash");
  recipe["model"]["shorten"] = 3;
  EXPECT_EQ(error_of([&] { train(recipe, folder / "run"); }),
            "[latent_transformer] shorten is 3, expected a power of two");
  recipe["model"]["shorten"] = 2;
  recipe["model"]["codes"] = 5;
  EXPECT_EQ(error_of([&] { train(recipe, folder / "run"); }),
            "[semantic_hash] there are 5 codes, expected a power of two");
}

}  // namespace
}  // namespace heed::testing
