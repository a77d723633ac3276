// The lines of a text file, one at a time, gzipped or not.
#pragma once

#include <zlib.h>

#include <cstdint>
#include <string>

namespace heed::onnx_cases {

class Lines {
 public:
  explicit Lines(const std::string& path);  // throws if it cannot be opened
  ~Lines();
  Lines(const Lines&) = delete;
  Lines& operator=(const Lines&) = delete;

  // The next line without its end; false after the last. Throws if the file is damaged.
  bool next(std::string& line);
  int64_t number() const { return number_; }  // of the line last read, from 1

 private:
  std::string path_;
  gzFile file_;
  int64_t number_ = 0;
};

}  // namespace heed::onnx_cases
