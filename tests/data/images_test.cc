#include "data/images/images.h"

#include <gtest/gtest.h>

#include <numeric>

#include "base/random.h"
#include "data/images/resize.h"
#include "support/error_of.h"
#include "support/text_files.h"

namespace heed {
namespace {

using testing::error_of;
using testing::TemporaryFolder;
using Pixels = std::vector<uint8_t>;

Image row(const Pixels& pixels, int64_t channels = 1) {
  return {
      .width = std::ssize(pixels) / channels, .height = 1, .channels = channels, .pixels = pixels};
}

ImageSet set_of(int64_t height, int64_t width, int64_t channels, const Pixels& pixels) {
  ImageSet set;
  set.height = height;
  set.width = width;
  set.channels = channels;
  set.pixels = pixels;
  return set;
}

TEST(Resize, SmallerIsTheMeanOfTheArea) {
  EXPECT_EQ(resized(row({10, 20, 30, 40}), 1, 2).pixels, (Pixels{15, 35}));
  // The middle pixel counts half on each side: (0 + 90 / 2) / 1.5.
  EXPECT_EQ(resized(row({0, 90, 180}), 1, 2).pixels, (Pixels{30, 150}));
  EXPECT_EQ(resized(row({1, 2, 3, 5, 6, 7}, 3), 1, 1).pixels, (Pixels{3, 4, 5}));
  const Image square{.width = 2, .height = 2, .channels = 1, .pixels = {0, 100, 40, 60}};
  EXPECT_EQ(resized(square, 1, 1).pixels, (Pixels{50}));
}

TEST(Resize, LargerIsBilinear) {
  EXPECT_EQ(resized(row({0, 100}), 1, 4).pixels, (Pixels{0, 25, 75, 100}));
  EXPECT_EQ(resized(row({7}), 2, 2).pixels, (Pixels{7, 7, 7, 7}));
  // Larger one way and smaller the other.
  EXPECT_EQ(resized(row({0, 50, 100, 150}), 2, 2).pixels, (Pixels{25, 125, 25, 125}));
  EXPECT_EQ(error_of([] { resized(row({1}), 0, 3); }),
            "[resize] to 0 x 3, expected 1 or more each way");
}

TEST(Resize, Colours) {
  EXPECT_EQ(as_grey(row({255, 0, 0, 0, 255, 0, 0, 0, 255, 9, 9, 9}, 3)).pixels,
            (Pixels{76, 150, 29, 9}));
  EXPECT_EQ(as_rgb(row({5, 6})).pixels, (Pixels{5, 5, 5, 6, 6, 6}));
  EXPECT_EQ(as_rgb(row({10, 20, 30, 255, 10, 20, 30, 0, 0, 100, 255, 51}, 4)).pixels,
            (Pixels{10, 20, 30, 255, 255, 255, 204, 224, 255}));
}

TEST(Images, IdxWithAndWithoutLabels) {
  const TemporaryFolder folder;
  const auto images = folder.write(
      "images", std::string("\0\0\x08\3\0\0\0\2\0\0\0\1\0\0\0\2", 16) + std::string("\1\2\3\4", 4));
  const auto labels = folder.write("labels", std::string("\0\0\x08\1\0\0\0\2\xB\0", 10));
  const ImageSet set = read_idx_images(images, labels);
  EXPECT_EQ(set.count(), 2);
  EXPECT_EQ(Pixels(set.image(1).begin(), set.image(1).end()), (Pixels{3, 4}));
  EXPECT_EQ(set.labels, (std::vector<int32_t>{11, 0}));
  EXPECT_EQ(set.classes, 12);
  EXPECT_EQ(set.class_names.at(11), "11");
  EXPECT_EQ(read_idx_images(images, "").classes, 0);
  const auto short_list = folder.write("short", std::string("\0\0\x08\1\0\0\0\1\xB", 9));
  EXPECT_EQ(error_of([&] { read_idx_images(images, short_list); }),
            fmt::format("[images] {} has 1 labels, but {} has 2 images", short_list.string(),
                        images.string()));
}

TEST(Images, Cifar) {
  const TemporaryFolder folder;
  const std::filesystem::path files[] = {
      folder.write("c.bin", std::string(1, '\x06') + std::string(1024, 'r') +
                                std::string(1024, 'g') + std::string(1024, 'b'))};
  const ImageSet set = read_cifar_images(files);
  EXPECT_EQ(set.count(), 1);
  EXPECT_EQ(set.class_names.at(static_cast<size_t>(set.labels.at(0))), "frog");
  EXPECT_EQ(Pixels(set.pixels.begin(), set.pixels.begin() + 3), (Pixels{'r', 'g', 'b'}));
}

TEST(Images, FoldersAreClasses) {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder / "b-dog/more");
  std::filesystem::create_directories(folder / "cat");
  std::filesystem::create_directories(folder / "empty");
  write_png(folder / "cat/1.png", row({0, 100}));
  write_png(folder / "b-dog/more/2.PNG", row({1, 2, 3, 5, 6, 7}, 3));
  write_png(folder / "b-dog/3.png", row({7, 9}));
  write_png(folder / "loose.png", row({7, 9}));
  folder.write("cat/2.png", "no picture");
  folder.write("cat/notes.txt", "no picture");
  const ImageSet set = read_png_images(folder / "", 1, 1);
  EXPECT_EQ(set.class_names, (std::vector<std::string>{"b-dog", "cat"}));
  EXPECT_EQ(set.labels, (std::vector<int32_t>{0, 0, 1}));
  EXPECT_EQ(set.channels, 3);
  EXPECT_EQ(set.pixels, (Pixels{8, 8, 8, 3, 4, 5, 50, 50, 50}));
  EXPECT_NE(set.skipped.find("skipped 2 PNG files:"), std::string::npos) << set.skipped;
  EXPECT_NE(set.skipped.find("cat/2.png is not a PNG"), std::string::npos) << set.skipped;
  EXPECT_NE(set.skipped.find("loose.png stands beside folders"), std::string::npos) << set.skipped;
}

TEST(Images, FolderWithoutClasses) {
  const TemporaryFolder folder;
  write_png(folder / "b.png", row({0, 100}));
  write_png(folder / "a.png", row({10, 20}));
  const ImageSet set = read_png_images(folder / "", 1, 2);
  EXPECT_EQ(set.classes, 0);
  EXPECT_TRUE(set.labels.empty());
  EXPECT_EQ(set.channels, 1);
  EXPECT_EQ(set.pixels, (Pixels{10, 20, 0, 100}));
  EXPECT_EQ(set.skipped, "");
}

TEST(Images, FolderOfNothing) {
  const TemporaryFolder folder;
  const std::string name = (folder / "").string();
  EXPECT_EQ(error_of([&] { read_png_images(name, 2, 2); }),
            fmt::format("[images] {} holds no .png file", name));
  folder.write("bad.png", "");
  EXPECT_NE(
      error_of([&] { read_png_images(name, 2, 2); }).find("[images] none of the 1 PNG files in"),
      std::string::npos);
  EXPECT_EQ(error_of([&] { read_png_images(name + "none", 2, 2); }),
            fmt::format("[images] {}none is not a folder", name));
}

TEST(Images, Levels) {
  ImageSet set = set_of(1, 6, 1, {0, 63, 64, 128, 200, 255});
  const ImageSet four = prepared(set, {.levels = 4});
  EXPECT_EQ(four.pixels, (Pixels{0, 0, 1, 2, 3, 3}));
  EXPECT_EQ(four.levels, 4);
  EXPECT_EQ(picture_of(four, 0).pixels, (Pixels{0, 0, 85, 170, 255, 255}));
  EXPECT_EQ(prepared(set, {.levels = 5}).pixels, (Pixels{0, 1, 1, 2, 3, 4}));
  const ImageSet two = prepared(set, {.binarise = Binarise::threshold});
  EXPECT_EQ(two.pixels, (Pixels{0, 0, 0, 1, 1, 1}));
  EXPECT_EQ(two.levels, 2);
  EXPECT_EQ(error_of([&] { prepared(set, {.levels = 257}); }),
            "[images] 257 levels, expected 2 to 256");
  EXPECT_EQ(error_of([&] { prepared(set, {.levels = 4, .binarise = Binarise::sample}); }),
            "[images] binary images of 4 levels, expected one or the other");
  EXPECT_EQ(error_of([&] { prepared(two, {}); }),
            "[images] prepared already: 2 levels, expected 256");
}

TEST(Images, SampledBitsAreEverybodys) {
  constexpr size_t kCount = 60000;
  Pixels pixels;
  for (size_t i = 0; i < kCount; ++i) {
    pixels.push_back(i % 3 == 0 ? 0 : i % 3 == 1 ? 255 : 100);
  }
  const ImageSet set = prepared(set_of(1, 600, 1, pixels), {.binarise = Binarise::sample});
  const RandomStream random{20160508, stream_of("binarise")};
  size_t ones = 0;
  for (size_t i = 0; i < kCount; ++i) {
    const bool one = static_cast<double>(random.uniform(i)) < pixels[i] / 255.0;
    ASSERT_EQ(set.pixels[i], one ? 1 : 0) << i;
    ones += i % 3 == 2 ? set.pixels[i] : 0U;
  }
  EXPECT_NEAR(static_cast<double>(ones) / (kCount / 3.0), 100.0 / 255.0, 0.014);  // 4 sigma
  const ImageSet other =
      prepared(set_of(1, 600, 1, pixels), {.binarise = Binarise::sample, .binarise_seed = 2});
  EXPECT_NE(other.pixels, set.pixels);
}

TEST(Images, ResizedGreyAndDownscaled) {
  const ImageSet set = set_of(2, 2, 3, {0,   0,   0,   40, 40, 40, 80, 80, 80, 120, 120, 120,
                                        200, 200, 200, 0,  0,  0,  0,  0,  0,  0,   0,   0});
  const ImageSet small = prepared(set, {.height = 1, .width = 2, .grey = true});
  EXPECT_EQ(small.channels, 1);
  EXPECT_EQ(small.count(), 2);
  EXPECT_EQ(small.pixels, (Pixels{40, 80, 100, 0}));
  const ImageSet half = downscaled(set, 2);
  EXPECT_EQ(half.pixels, (Pixels{60, 60, 60, 50, 50, 50}));
  EXPECT_EQ(half.height, 1);
  EXPECT_EQ(error_of([&] { downscaled(set, 3); }),
            "[images] 2 x 2 made smaller by 3, expected a factor of both sides");
}

TEST(Images, SlicesAndSheets) {
  ImageSet set = set_of(1, 2, 1, {1, 2, 3, 4, 5, 6});
  set.labels = {7, 8, 9};
  const ImageSet part = slice(set, 1, 3);
  EXPECT_EQ(part.pixels, (Pixels{3, 4, 5, 6}));
  EXPECT_EQ(part.labels, (std::vector<int32_t>{8, 9}));
  EXPECT_EQ(error_of([&] { slice(set, 1, 4); }),
            "[images] images 1 to 4, expected a part of 0 to 3");
  const Image sheet = contact_sheet(set, 2);
  EXPECT_EQ(sheet.width, 5);
  EXPECT_EQ(sheet.height, 3);
  EXPECT_EQ(sheet.pixels, (Pixels{1, 2, 255, 3, 4, 255, 255, 255, 255, 255, 5, 6, 255, 255, 255}));
}

}  // namespace
}  // namespace heed
