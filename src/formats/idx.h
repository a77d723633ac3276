// The idx files of MNIST: arrays of unsigned bytes, big-endian extents in front. Plain or gzip.
// Every function may be called from several threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

namespace heed {

struct IdxArray {
  std::vector<int64_t> extents;  // images: count, height, width; labels: count
  std::vector<uint8_t> values;   // row-major
};

// Throws Error on bytes that are not one whole array of this rank, with the byte's offset and the
// file as `name`.
IdxArray decode_idx(std::span<const std::byte> bytes, size_t rank, std::string_view name = "idx");

IdxArray read_idx(const std::filesystem::path& path, size_t rank);

}  // namespace heed
