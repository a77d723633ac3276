// Tar archives, read from front to back: POSIX ustar with pax headers, and GNU's long names. Only
// regular files come out; folders follow from their names. A reader belongs to one thread.
//
//   TarReader tar(unpacked_stream("data.tar.gz"), "data.tar.gz", limit);
//   while (const auto member = tar.next()) {
//     ... tar.read(...) until it returns 0, or not at all ...
//   }
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/read_bytes.h"
#include "formats/archive.h"

namespace heed {

class TarReader {
 public:
  // `where` is what Errors call the archive. Members of more than `limit` bytes together are an
  // Error: a small file can unpack to any number.
  TarReader(ReadBytes archive, std::string where, int64_t limit);

  std::optional<ArchiveMember> next();
  size_t read(std::span<std::byte> bytes);  // of the member that next() returned; 0: its end

 private:
  static constexpr size_t kBlock = 512;
  using Block = std::array<std::byte, kBlock>;
  using Pax = std::map<std::string, std::string>;  // what a pax header says of the next member

  bool read_block(Block& block);
  void read_whole(std::span<std::byte> bytes);
  void skip_rest();
  int64_t number(const Block& header, size_t at, size_t length) const;
  void check_header(const Block& header) const;
  int64_t member_size(const Block& header, const Pax& pax) const;
  static std::string member_name(const Block& header, const Pax& pax);
  std::string read_text();
  Pax read_pax();

  ReadBytes archive_;
  std::string where_;
  int64_t limit_;
  int64_t left_ = 0;     // of the current member
  int64_t padding_ = 0;  // behind it
};

}  // namespace heed
