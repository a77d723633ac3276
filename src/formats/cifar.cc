#include "formats/cifar.h"

#include "base/encoding/gzip.h"
#include "base/error.h"

namespace heed {
namespace {

constexpr size_t kLargestCifar = size_t{1} << 30;  // unpacked; the published ones have 31 MB
constexpr size_t kPlane = kCifarSide * kCifarSide;
constexpr size_t kPixelBytes = kCifarPixelBytes;
constexpr size_t kRecord = 1 + kPixelBytes;

}  // namespace

void decode_cifar(std::span<const std::byte> bytes, CifarImages& images, std::string_view name) {
  check(!bytes.empty() && bytes.size() % kRecord == 0,
        "[cifar] {} has {} bytes, expected a multiple of {}; the record at byte {} has {}", name,
        bytes.size(), kRecord, bytes.size() / kRecord * kRecord, bytes.size() % kRecord);
  const size_t count = bytes.size() / kRecord;
  images.labels.reserve(images.labels.size() + count);
  size_t to = images.pixels.size();
  images.pixels.resize(to + count * kPixelBytes);
  for (size_t at = 0; at < bytes.size(); at += kRecord, to += kPixelBytes) {
    const auto label = std::to_integer<uint8_t>(bytes[at]);
    check(label < kCifarClasses.size(), "[cifar] {} at byte {}: label {}, expected 0 to {}", name,
          at, label, kCifarClasses.size() - 1);
    images.labels.push_back(label);
    for (size_t i = 0; i < kPixelBytes; ++i) {
      images.pixels[to + i % kPlane * kCifarChannels + i / kPlane] =
          std::to_integer<uint8_t>(bytes[at + 1 + i]);
    }
  }
}

std::string encode_cifar(const CifarImages& images) {
  check(images.pixels.size() == images.labels.size() * kPixelBytes,
        "[cifar] {} bytes of pixels, expected {} for {} images", images.pixels.size(),
        images.labels.size() * kPixelBytes, images.labels.size());
  std::string bytes;
  bytes.reserve(images.labels.size() * kRecord);
  for (size_t image = 0; image < images.labels.size(); ++image) {
    bytes += static_cast<char>(images.labels[image]);
    const uint8_t* pixels = images.pixels.data() + image * kPixelBytes;
    for (size_t i = 0; i < kPixelBytes; ++i) {
      bytes += static_cast<char>(pixels[i % kPlane * kCifarChannels + i / kPlane]);
    }
  }
  return bytes;
}

CifarImages read_cifar(std::span<const std::filesystem::path> paths) {
  check(!paths.empty(), "[cifar] no files, expected one or more");
  CifarImages images;
  for (const std::filesystem::path& path : paths) {
    const std::string bytes = read_unpacked(path, kLargestCifar);
    decode_cifar(std::as_bytes(std::span(bytes)), images, path.string());
  }
  return images;
}

CifarImages cifar_of_sheet(const Image& sheet, std::span<const uint8_t> labels) {
  check(sheet.width == kCifarSide * kCifarSide && sheet.channels == kCifarChannels,
        "[cifar] a sheet {} wide with {} channels, expected {} and {}", sheet.width, sheet.channels,
        kCifarSide * kCifarSide, kCifarChannels);
  check(labels.size() == static_cast<size_t>(sheet.height),
        "[cifar] {} labels for the {} rows of a sheet", labels.size(), sheet.height);
  for (size_t i = 0; i < labels.size(); ++i) {
    check(labels[i] < kCifarClasses.size(), "[cifar] label {} is {}, expected 0 to {}", i,
          labels[i], kCifarClasses.size() - 1);
  }
  return {.labels = {labels.begin(), labels.end()}, .pixels = sheet.pixels};
}

}  // namespace heed
