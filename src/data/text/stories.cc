#include "data/text/stories.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <optional>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "text/unicode.h"

namespace heed {
namespace {

namespace fs = std::filesystem;

std::string trimmed(std::string_view text) {
  constexpr std::string_view kSpaces = " \r\v\f\t";
  const size_t begin = text.find_first_not_of(kSpaces);
  if (begin == std::string_view::npos) {
    return "";
  }
  return std::string(text.substr(begin, text.find_last_not_of(kSpaces) - begin + 1));
}

// The number that a text begins with, and what is behind it.
struct Numbered {
  int64_t number = 0;
  std::string_view rest;
};
std::optional<Numbered> leading_number(std::string_view text) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const auto length = static_cast<size_t>(end - text.data());
  if (error != std::errc() || number < 0) {
    return std::nullopt;
  }
  return Numbered{number, text.substr(length)};
}

// A line of a numbered story: a number, a space, and the text.
std::optional<Numbered> numbered_line(std::string_view line) {
  const std::optional<Numbered> found = leading_number(line);
  return found && found->rest.starts_with(' ') ? found : std::nullopt;
}

bool is_story_file(const fs::path& path) {
  const std::string name = path.filename().string();
  return name.ends_with(".txt") || name.ends_with(".txt.gz");
}

// The number in qa3_three-supporting-facts, or none.
std::optional<int64_t> task_number(const std::string& task) {
  const size_t digit = task.find_first_of("0123456789");
  const auto found = digit == std::string::npos
                         ? std::nullopt
                         : leading_number(std::string_view(task).substr(digit));
  return found ? std::optional(found->number) : std::nullopt;
}

std::vector<fs::path> files_of(const fs::path& path) {
  std::error_code error;
  check(fs::exists(path, error), "[stories] {} does not exist", path.string());
  if (!fs::is_directory(path, error)) {
    return {path};
  }
  std::vector<std::pair<int64_t, fs::path>> found;
  for (fs::directory_iterator entry(path, error); !error && entry != fs::directory_iterator();
       entry.increment(error)) {
    if (std::error_code ignored; entry->is_regular_file(ignored) && is_story_file(entry->path())) {
      found.emplace_back(task_number(story_task(entry->path())).value_or(0), entry->path());
    }
  }
  check(!error, "[stories] cannot read {}: {}", path.string(), error.message());
  check(!found.empty(), "[stories] {} has no file *.txt or *.txt.gz", path.string());
  std::sort(found.begin(), found.end());
  std::vector<fs::path> files;
  files.reserve(found.size());
  for (auto& numbered : found) {
    files.push_back(std::move(numbered.second));
  }
  return files;
}

}  // namespace

std::string story_task(const fs::path& file) {
  std::string name = file.filename().string();
  for (const std::string_view ending : {".gz", ".txt", "_train", "_valid", "_test"}) {
    if (name.size() > ending.size() && name.ends_with(ending)) {
      name.resize(name.size() - ending.size());
    }
  }
  return name;
}

std::vector<fs::path> story_files(const std::vector<std::string>& paths,
                                  const std::vector<int64_t>& tasks) {
  std::vector<fs::path> files;
  std::vector<int64_t> missing = tasks;
  for (const std::string& path : paths) {
    for (fs::path& file : files_of(path)) {
      const std::optional<int64_t> number = task_number(story_task(file));
      if (tasks.empty() || (number && std::ranges::count(tasks, *number) > 0)) {
        std::erase(missing, number.value_or(-1));
        files.push_back(std::move(file));
      }
    }
  }
  check(
      missing.empty(),
      "[stories] there is no file of task {}: a file's name has its number, such as qa{}_train.txt",
      missing.empty() ? 0 : missing.front(), missing.empty() ? 0 : missing.front());
  return files;
}

StoryLines::StoryLines(const fs::path& path) : lines_(path) {}

std::string StoryLines::place() const {
  return fmt::format("{}:{}", lines_.name(), lines_.line_number());
}

