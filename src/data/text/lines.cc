#include "data/text/lines.h"

#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>

#include <cerrno>
#include <cstring>
#include <system_error>

#include "base/error.h"

namespace heed {
namespace {

constexpr size_t kBufferBytes = size_t{256} << 10;

std::string reason() { return std::generic_category().message(errno); }

gzFile open_or_fail(const std::filesystem::path& path, const std::string& name) {
  const bool standard_input = path == "-";
  check(standard_input || !std::filesystem::is_directory(path),
        "[lines] {} is a folder, expected a file", name);
  const int descriptor =
      standard_input ? ::dup(STDIN_FILENO) : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  check(descriptor >= 0, "[lines] cannot open {}: {}", name, reason());
  gzFile file = ::gzdopen(descriptor, "rb");
  if (file == nullptr) {
    ::close(descriptor);
    fail("[lines] cannot open {}: out of memory", name);
  }
  ::gzbuffer(file, kBufferBytes);
  return file;
}

}  // namespace

void LineReader::Close::operator()(gzFile_s* file) const { ::gzclose_r(file); }

LineReader::LineReader(const std::filesystem::path& path)
    : name_(path == "-" ? "standard input" : path.string()),
      file_(open_or_fail(path, name_)),
      buffer_(kBufferBytes) {}

bool LineReader::fill() {
  begin_ = 0;
  end_ = 0;
  const int bytes = ::gzread(file_.get(), buffer_.data(), static_cast<unsigned>(buffer_.size()));
  if (bytes > 0) {
    end_ = static_cast<size_t>(bytes);
    return true;
  }
  // A file that is cut off reads as if it ended; only gzerror() tells.
  int code = Z_OK;
  const std::string text = ::gzerror(file_.get(), &code);
  check(code != Z_ERRNO, "[lines] cannot read {}, line {}: {}", name_, line_number_ + 1, reason());
  if (code != Z_OK && code != Z_STREAM_END) {
    const size_t colon = text.find(": ");  // preceded by the descriptor
    fail("[lines] {}, line {}: the gzip data is damaged or cut off: {}", name_, line_number_ + 1,
         colon == std::string::npos ? text : text.substr(colon + 2));
  }
  return false;
}

bool LineReader::next(std::string& line) {
  line.clear();
  bool begun = false;  // the line has bytes, so that the end of the file ends it
  while (begin_ < end_ || fill()) {
    begun = true;
    const char* const first = buffer_.data() + begin_;
    const size_t rest = end_ - begin_;
    const auto* newline = static_cast<const char*>(std::memchr(first, '\n', rest));
    const size_t length = newline != nullptr ? static_cast<size_t>(newline - first) : rest;
    check(line.size() + length <= kLongestLine,
          "[lines] {}, line {}: longer than {} bytes; is this a text file?", name_,
          line_number_ + 1, kLongestLine);
    line.append(first, length);
    if (newline != nullptr) {
      begin_ += length + 1;
      if (!line.empty() && line.back() == '\r') {
        line.pop_back();
      }
      break;
    }
    begin_ = end_;
  }
  line_number_ += begun ? 1 : 0;
  return begun;
}

std::vector<std::string> read_lines(const std::filesystem::path& path) {
  LineReader reader(path);
  std::vector<std::string> lines;
  for (std::string line; reader.next(line);) {
    lines.push_back(line);
  }
  return lines;
}

}  // namespace heed
