// Stories with questions about them, as the bAbI tasks have them (Weston et al. 2015): numbered
// lines, of which those with a tab are questions with their answer and with the numbers of the
// lines that the answer follows from. A number of 1 begins a new story.
//
// Plain lines do as well: a line that ends with a question mark is a question, a tab before an
// answer may follow it, and an empty line begins a new story.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "data/text/lines.h"

namespace heed {

// A question and the facts that came before it.
struct Story {
  std::vector<std::string> facts = {};  // oldest first
  std::string question = {};
  std::string answer = {};  // empty: not given
  std::vector<int64_t> support =
      {};                  // places among the facts of those that the answer follows from
  int64_t number = 0;      // of the story in its file, from 1 on
  std::string where = {};  // "FILE:LINE" of the question
};

// Reads a file, plain or gzip, or standard input ("-"), question by question. Lines that are not
// stories are an Error with the file, the line and what is wrong. Belongs to one thread at a time.
class StoryLines {
 public:
  explicit StoryLines(const std::filesystem::path& path);

  // Goes on to the next question, which is good until the next call; null at the end.
  const Story* next();
  // As many questions as there are, at most `most`: waits for the first one, and takes others only
  // if their lines are there already. So whoever types or writes to a pipe gets each answer before
  // going on. False at the end.
  bool next_pool(size_t most, std::vector<Story>& pool);
  const std::string& name() const { return lines_.name(); }

 private:
  enum class Form { unknown, numbered, plain };

  // Whether the line is a question.
  bool take(const std::string& line);
  bool take_numbered(const std::string& line);
  bool take_plain(const std::string& line);
  void begin();
  void ask(const std::string& text);
  std::string place() const;  // "FILE:LINE"

  LineReader lines_;
  Story story_;  // so far
  Form form_ = Form::unknown;
  int64_t stories_ = 0;
  int64_t last_ = 0;              // number of the last line of the story
  std::vector<int64_t> numbers_;  // of the lines of the facts
};

// The files that a list of files and folders stands for: of a folder all *.txt and *.txt.gz, the
// task with the lowest number first. With `tasks` only those of these numbers, which a name such as
// qa3_three-supporting-facts_train.txt has.
std::vector<std::filesystem::path> story_files(const std::vector<std::string>& paths,
                                               const std::vector<int64_t>& tasks = {});
// The name of the task of a file: qa3_three-supporting-facts.
std::string story_task(const std::filesystem::path& file);

}  // namespace heed
