// Lines of text files, plain or gzip, read as a stream: the file may be larger than memory.
//
// Whether a file is gzip shows in its first bytes, not in its name. A line ends with LF or CRLF,
// the last one may go without. Lines are bytes: whether they are UTF-8 is for the caller to check.
// A reader belongs to one thread at a time.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

struct gzFile_s;  // zlib's, which only lines.cc includes

namespace heed {

class LineReader {
 public:
  // A longer line is an error: it is a file of another kind, and it would fill the memory.
  static constexpr size_t kLongestLine = size_t{16} << 20;

  explicit LineReader(const std::filesystem::path& path);  // "-": standard input

  // False at the end. A gzip file that is damaged or cut off is an Error, never an early end.
  bool next(std::string& line);
  // The number of the last line of next(), counted from 1; after the end, the number of lines.
  int64_t line_number() const { return line_number_; }
  const std::string& name() const { return name_; }

 private:
  struct Close {
    void operator()(gzFile_s* file) const;
  };

  bool fill();

  std::string name_;  // for messages
  std::unique_ptr<gzFile_s, Close> file_;
  std::vector<char> buffer_;
  size_t begin_ = 0;  // of what is not yet read in the buffer
  size_t end_ = 0;
  int64_t line_number_ = 0;
};

std::vector<std::string> read_lines(const std::filesystem::path& path);

}  // namespace heed
