// Lines of text files, plain or gzip, read as a stream: the file may be larger than memory. From a
// pipe or a terminal each line is there as soon as it is complete.
//
// Whether a file is gzip shows in its first bytes, not in its name. A line ends with LF or CRLF,
// the last one may go without. Lines are bytes: whether they are UTF-8 is for the caller to check.
// A reader belongs to one thread at a time.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace heed {

class LineReader {
 public:
  // A longer line is an error: it is a file of another kind, and it would fill the memory.
  static constexpr size_t kLongestLine = size_t{16} << 20;
  // Lines of the first pool; each later one may have eight times as many.
  static constexpr size_t kFirstPool = 16;

  explicit LineReader(const std::filesystem::path& path);  // "-": standard input
  ~LineReader();
  LineReader(const LineReader&) = delete;
  LineReader& operator=(const LineReader&) = delete;

  // False at the end. A gzip file that is damaged or cut off is an Error, never an early end.
  bool next(std::string& line);
  // Whether next() has its answer, a line or the end, within this time.
  bool ready(std::chrono::milliseconds patience = std::chrono::milliseconds(0));
  // As many lines as there are, at most `most`: waits for the first one, and for others only as
  // long as nobody notices. So whoever types or writes to a pipe gets answers when they pause. The
  // first pools are small, so that the first answers come soon; then files come in large ones.
  // False at the end.
  bool next_pool(size_t most, std::vector<std::string>& pool);

  // The number of the last line that was read, counted from 1; after the end, the number of lines.
  int64_t line_number() const { return line_number_; }
  const std::string& name() const { return name_; }
  // How much of the file next() has given, from 0 to 1; 0 where nobody knows how much there is.
  double share() const;

 private:
  class Input;

  bool whole_line();  // whether the buffer has one
  void fill();

  std::string name_;  // for messages
  std::unique_ptr<Input> input_;
  std::vector<char> buffer_;
  size_t begin_ = 0;     // of what is not yet read in the buffer
  size_t searched_ = 0;  // no line ends before this
  size_t end_ = 0;
  size_t filled_ = 0;   // bytes that ever came into the buffer
  bool ended_ = false;  // there is nothing beyond the buffer
  size_t pool_lines_ = kFirstPool;
  int64_t line_number_ = 0;
};

std::vector<std::string> read_lines(const std::filesystem::path& path);

}  // namespace heed
