// A text file that takes long to make, written line by line: FILE.part until it is whole, then
// FILE. However a process ends meanwhile, the next one finds whole lines there and goes on behind
// them. One process at a time may have such a file open, and of it one thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

namespace heed {

class ResumableLines {
 public:
  static std::filesystem::path part_of(const std::filesystem::path& file);  // FILE.part

  // Opens or makes FILE.part. The beginning of a line that was never completed is removed.
  explicit ResumableLines(const std::filesystem::path& file);
  ~ResumableLines();
  ResumableLines(const ResumableLines&) = delete;
  ResumableLines& operator=(const ResumableLines&) = delete;

  int64_t lines() const { return lines_; }  // that are there
  void keep(int64_t lines);                 // the first so many, at most those that are there
  // A line break inside a line becomes a space: files that are aligned with this one stay so.
  void append(std::span<const std::string> lines);
  // Makes the file durable and gives it its name; an earlier one is replaced. A name that ends in
  // .gz gets a gzip file. Nothing may be appended afterwards.
  void commit();

 private:
  std::filesystem::path file_;
  std::filesystem::path part_;
  int descriptor_ = -1;
  int64_t lines_ = 0;
};

}  // namespace heed
