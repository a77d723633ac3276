// PNG images, read and written; the only file pair that knows libpng.
//
// Pixels are the stored sample values, 8 bits each: no gamma or colour profile is applied, as is
// usual for pictures that models learn from. Every function may be called from several threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace heed {

struct Image {
  int64_t width = 0;
  int64_t height = 0;
  int64_t channels = 3;         // 1: grey, 3: red, green, blue, 4: and opacity
  std::vector<uint8_t> pixels;  // [height, width, channels]
};

std::string encode_png(const Image& image);

// Palettes become colours, grey with opacity becomes RGBA, other depths become 8 bits. Throws Error
// on bytes that are not one whole PNG, and on one whose pixels take more than `most_bytes`;
// the Error calls the file `name`.
inline constexpr uint64_t kMostPngBytes = uint64_t{1} << 28;
Image decode_png(std::span<const std::byte> bytes, std::string_view name = "PNG",
                 uint64_t most_bytes = kMostPngBytes);

void write_png(const std::filesystem::path& path, const Image& image);  // atomically
Image read_png(const std::filesystem::path& path);

}  // namespace heed
