#include "formats/cifar.h"

#include "formats/format_bytes.h"
#include "support/error_of.h"
#include "support/text_files.h"

namespace heed {
namespace {

using testing::bytes_of;
using testing::data_path;
using testing::error_of;
using testing::TemporaryFolder;

constexpr size_t kRecord = 3073;

std::string record(char label) {
  std::string bytes(1, label);
  for (size_t i = 0; i + 1 < kRecord; ++i) {
    bytes += static_cast<char>(i * 7 + i / 256);
  }
  return bytes;
}

TEST(Cifar, PlanesBecomePixels) {
  const std::string bytes = record(3) + record(9);
  CifarImages images;
  decode_cifar(bytes_of(bytes), images);
  EXPECT_EQ(images.labels, (std::vector<uint8_t>{3, 9}));
  ASSERT_EQ(images.pixels.size(), 2U * 3072);
  for (size_t image = 0; image < 2; ++image) {
    for (size_t pixel = 0; pixel < 1024; ++pixel) {
      for (size_t colour = 0; colour < 3; ++colour) {
        ASSERT_EQ(images.pixels[image * 3072 + pixel * 3 + colour],
                  static_cast<uint8_t>(bytes[image * kRecord + 1 + colour * 1024 + pixel]));
      }
    }
  }
  EXPECT_EQ(encode_cifar(images), bytes);
}

TEST(Cifar, SeveralFilesPlainAndGzip) {
  const TemporaryFolder folder;
  const std::filesystem::path files[] = {folder.write("a.bin", record(1)),
                                         folder.write_gzip("b.bin.gz", record(2) + record(3))};
  EXPECT_EQ(read_cifar(files).labels, (std::vector<uint8_t>{1, 2, 3}));
  EXPECT_EQ(error_of([] { read_cifar({}); }), "[cifar] no files, expected one or more");
}

TEST(Cifar, SaysWhatIsWrongAndWhere) {
  const auto error = [](const std::string& bytes) {
    return error_of([&] {
      CifarImages images;
      decode_cifar(bytes_of(bytes), images, "c");
    });
  };
  EXPECT_EQ(error(record(1) + record(10)), "[cifar] c at byte 3073: label 10, expected 0 to 9");
  EXPECT_EQ(error(record(1) + "ab"),
            "[cifar] c has 3075 bytes, expected a multiple of 3073; the record at byte 3073 has 2");
  EXPECT_EQ(error(""),
            "[cifar] c has 0 bytes, expected a multiple of 3073; the record at byte 0 has 0");
  EXPECT_EQ(error_of([] { encode_cifar({.labels = {1}, .pixels = {}}); }),
            "[cifar] 0 bytes of pixels, expected 3072 for 1 images");
}

TEST(Cifar, Damage) {
  const auto parse = [](std::string_view bytes) {
    CifarImages images;
    decode_cifar(bytes_of(bytes), images);
  };
  testing::expect_truncation_errors(record(5), parse);
  testing::count_errors_of_damage(record(5), 500, parse);
}

TEST(Cifar, Sheets) {
  Image sheet{.width = 1024, .height = 2, .channels = 3, .pixels = {}};
  for (size_t i = 0; i < 2 * 3072; ++i) {
    sheet.pixels.push_back(static_cast<uint8_t>(i * 13));
  }
  const uint8_t labels[] = {4, 0};
  const CifarImages images = cifar_of_sheet(sheet, labels);
  EXPECT_EQ(images.pixels, sheet.pixels);
  EXPECT_EQ(images.labels, (std::vector<uint8_t>{4, 0}));
  const uint8_t bad[] = {4, 11};
  EXPECT_EQ(error_of([&] { cifar_of_sheet(sheet, bad); }),
            "[cifar] label 1 is 11, expected 0 to 9");
  EXPECT_EQ(error_of([&] { cifar_of_sheet(sheet, std::span(labels).first(1)); }),
            "[cifar] 1 labels for the 2 rows of a sheet");
  sheet.width = 1023;
  EXPECT_EQ(error_of([&] { cifar_of_sheet(sheet, labels); }),
            "[cifar] a sheet 1023 wide with 3 channels, expected 1024 and 3");
}

// The frog and the truck that everybody knows.
TEST(Cifar, Subset) {
  const std::filesystem::path files[] = {data_path("cifar10-subset/train2500.bin.gz"),
                                         data_path("cifar10-subset/heldout500.bin.gz")};
  if (!std::filesystem::exists(files[0])) {
    GTEST_SKIP() << "skipped: no data at " << files[0].string();
  }
  const CifarImages images = read_cifar(files);
  ASSERT_EQ(images.labels.size(), 3000U);
  EXPECT_EQ(std::vector<uint8_t>(images.labels.begin(), images.labels.begin() + 10),
            (std::vector<uint8_t>{6, 9, 9, 4, 1, 1, 2, 7, 8, 3}));
  EXPECT_EQ(std::vector<uint8_t>(images.pixels.begin(), images.pixels.begin() + 6),
            (std::vector<uint8_t>{59, 62, 63, 43, 46, 45}));
}

}  // namespace
}  // namespace heed
