// Reading stories with questions, and packing them into batches.
#include "data/text/stories.h"

#include <gtest/gtest.h>

#include "data/text/story_batches.h"
#include "data/text/story_set.h"
#include "support/error_of.h"
#include "support/text_files.h"

namespace heed::testing {
namespace {

std::vector<Story> read_all(const std::filesystem::path& file) {
  StoryLines lines(file);
  std::vector<Story> stories;
  while (const Story* story = lines.next()) {
    stories.push_back(*story);
  }
  return stories;
}

TEST(Stories, NumberedLines) {
  const TemporaryFolder folder;
  const auto file = folder.write_gzip("qa1_train.txt.gz",
                                      "1 Mary moved to the bathroom.\n"
                                      "2 John went to the hallway.\n"
                                      "3 Where is Mary? \tbathroom\t1\n"
                                      "4 Mary took the milk.\n"
                                      "5 What is Mary carrying?\tmilk,football\t4 1\n"
                                      "1 The office is north of the kitchen.\n"
                                      "2 What is north of the kitchen?\toffice\t1\r\n");
  const std::vector<Story> stories = read_all(file);
  ASSERT_EQ(stories.size(), 3U);
  EXPECT_EQ(stories[0].facts,
            (std::vector<std::string>{"Mary moved to the bathroom.", "John went to the hallway."}));
  EXPECT_EQ(stories[0].question, "Where is Mary?");
  EXPECT_EQ(stories[0].answer, "bathroom");
  EXPECT_EQ(stories[0].support, (std::vector<int64_t>{0}));
  EXPECT_EQ(stories[0].number, 1);
  EXPECT_EQ(stories[0].where, file.string() + ":3");
  EXPECT_EQ(stories[1].facts.size(), 3U);
  EXPECT_EQ(stories[1].answer, "milk,football");
  EXPECT_EQ(stories[1].support, (std::vector<int64_t>{2, 0}));  // line 4 is the third fact
  EXPECT_EQ(stories[2].facts.size(), 1U);
  EXPECT_EQ(stories[2].number, 2);
  EXPECT_EQ(stories[2].answer, "office");
}

TEST(Stories, PlainLines) {
  const TemporaryFolder folder;
  const std::vector<Story> stories = read_all(
      folder.write("story.txt", "\n2 dogs bark.\nWhere is Mary?\nWho is here?\tMary\n\nWho?\n"));
  ASSERT_EQ(stories.size(), 3U);
  EXPECT_EQ(stories[0].question, "Where is Mary?");
  EXPECT_EQ(stories[0].answer, "");
  EXPECT_EQ(stories[1].facts, (std::vector<std::string>{"2 dogs bark."}));
  EXPECT_EQ(stories[1].answer, "Mary");
  EXPECT_TRUE(stories[2].facts.empty());
  EXPECT_EQ(stories[2].number, 2);
}

TEST(Stories, ErrorsNameTheLine) {
  const TemporaryFolder folder;
  const auto expect = [&](const std::string& text, const std::string& line,
                          const std::string& what) {
    const auto file = folder.write("bad.txt", text);
    expect_error([&] { read_all(file); }, fmt::format("[{}:{}] {}", file.string(), line, what));
  };
  expect("1 Mary is here.\n3 John is there.\n", "2",
         "the line has the number 3, expected 2, or 1 for a new story");
  expect("1 Mary is here.\nJohn is there.\n", "2",
         "the line \"John is there.\" has no number, expected 2 or 1");
  expect("1 Mary is here.\n2 Where?\t\t1\n", "2",
         "there is no answer behind the tab after \"Where?\"");
  expect("1 Mary is here.\n2 \there\t1\n", "2", "there is no question before the tab");
  expect("1 Mary is here.\n2 Where?\there\t2\n", "2",
         "line 2 supports the answer, but is no fact of the story");
  expect("1 Mary is here.\n2 Where?\there\tone\n", "2",
         "the lines that support the answer are \"one\", expected numbers");
  expect("1 Mary is here.\n2 \n", "2", "the line has a number and no text");
  expect("1 Mary \xff is here.\n", "1", "the line is not UTF-8");
}

TEST(Stories, FilesOfTasks) {
  const TemporaryFolder folder;
  for (const char* name : {"qa10_j_train.txt", "qa2_b_train.txt", "qa1_a_train.txt", "README.md"}) {
    folder.write(name, "1 Who?\tMary\n");
  }
  const std::string all = (folder / "").string();
  const auto names = [](const std::vector<std::filesystem::path>& files) {
    std::vector<std::string> tasks;
    for (const auto& file : files) {
      tasks.push_back(story_task(file));
    }
    return tasks;
  };
  EXPECT_EQ(names(story_files({all})), (std::vector<std::string>{"qa1_a", "qa2_b", "qa10_j"}));
  EXPECT_EQ(names(story_files({all}, {10, 1})), (std::vector<std::string>{"qa1_a", "qa10_j"}));
  EXPECT_EQ(story_task("x/qa3_three-supporting-facts_test.txt.gz"), "qa3_three-supporting-facts");
  expect_error([&] { story_files({all}, {3}); },
               "[stories] there is no file of task 3: a file's name has its number, such as "
               "qa3_train.txt");
  expect_error([&] { story_files({(folder / "none").string()}); },
               "[stories] " + (folder / "none").string() + " does not exist");
}

TEST(Stories, BatchesListSentencesOnce) {
  SentenceTable table;
  const std::vector<std::string> facts{"a b c.", "d e.", "a b c."};
  std::vector<EncodedText> stories{number_story(facts, "d e?", table),
                                   number_story(facts, "f?", table, 2)};
  EXPECT_EQ(table.size(), 4);  // none, "d e" (a stop or a question mark are no words), "a b c", "f"
  EXPECT_EQ(stories[0].tokens, (std::vector<int32_t>{1, 2, 1, 2}));  // the newest fact first
  EXPECT_EQ(stories[1].tokens, (std::vector<int32_t>{3, 2, 1}));     // the oldest is forgotten
  const WordTokenizer tokenizer;
  table.encode(tokenizer, 3);
  const std::vector<int64_t> order{1, 0};
  const HostStories batch = pack_stories(table, pad_texts(stories, order, 0));
  EXPECT_EQ(batch.rows, 2);
  EXPECT_EQ(batch.width, 4);
  EXPECT_EQ(batch.longest, 3);
  EXPECT_EQ(batch.sentences, 4);
  EXPECT_EQ(batch.stories, (std::vector<int32_t>{1, 2, 3, 0, 3, 2, 3, 2}));
  EXPECT_EQ(batch.lengths, (std::vector<int32_t>{3, 4}));
  EXPECT_EQ(batch.words[0], 0);  // sentence 0 is empty
  EXPECT_EQ(batch.words[3], tokenizer.encode("f")[0]);
  EXPECT_EQ(batch.words[4], 0);
  table.number_of("a b c d");
  expect_error([&] { table.encode(tokenizer, 3); },
               "[stories] the sentence \"a b c d\" has 4 words, the model reads at most 3");
}

TEST(Stories, EmptyFactsKeepTheOrder) {
  const std::vector<EncodedText> stories{{{5, 1, 2, 3}, 4}, {{6}, 1}};
  const std::vector<int64_t> order{0, 1};
  HostTexts batch = pad_texts(stories, order, 0);
  add_empty_facts(batch, 0.9F, 10, {1, 2});
  EXPECT_GT(batch.width, 4);
  EXPECT_EQ(batch.tokens[0], 5);
  std::vector<int32_t> kept;
  for (int64_t i = 1; i < batch.lengths[0]; ++i) {
    if (batch.tokens[static_cast<size_t>(i)] != 0) {
      kept.push_back(batch.tokens[static_cast<size_t>(i)]);
    }
  }
  EXPECT_EQ(kept, (std::vector<int32_t>{1, 2, 3}));
  EXPECT_EQ(batch.lengths[1], 1);
  EXPECT_EQ(batch.indices, order);
  add_empty_facts(batch, 0.9F, 2, {1, 2});
  EXPECT_EQ(batch.width, 3);  // the question and as many facts as the model reads
}

TEST(Stories, HeldOutStoriesStayWhole) {
  const TemporaryFolder folder;
  std::string text;
  for (int i = 0; i < 200; ++i) {
    text += "1 Mary is here.\n2 Who?\tMary\t1\n3 Who is here?\tMary\t1\n";
  }
  SentenceTable table;
  StorySet set = read_story_set({folder.write("qa1_train.txt", text)}, table);
  EXPECT_EQ(set.stories.size(), 400U);
  const StorySet out = hold_out(set, 0.25, 1);
  EXPECT_EQ(out.stories.size() + set.stories.size(), 400U);
  EXPECT_GT(out.stories.size(), 50U);
  EXPECT_LT(out.stories.size(), 150U);
  for (size_t i = 0; i < out.places.size(); i += 2) {
    EXPECT_EQ(out.places[i].story, out.places[i + 1].story);
  }
}

TEST(Stories, AnswersAreTheFirstWords) {
  SentenceTable table;
  table.number_of("Mary took the milk.");
  const auto words = story_vocabulary(table, {"milk", "milk,football", answer_key("No Idea")});
  EXPECT_EQ(words->piece(4), "milk");
  EXPECT_EQ(words->piece(5), "milk,football");
  EXPECT_EQ(words->piece(6), "no▁idea");
  EXPECT_EQ(words->size(), 10);
  EXPECT_EQ(words->encode("MILK")[0], 4);
}

}  // namespace
}  // namespace heed::testing
