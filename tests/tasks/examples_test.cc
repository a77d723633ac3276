// The inputs that tasks leave in the folders of their models.
#include "data/text/examples.h"

#include <gtest/gtest.h>

#include "models/folder.h"
#include "support/tiny_texts.h"
#include "text/unicode.h"

namespace heed::testing {
namespace {

using Texts = std::vector<std::string>;

TEST(Examples, ComeFromAllOverTheTexts) {
  Texts texts;
  for (int i = 0; i < 100; ++i) {
    texts.push_back("line " + std::to_string(i));
  }
  EXPECT_EQ(pick_examples(texts), (Texts{"line 0", "line 25", "line 50", "line 75"}));
  EXPECT_EQ(pick_examples(Texts{"one", "", "  ", "one", "two"}), (Texts{"one", "two"}));
  EXPECT_EQ(pick_examples(Texts()), Texts());
}

TEST(Examples, ShortTextsComeFirstAndLongOnesEndAfterAWord) {
  std::string longer;
  while (longer.size() < 1000) {
    longer += "word ";
  }
  const Texts found = pick_examples(Texts{longer, "short"});
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0], "short");
  EXPECT_LE(found[1].size(), 160U);
  EXPECT_TRUE(found[1].ends_with("word"));
  EXPECT_EQ(pick_examples(Texts{"a", "b", longer, "c", "d"}), (Texts{"a", "b", "c", "d"}));
}

// They are written into a JSON file, which has to be UTF-8.
TEST(Examples, BytesThatAreNoTextAreLeftOut) {
  EXPECT_EQ(pick_examples(Texts{"\xff\xfe", "fine"}), (Texts{"fine"}));
  for (const std::string& prompt : pick_prompts(Texts{"今日は天気がいいですね"})) {
    EXPECT_TRUE(valid_utf8(prompt));
    EXPECT_FALSE(prompt.empty());
  }
}

TEST(Examples, PromptsAreBeginnings) {
  EXPECT_EQ(pick_prompts(Texts{"the cat saw the dog"}), (Texts{"the cat"}));
  EXPECT_EQ(pick_prompts(Texts{"abcdef"}), (Texts{"abc"}));
}

TEST(Examples, AMaskStandsForAWord) {
  EXPECT_EQ(pick_masked(Texts{"the cat saw a dog", "yes, it did, really"}, "[MASK]"),
            (Texts{"the cat [MASK] a dog", "yes, it [MASK], really"}));
  EXPECT_EQ(pick_masked(Texts{"word"}, "[MASK]"), Texts());
}

TEST(Examples, PairsHaveATabBetweenThem) {
  const std::vector<LabelledText> rows{{"a cat", "", "x"}, {"a dog", "an animal", "y"}};
  EXPECT_EQ(pick_examples(rows), (Texts{"a cat", "a dog\tan animal"}));
}

// A training leaves them in the folder of the run, and converting the folder keeps them.
TEST(Examples, AreInTheFolderOfATraining) {
  const TemporaryFolder folder;
  Json recipe = tiny_text_recipe("masked");
  std::string text;
  for (int i = 0; i < 40; ++i) {
    text += i < 30 ? "a b c d\n" : "d c b a\n";
  }
  recipe["data"]["text"] = {folder.write("text.txt", text).string()};
  recipe["data"]["valid_share"] = 0.25;
  recipe["train"]["steps"] = 2;
  Watcher watcher;
  train(recipe, folder / "run", watcher);
  EXPECT_EQ(load_config(folder / "run").examples, (Texts{"d c [MASK] a"}));
  convert_folder(folder / "run", folder / "small", DType::bf16);
  EXPECT_EQ(load_config(folder / "small").examples, (Texts{"d c [MASK] a"}));
}

}  // namespace
}  // namespace heed::testing
