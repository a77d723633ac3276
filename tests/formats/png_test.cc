#include "formats/png.h"

#include <gtest/gtest.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>

#include "base/file.h"
#include "support/error_of.h"

namespace heed {
namespace {

using testing::error_of;

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

Image pattern(int64_t width, int64_t height, int64_t channels) {
  Image image{.width = width, .height = height, .channels = channels, .pixels = {}};
  image.pixels.resize(static_cast<size_t>(width * height * channels));
  for (size_t i = 0; i < image.pixels.size(); ++i) {
    image.pixels[i] = static_cast<uint8_t>(i * 37 + i / 11);
  }
  return image;
}

std::string big_endian(uint32_t value) {
  std::string text;
  for (const unsigned shift : {24U, 16U, 8U, 0U}) {
    text += static_cast<char>(value >> shift & 0xFFU);
  }
  return text;
}

// PNG files put together here, chunk by chunk as the standard says, without libpng.
std::string chunk(const std::string& type, const std::string& content) {
  const std::string summed = type + content;
  const uLong sum =
      crc32(0, reinterpret_cast<const Bytef*>(summed.data()), static_cast<uInt>(summed.size()));
  return big_endian(static_cast<uint32_t>(content.size())) + summed +
         big_endian(static_cast<uint32_t>(sum));
}

struct Parts {
  uint32_t width, height;
  char depth, colour_type;
  std::string rows;   // each begins with its filter
  std::string extra;  // chunks before the pixels
};

std::string hand_made(const Parts& parts) {
  uLongf size = compressBound(static_cast<uLong>(parts.rows.size()));
  std::string packed(size, '\0');
  compress(reinterpret_cast<Bytef*>(packed.data()), &size,
           reinterpret_cast<const Bytef*>(parts.rows.data()),
           static_cast<uLong>(parts.rows.size()));
  packed.resize(size);
  const std::string header = big_endian(parts.width) + big_endian(parts.height) + parts.depth +
                             parts.colour_type + std::string(3, '\0');
  return "\x89PNG\r\n\x1a\n" + chunk("IHDR", header) + parts.extra + chunk("IDAT", packed) +
         chunk("IEND", "");
}

std::vector<uint8_t> pixels_of(const Parts& parts, int64_t channels) {
  const Image image = decode_png(bytes_of(hand_made(parts)));
  EXPECT_EQ(image.channels, channels);
  EXPECT_EQ(image.width, parts.width);
  EXPECT_EQ(image.height, parts.height);
  return image.pixels;
}

TEST(Png, GivesBackWhatWasWritten) {
  for (const int64_t channels : {1, 3, 4}) {
    for (const int64_t side : {1, 7, 64}) {
      const Image image = pattern(side, side + 2, channels);
      const Image again = decode_png(bytes_of(encode_png(image)));
      EXPECT_EQ(again.width, image.width);
      EXPECT_EQ(again.height, image.height);
      EXPECT_EQ(again.channels, channels);
      EXPECT_EQ(again.pixels, image.pixels);
    }
  }
}

TEST(Png, Files) {
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / fmt::format("heed-png-{}.png", ::getpid());
  const Image image = pattern(5, 3, 3);
  write_png(path, image);
  EXPECT_EQ(read_png(path).pixels, image.pixels);
  write_file(path, "no picture");
  EXPECT_EQ(error_of([&] { read_png(path); }),
            fmt::format("[png] {} is not a PNG: Not a PNG file", path.string()));
  std::filesystem::remove(path);
  EXPECT_NE(error_of([&] { read_png(path); }).find("cannot open"), std::string::npos);
}

TEST(Png, ReadsTheOtherKinds) {
  using Pixels = std::vector<uint8_t>;
  constexpr char kGrey = 0, kRgb = 2, kPalette = 3, kGreyAlpha = 4;
  // One bit: white, black, white.
  EXPECT_EQ(pixels_of({3, 1, 1, kGrey, std::string("\0\xA0", 2), ""}, 1), (Pixels{255, 0, 255}));
  // Sixteen bits.
  EXPECT_EQ(pixels_of({2, 1, 16, kGrey, std::string("\0\xFF\xFF\x80\x80", 5), ""}, 1),
            (Pixels{255, 128}));
  EXPECT_EQ(pixels_of({1, 1, 8, kGreyAlpha, std::string("\0\x10\x20", 3), ""}, 4),
            (Pixels{16, 16, 16, 32}));
  const std::string palette = chunk("PLTE", "\x01\x02\x03\x04\x05\x06");
  EXPECT_EQ(pixels_of({2, 1, 8, kPalette, std::string("\0\1\0", 3), palette}, 3),
            (Pixels{4, 5, 6, 1, 2, 3}));
  const std::string transparent = palette + chunk("tRNS", "\x80");
  EXPECT_EQ(pixels_of({2, 1, 8, kPalette, std::string("\0\1\0", 3), transparent}, 4),
            (Pixels{4, 5, 6, 255, 1, 2, 3, 128}));
  // A gamma is not applied: pixels are numbers here.
  const std::string gamma = chunk("gAMA", big_endian(100000));
  EXPECT_EQ(pixels_of({1, 1, 8, kRgb, std::string("\0\x10\x20\x30", 4), gamma}, 3),
            (Pixels{16, 32, 48}));
}

TEST(Png, CutShortAnywhereIsAnError) {
  const std::string whole = encode_png(pattern(40, 30, 3));
  for (size_t size = 0; size < whole.size(); ++size) {
    const std::string cut = whole.substr(0, size);
    ASSERT_NE(error_of([&] { decode_png(bytes_of(cut), "cut.png"); }).find("[png] cut.png is "),
              std::string::npos)
        << size;
  }
}

// Whatever is changed, the result is an image or an Error, and a changed pixel never goes unseen:
// every chunk carries a checksum.
TEST(Png, ChangedBytesAreNoticed) {
  const Image image = pattern(20, 10, 4);
  const std::string whole = encode_png(image);
  for (size_t at = 0; at < whole.size(); ++at) {
    std::string changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ 0x41);
    try {
      EXPECT_EQ(decode_png(bytes_of(changed)).pixels, image.pixels) << at;
    } catch (const Error& error) {
      EXPECT_EQ(std::string(error.what()).find("[png] PNG is "), 0U);
    }
  }
}

TEST(Png, HugeClaimsAreRefused) {
  const std::string huge = hand_made({900000, 900000, 8, 2, std::string(10, '\0'), ""});
  EXPECT_EQ(error_of([&] { decode_png(bytes_of(huge)); }),
            "[png] PNG is 900000 x 900000 pixels, 2430000000000 bytes, expected at most 268435456");
  const std::string empty = hand_made({0, 4, 8, 2, std::string(10, '\0'), ""});
  EXPECT_NE(error_of([&] { decode_png(bytes_of(empty)); }), "no error");
}

TEST(Png, RefusesWhatIsNoImage) {
  Image image = pattern(2, 2, 3);
  image.pixels.pop_back();
  EXPECT_EQ(error_of([&] { encode_png(image); }),
            "[png] 11 bytes of pixels, expected 12 for 2 x 2 x 3");
  EXPECT_EQ(error_of([] { encode_png(pattern(2, 2, 2)); }),
            "[png] an image of 2 channels, expected 1, 3 or 4");
  EXPECT_EQ(error_of([] { encode_png({}); }),
            "[png] an image of 0 x 0 pixels, expected 1 to 1000000 each way");
}

}  // namespace
}  // namespace heed