const Story* StoryLines::next() {
  for (std::string line; lines_.next(line);) {
    if (take(line)) {
      return &story_;
    }
  }
  return nullptr;
}

bool StoryLines::next_pool(size_t most, std::vector<Story>& pool) {
  constexpr std::chrono::milliseconds kUnnoticed(20);
  pool.clear();
  std::string line;
  while (pool.size() < most && (pool.empty() || lines_.ready(kUnnoticed)) && lines_.next(line)) {
    if (take(line)) {
      pool.push_back(story_);
    }
  }
  return !pool.empty();
}

// The first line with a text tells what the file is like.
bool StoryLines::take(const std::string& line) {
  check(valid_utf8(line), "[{}] the line is not UTF-8", place());
  if (form_ == Form::unknown && !trimmed(line).empty()) {
    const std::optional<Numbered> first = numbered_line(line);
    form_ = first && first->number == 1 ? Form::numbered : Form::plain;
    begin();
  }
  return form_ == Form::numbered ? take_numbered(line) : form_ == Form::plain && take_plain(line);
}

void StoryLines::begin() {
  story_ = Story{.number = ++stories_};
  numbers_.clear();
  last_ = 0;
}

bool StoryLines::take_numbered(const std::string& line) {
  if (trimmed(line).empty()) {
    return false;
  }
  const std::optional<Numbered> found = numbered_line(line);
  check(found.has_value(), "[{}] the line \"{}\" has no number, expected {} or 1", place(),
        line.substr(0, 40), last_ + 1);
  if (found->number == 1 && last_ > 0) {
    begin();
  }
  check(found->number == last_ + 1,
        "[{}] the line has the number {}, expected {}, or 1 for a new story", place(),
        found->number, last_ + 1);
  last_ = found->number;
  const std::string text(found->rest);
  if (text.find('\t') != std::string::npos || trimmed(text).ends_with('?')) {
    ask(text);
    return true;
  }
  check(!trimmed(text).empty(), "[{}] the line has a number and no text", place());
  story_.facts.push_back(trimmed(text));
  numbers_.push_back(last_);
  return false;
}

bool StoryLines::take_plain(const std::string& line) {
  const std::string text = trimmed(line);
  if (text.empty()) {
    if (last_ > 0) {
      begin();
    }
    return false;
  }
  ++last_;
  if (text.ends_with('?') || line.find('\t') != std::string::npos) {
    ask(line);
    return true;
  }
  story_.facts.push_back(text);
  numbers_.push_back(last_);
  return false;
}

// QUESTION, and perhaps a tab and the answer, and a tab and numbers of lines.
void StoryLines::ask(const std::string& text) {
  const size_t tab = text.find('\t');
  const size_t second = tab == std::string::npos ? tab : text.find('\t', tab + 1);
  story_.where = place();
  story_.question = trimmed(text.substr(0, tab));
  story_.answer = tab == std::string::npos ? "" : trimmed(text.substr(tab + 1, second - tab - 1));
  story_.support.clear();
  check(!story_.question.empty(), "[{}] there is no question before the tab", place());
  check(tab == std::string::npos || !story_.answer.empty(),
        "[{}] there is no answer behind the tab after \"{}\"", place(), story_.question);
  std::string rest = second == std::string::npos ? "" : trimmed(text.substr(second + 1));
  while (!rest.empty()) {
    const std::optional<Numbered> found = leading_number(rest);
    check(found.has_value(), "[{}] the lines that support the answer are \"{}\", expected numbers",
          place(), rest.substr(0, 40));
    const auto line = std::find(numbers_.begin(), numbers_.end(), found->number);
    check(line != numbers_.end(), "[{}] line {} supports the answer, but is no fact of the story",
          place(), found->number);
    story_.support.push_back(line - numbers_.begin());
    rest = trimmed(found->rest);
  }
}

}  // namespace heed
