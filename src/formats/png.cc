#include "formats/png.h"

#include <png.h>

#include <algorithm>
#include <array>
#include <csetjmp>
#include <cstring>

#include "base/error.h"
#include "base/file.h"

namespace heed {
namespace {

// A few bytes of PNG can claim to be a picture of any size; this is 8192 x 8192 in RGBA.

// libpng reports errors by longjmp, which runs no destructors. So what must be freed belongs to
// this object, which lives outside of the functions that are jumped out of; those hold plain values
// only and return whether they got to their end.
class PngReader {
 public:
  explicit PngReader(std::span<const std::byte> bytes) : rest_(bytes) {
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, on_error, on_warning);
    info_ = png_ == nullptr ? nullptr : png_create_info_struct(png_);
  }
  ~PngReader() { png_destroy_read_struct(&png_, &info_, nullptr); }
  PngReader(const PngReader&) = delete;
  PngReader& operator=(const PngReader&) = delete;

  bool is_ready() const { return info_ != nullptr; }
  const char* reason() const { return reason_.data(); }

  // Leaves the size and the channels after conversion in `image`.
  bool read_header(Image& image) {
    if (setjmp(png_jmpbuf(png_)) != 0) {
      return false;
    }
    png_set_read_fn(png_, this, on_read);
    png_read_info(png_, info_);
    png_set_expand(png_);  // palettes, 1 to 4 bits, transparent colours
    png_set_scale_16(png_);
    if (png_get_color_type(png_, info_) == PNG_COLOR_TYPE_GRAY_ALPHA ||
        (png_get_color_type(png_, info_) == PNG_COLOR_TYPE_GRAY &&
         png_get_valid(png_, info_, PNG_INFO_tRNS) != 0)) {
      png_set_gray_to_rgb(png_);
    }
    png_set_interlace_handling(png_);
    png_read_update_info(png_, info_);
    image.width = png_get_image_width(png_, info_);
    image.height = png_get_image_height(png_, info_);
    image.channels = png_get_channels(png_, info_);
    return true;
  }

  bool read_pixels(uint8_t** rows) {
    if (setjmp(png_jmpbuf(png_)) != 0) {
      return false;
    }
    png_read_image(png_, rows);
    png_read_end(png_, nullptr);  // checks what follows the last row, too
    return true;
  }

 private:
  static void on_read(png_structp png, png_bytep to, size_t count) {
    auto* self = static_cast<PngReader*>(png_get_io_ptr(png));
    if (count > self->rest_.size()) {
      png_error(png, "the file ends too early");
    }
    std::memcpy(to, self->rest_.data(), count);
    self->rest_ = self->rest_.subspan(count);
  }
  [[noreturn]] static void on_error(png_structp png, png_const_charp message) {
    auto& reason = static_cast<PngReader*>(png_get_error_ptr(png))->reason_;
    std::strncpy(reason.data(), message, reason.size() - 1);
    png_longjmp(png, 1);
  }
  // Warnings are about profiles and comments, which are not used.
  static void on_warning(png_structp /*png*/, png_const_charp /*message*/) {}

  std::span<const std::byte> rest_;
  std::array<char, 128> reason_{};
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
};

png_uint_32 format_of(int64_t channels) {
  return channels == 1 ? PNG_FORMAT_GRAY : channels == 3 ? PNG_FORMAT_RGB : PNG_FORMAT_RGBA;
}

void check_image(const Image& image) {
  check(image.channels == 1 || image.channels == 3 || image.channels == 4,
        "[png] an image of {} channels, expected 1, 3 or 4", image.channels);
  check(image.width > 0 && image.height > 0 && image.width <= PNG_USER_WIDTH_MAX &&
            image.height <= PNG_USER_HEIGHT_MAX,
        "[png] an image of {} x {} pixels, expected 1 to {} each way", image.width, image.height,
        PNG_USER_WIDTH_MAX);
  const int64_t expected = image.width * image.height * image.channels;
  check(image.pixels.size() == static_cast<size_t>(expected),
        "[png] {} bytes of pixels, expected {} for {} x {} x {}", image.pixels.size(), expected,
        image.height, image.width, image.channels);
}

}  // namespace

// libpng's simplified interface catches its own jumps.
std::string encode_png(const Image& image) {
  check_image(image);
  png_image header{};
  header.version = PNG_IMAGE_VERSION;
  header.width = static_cast<png_uint_32>(image.width);
  header.height = static_cast<png_uint_32>(image.height);
  header.format = format_of(image.channels);
  check(image.pixels.size() <= kMostPngBytes, "[png] an image of {} bytes, expected at most {}",
        image.pixels.size(), kMostPngBytes);
  size_t size = PNG_IMAGE_PNG_SIZE_MAX(header);
  std::string bytes(size, '\0');
  const int written =
      png_image_write_to_memory(&header, bytes.data(), &size, 0, image.pixels.data(), 0, nullptr);
  check(written != 0, "[png] cannot encode {} x {} pixels: {}", image.width, image.height,
        header.message);
  bytes.resize(size);
  return bytes;
}

Image decode_png(std::span<const std::byte> bytes, std::string_view name, uint64_t most_bytes) {
  PngReader reader(bytes);
  check(reader.is_ready(), "[png] libpng does not start");
  Image image;
  check(reader.read_header(image), "[png] {} is not a PNG: {}", name, reader.reason());
  const auto row_bytes = static_cast<uint64_t>(image.width * image.channels);
  const auto height = static_cast<uint64_t>(image.height);
  check(row_bytes <= most_bytes / height,
        "[png] {} is {} x {} pixels, {} bytes, expected at most {}", name, image.width,
        image.height, row_bytes * height, most_bytes);
  image.pixels.resize(row_bytes * height);
  std::vector<uint8_t*> rows(height);
  for (uint64_t y = 0; y < height; ++y) {
    rows[y] = image.pixels.data() + y * row_bytes;
  }
  check(reader.read_pixels(rows.data()), "[png] {} is damaged: {}", name, reader.reason());
  return image;
}

void write_png(const std::filesystem::path& path, const Image& image) {
  write_file(path, encode_png(image));
}

Image read_png(const std::filesystem::path& path) {
  const MappedFile file(path);
  return decode_png(file.bytes(), path.string());
}

}  // namespace heed
