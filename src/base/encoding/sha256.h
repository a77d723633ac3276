// SHA-256 (FIPS 180-4), by which files that were fetched are recognised. One Sha256 belongs to one
// thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

namespace heed {

class Sha256 {
 public:
  void update(std::span<const std::byte> bytes);
  // The digest of everything so far, as 64 hexadecimal digits. Nothing may be added afterwards.
  std::string hex();

 private:
  static constexpr size_t kBlock = 64;
  void add_block(const std::byte* block);

  std::array<uint32_t, 8> state_ = {0x6A09E667, 0xBB67AE85, 0x3C6EF372, 0xA54FF53A,
                                    0x510E527F, 0x9B05688C, 0x1F83D9AB, 0x5BE0CD19};
  std::array<std::byte, kBlock> rest_ = {};  // the bytes behind the last whole block
  uint64_t size_ = 0;
};

std::string sha256_of_file(const std::filesystem::path& path);

}  // namespace heed
