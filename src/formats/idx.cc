#include "formats/idx.h"

#include <algorithm>

#include "base/encoding/gzip.h"
#include "base/error.h"

namespace heed {
namespace {

constexpr size_t kLargestIdx = size_t{1} << 30;  // unpacked; MNIST's largest has 47 MB
constexpr unsigned kUnsignedByte = 0x08;
constexpr size_t kExtentBytes = 4;

unsigned byte_at(std::span<const std::byte> bytes, size_t at) {
  return std::to_integer<unsigned>(bytes[at]);
}

}  // namespace

IdxArray decode_idx(std::span<const std::byte> bytes, size_t rank, std::string_view name) {
  const size_t header = kExtentBytes * (rank + 1);
  check(bytes.size() >= header, "[idx] {} has {} bytes, expected a header of {}", name,
        bytes.size(), header);
  check(byte_at(bytes, 0) == 0 && byte_at(bytes, 1) == 0,
        "[idx] {} at byte 0: {:#04x} {:#04x}, expected two zeros; is this an idx file?", name,
        byte_at(bytes, 0), byte_at(bytes, 1));
  check(byte_at(bytes, 2) == kUnsignedByte,
        "[idx] {} at byte 2: element type {:#04x}, expected {:#04x}, unsigned bytes", name,
        byte_at(bytes, 2), kUnsignedByte);
  check(byte_at(bytes, 3) == rank, "[idx] {} at byte 3: {} axes, expected {}{}", name,
        byte_at(bytes, 3), rank,
        rank == 3   ? " for images"
        : rank == 1 ? " for labels"
                    : "");
  IdxArray array;
  uint64_t count = 1;
  for (size_t axis = 0; axis < rank; ++axis) {
    const size_t at = kExtentBytes * (axis + 1);
    uint64_t extent = 0;
    for (size_t i = 0; i < kExtentBytes; ++i) {
      extent = extent << 8 | byte_at(bytes, at + i);
    }
    check(extent > 0 && extent <= kLargestIdx / count,
          "[idx] {} at byte {}: axis {} has {} elements, expected 1 to {}", name, at, axis, extent,
          kLargestIdx / count);
    count *= extent;
    array.extents.push_back(static_cast<int64_t>(extent));
  }
  check(bytes.size() - header == count, "[idx] {} at byte {}: {} bytes follow, expected {}", name,
        header, bytes.size() - header, count);
  array.values.resize(count);
  std::ranges::transform(bytes.subspan(header), array.values.begin(),
                         [](std::byte value) { return std::to_integer<uint8_t>(value); });
  return array;
}

IdxArray read_idx(const std::filesystem::path& path, size_t rank) {
  const std::string bytes = read_unpacked(path, kLargestIdx);
  return decode_idx(std::as_bytes(std::span(bytes)), rank, path.string());
}

}  // namespace heed
