// Zip archives, as their table at the end lists them: members that are stored or deflated. What is
// encrypted, split over several files or larger than 4 GiB is an Error. Open members belong to one
// thread each.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/read_bytes.h"
#include "formats/archive.h"

namespace heed {

class ZipFile {
 public:
  struct Member : ArchiveMember {
    uint16_t method = 0;
    uint32_t crc = 0;
    uint32_t packed = 0;  // bytes in the archive
    uint32_t offset = 0;  // of its header
  };

  // `bytes` have to live as long as this and the streams that it gives.
  ZipFile(std::span<const std::byte> bytes, std::string where);

  const std::vector<Member>& members() const { return members_; }  // without folders

  // The member's bytes. They are an Error if they are damaged, or not as many as the table says.
  ReadBytes open(const Member& member) const;

 private:
  void read_table();

  std::span<const std::byte> bytes_;
  std::string where_;
  std::vector<Member> members_;
};

}  // namespace heed
