#include "onnx_cases/lines.h"

#include <array>
#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace heed::onnx_cases {

Lines::Lines(const std::string& path) : path_(path) {
  errno = 0;
  file_ = gzopen(path.c_str(), "rb");
  check(file_ != nullptr, "[onnx_cases] cannot open {}: {}", path,
        errno == 0 ? "out of memory" : std::strerror(errno));
}

Lines::~Lines() { gzclose(file_); }

bool Lines::next(std::string& line) {
  line.clear();
  std::array<char, 1 << 16> buffer;
  while (gzgets(file_, buffer.data(), buffer.size()) != nullptr) {
    line += buffer.data();
    if (line.ends_with('\n')) {
      line.pop_back();
      if (line.ends_with('\r')) {
        line.pop_back();
      }
      ++number_;
      return true;
    }
  }
  int code = Z_OK;
  const char* message = gzerror(file_, &code);
  check(code == Z_OK || code == Z_STREAM_END, "[onnx_cases] cannot read {} after line {}: {}",
        path_, number_, code == Z_ERRNO ? std::strerror(errno) : message);
  number_ += line.empty() ? 0 : 1;
  return !line.empty();
}

}  // namespace heed::onnx_cases
