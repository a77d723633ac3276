// What a translator's folder remembers of the lines that it learned from.
#include "tasks/setup/training_lines.h"

#include <gtest/gtest.h>

#include "support/text_files.h"

namespace heed::testing {
namespace {

Corpus corpus_of(const TemporaryFolder& folder, const std::string& source,
                 const std::string& target) {
  const auto tokenizer = std::make_shared<WordTokenizer>();
  return {.files = {{folder.write("source", source), folder.write("target", target)}},
          .source = tokenizer,
          .target = tokenizer,
          .max_length = 20};
}

TEST(TrainingLines, AreMeasured) {
  const TemporaryFolder folder;
  std::string source;
  std::string target;
  for (int i = 0; i < 1000; ++i) {  // 900 of three words, 90 of six, 10 of nine in three sentences
    source += i < 900   ? "A big cat.\n"
              : i < 990 ? "A big cat. Two old dogs.\n"
                        : "A big cat. Two old dogs. It is new.\n";
    target += "x y z\n";
  }
  const TrainingLines lines = measure_training_lines(corpus_of(folder, source, target), "en");
  EXPECT_EQ(lines.typical_tokens, 3);
  EXPECT_EQ(lines.most_tokens, 9);
  EXPECT_EQ(lines.most_sentences, 3);
  EXPECT_NEAR(lines.least_ratio, 3.0 / 9.0, 1e-9);
}

TEST(TrainingLines, FewOddOnesDoNotCount) {
  const TemporaryFolder folder;
  std::string source;
  std::string target;
  for (int i = 0; i < 2000; ++i) {
    source += i == 7 ? "A big cat. Two old dogs. It is new.\n" : i == 8 ? "\n" : "A big cat.\n";
    target += i == 9 ? "x" : "x y z";
    for (int more = 0; i == 10 && more < 100; ++more) {  // longer than max_length
      target += " w";
    }
    target += "\n";
  }
  const TrainingLines lines = measure_training_lines(corpus_of(folder, source, target), "en");
  EXPECT_EQ(lines.most_tokens, 3);
  EXPECT_EQ(lines.most_sentences, 1);
  EXPECT_NEAR(lines.least_ratio, 1.0, 1e-9);
}

TEST(TrainingLines, OfNothingAreThoseThatAreAssumed) {
  const TemporaryFolder folder;
  const TrainingLines lines = measure_training_lines(corpus_of(folder, "\n", "\n"), "en");
  EXPECT_TRUE(config::equal(lines, TrainingLines()));
}

}  // namespace
}  // namespace heed::testing
