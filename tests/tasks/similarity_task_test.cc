// Training of encoders whose vectors are near where texts mean the same.
#include "tasks/similarity_task.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "support/error_of.h"
#include "support/tiny_texts.h"

namespace heed::testing {
namespace {

std::set<char> letters_of(const std::string& text) {
  std::set<char> letters(text.begin(), text.end());
  letters.erase(' ');
  return letters;
}

// "left TAB right TAB score": from 1 to 5 as the letters overlap.
std::string overlap_table(uint64_t seed, int count) {
  const std::vector<std::string> texts = letter_texts(seed, 2 * count, 6);
  std::string table = "left\tright\tscore\n";
  for (size_t i = 0; i < texts.size(); i += 2) {
    const std::set<char> a = letters_of(texts[i]);
    const std::set<char> b = letters_of(texts[i + 1]);
    const auto both = std::count_if(a.begin(), a.end(), [&](char c) { return b.contains(c); });
    const auto any = std::ssize(a) + std::ssize(b) - both;
    table += fmt::format("{}\t{}\t{:.3f}\n", texts[i], texts[i + 1],
                         1.0 + 4.0 * static_cast<double>(both) / static_cast<double>(any));
  }
  return table;
}

// Pairs that belong together: the same letters, in another alphabet.
std::string translated_table(uint64_t seed, int count) {
  std::string table = "left\tright\n";
  for (const std::string& text : letter_texts(seed, count, 8)) {
    std::string other = text;
    for (char& c : other) {
      c = c == ' ' ? c : static_cast<char>(c + 10);
    }
    table += text + "\t" + other + "\n";
  }
  return table;
}

template <typename Table>
Json pairs_recipe(const TemporaryFolder& folder, const Table& table) {
  Json recipe = tiny_text_recipe("similarity");
  recipe["data"].update({{"table", {folder.write("train.tsv", table(1, 400)).string()}},
                         {"valid_table", folder.write("valid.tsv", table(2, 80)).string()},
                         {"test_table", folder.write("test.tsv", table(3, 50)).string()},
                         {"text_column", "left"},
                         {"pair_column", "right"},
                         {"label_column", "score"}});
  return recipe;
}

double cosine(const std::vector<std::vector<float>>& unit) {
  double sum = 0.0;
  for (size_t i = 0; i < unit[0].size(); ++i) {
    sum += static_cast<double>(unit[0][i]) * unit[1][i];
  }
  return sum;
}

TEST(SimilarityTask, CosinesFollowTheScores) {
  const TemporaryFolder folder;
  Json recipe = pairs_recipe(folder, overlap_table);
  recipe["validation"]["every"] = 10;
  Watcher watcher;
  Trainer trainer(
      prepare_run(parse_recipe(recipe, "test"), folder / "run", RunStart::anew, watcher), watcher);
  trainer.run(watcher.stop);
  const Score& first = watcher.validations.front().score;
  const Score& last = watcher.validations.back().score;
  EXPECT_EQ(last.metric, "spearman");
  EXPECT_GT(last.value, first.value);
  EXPECT_GT(last.value, 0.75);
  EXPECT_LT(last.loss, 0.04);
  const std::string test = trainer.test();
  EXPECT_NE(test.find(" spearman 0."), std::string::npos) << test;
  EXPECT_TRUE(test.ends_with(" over 50 pairs")) << test;
  const auto model = load_as<TextEncoder>(folder / "run", DType::f32);
  EXPECT_EQ(model->model->labels(), 0);
  const auto near = [&](const std::string& a, const std::string& b) {
    return cosine(embed(*model, std::vector<std::string>{a, b}, {.normalize = true}));
  };
  EXPECT_GT(near("a b c", "c b a"), near("a b c", "a b f") + 0.1);
  EXPECT_GT(near("a b c", "a b f"), near("a b c", "d e f") + 0.1);
}

TEST(SimilarityTask, PairsOfABatchBelongTogether) {
  for (const char* pooling : {"mean", "cls", "max"}) {
    SCOPED_TRACE(pooling);
    const TemporaryFolder folder;
    Json recipe = pairs_recipe(folder, translated_table);
    recipe["similarity"] = {{"loss", "in_batch"}, {"pooling", pooling}};
    recipe["validation"]["every"] = 10;
    Watcher watcher;
    Trainer trainer(
        prepare_run(parse_recipe(recipe, "test"), folder / "run", RunStart::anew, watcher),
        watcher);
    trainer.run(watcher.stop);
    EXPECT_EQ(watcher.validations.back().score.metric, "");
    EXPECT_LT(watcher.validations.back().score.loss, 0.5 * watcher.validations.front().score.loss);
    const std::string test = trainer.test();
    EXPECT_TRUE(test.ends_with(" over 50 pairs")) << test;
    EXPECT_EQ(test.find("  "), std::string::npos) << test;
  }
}

TEST(SimilarityTask, ResumesWithTheSameBits) {
  const TemporaryFolder cosines;
  expect_resumes(pairs_recipe(cosines, overlap_table), cosines);
  const TemporaryFolder batches;
  Json recipe = pairs_recipe(batches, translated_table);
  recipe["similarity"]["loss"] = "in_batch";
  expect_resumes(recipe, batches);
}

TEST(SimilarityTask, BeginsWithAnotherModel) {
  const TemporaryFolder folder;
  Json recipe = pairs_recipe(folder, overlap_table);
  Json masked = tiny_text_recipe("masked");
  masked["data"]["table"] = recipe["data"]["table"];
  masked["data"]["text_column"] = "left";
  masked["train"]["steps"] = 2;
  train(masked, folder / "masked");
  recipe["train"].update({{"from", (folder / "masked").string()}, {"steps", 1}});
  recipe["schedule"]["rate"] = 0.0;
  train(recipe, folder / "run");
  const auto before = load_as<TextEncoder>(folder / "masked", DType::f32);
  const auto after = load_as<TextEncoder>(folder / "run", DType::f32);
  for (const ParameterEntry& entry : after->store.entries()) {
    EXPECT_EQ(entry.value.to_vector(), before->store.find(entry.name).value.to_vector())
        << entry.name;
  }
  EXPECT_LT(after->store.entries().size(), before->store.entries().size());  // no heads
}

TEST(SimilarityTask, SaysWhatIsWrong) {
  const TemporaryFolder folder;
  int runs = 0;
  const auto error = [&](const Json& recipe) {
    return error_of([&] { train(recipe, folder / fmt::format("run-{}", runs++)); });
  };
  const Json good = pairs_recipe(folder, overlap_table);
  Json recipe = good;
  recipe["data"]["pair_column"] = "";
  EXPECT_EQ(error(recipe), "[test] data.pair_column names no second text");
  recipe = good;
  const std::string bad =
      folder.write("bad.tsv", "left\tright\tscore\na\tb\t1\nc\td\thigh\n").string();
  recipe["data"]["table"].push_back(bad);
  EXPECT_EQ(error(recipe), fmt::format("[{}:3] the score high is not a number", bad));
  const std::string same =
      folder.write("same.tsv", "left\tright\tscore\na\tb\t2\nc\td\t2\n").string();
  recipe["data"]["table"] = {same};
  EXPECT_EQ(error(recipe), "[similarity] all scores are 2, expected different ones");
  recipe = good;
  recipe["validation"]["metric"] = "f1";
  EXPECT_EQ(error(recipe),
            "[test] validation.metric is \"f1\", expected one of: pearson, spearman");
}

}  // namespace
}  // namespace heed::testing
