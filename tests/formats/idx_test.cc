#include "formats/idx.h"

#include <numeric>

#include "formats/format_bytes.h"
#include "support/error_of.h"
#include "support/text_files.h"

namespace heed {
namespace {

using testing::bytes_of;
using testing::data_path;
using testing::error_of;
using testing::TemporaryFolder;

// Two images of 2 x 3.
const std::string kImages =
    std::string("\0\0\x08\3\0\0\0\2\0\0\0\2\0\0\0\3", 16) + "abcdef" + "ghijkl";
const std::string kLabels = std::string("\0\0\x08\1\0\0\0\3\7\0\xFF", 11);

TEST(Idx, ImagesAndLabels) {
  const IdxArray images = decode_idx(bytes_of(kImages), 3);
  EXPECT_EQ(images.extents, (std::vector<int64_t>{2, 2, 3}));
  EXPECT_EQ(std::string(images.values.begin(), images.values.end()), "abcdefghijkl");
  const IdxArray labels = decode_idx(bytes_of(kLabels), 1);
  EXPECT_EQ(labels.extents, (std::vector<int64_t>{3}));
  EXPECT_EQ(labels.values, (std::vector<uint8_t>{7, 0, 255}));
}

TEST(Idx, PlainAndGzip) {
  const TemporaryFolder folder;
  EXPECT_EQ(read_idx(folder.write("plain", kImages), 3).values,
            read_idx(folder.write_gzip("packed", kImages), 3).values);
}

TEST(Idx, SaysWhatIsWrongAndWhere) {
  const auto error = [](std::string bytes, size_t at, char value, size_t rank = 3) {
    bytes[at] = value;
    return error_of([&] { decode_idx(bytes_of(bytes), rank, "i"); });
  };
  EXPECT_EQ(error(kImages, 1, 1),
            "[idx] i at byte 0: 0x00 0x01, expected two zeros; is this an idx file?");
  EXPECT_EQ(error(kImages, 2, 0x0D),
            "[idx] i at byte 2: element type 0x0d, expected 0x08, unsigned bytes");
  EXPECT_EQ(error(kImages, 3, 1), "[idx] i at byte 3: 1 axes, expected 3 for images");
  EXPECT_EQ(error(kImages, 3, 3, 1), "[idx] i at byte 3: 3 axes, expected 1 for labels");
  EXPECT_EQ(error(kImages, 11, 0),
            "[idx] i at byte 8: axis 1 has 0 elements, expected 1 to 536870912");
  EXPECT_EQ(error(kImages, 12, '\xFF'),
            "[idx] i at byte 12: axis 2 has 4278190083 elements, expected 1 to 268435456");
  EXPECT_EQ(error(kImages, 7, 3), "[idx] i at byte 16: 12 bytes follow, expected 18");
  EXPECT_EQ(error_of([] { decode_idx({}, 3, "i"); }),
            "[idx] i has 0 bytes, expected a header of 16");
}

TEST(Idx, Damage) {
  const auto images = [](std::string_view bytes) { decode_idx(bytes_of(bytes), 3); };
  testing::expect_truncation_errors(kImages, images);
  EXPECT_THROW(images(kImages + "x"), Error);
  EXPECT_GT(testing::count_errors_of_damage(kImages, 2000, images), 500);
  testing::expect_truncation_errors(kLabels,
                                    [](std::string_view bytes) { decode_idx(bytes_of(bytes), 1); });
}

// The labels are the first ones that everybody prints; the mean is the 0.1307 that everybody
// normalises with.
TEST(Idx, Mnist) {
  if (!std::filesystem::exists(data_path("mnist"))) {
    GTEST_SKIP() << "skipped: no data at " << data_path("mnist").string();
  }
  const IdxArray images = read_idx(data_path("mnist/train-images-idx3-ubyte.gz"), 3);
  EXPECT_EQ(images.extents, (std::vector<int64_t>{60000, 28, 28}));
  const auto sum = std::accumulate(images.values.begin(), images.values.end(), uint64_t{0});
  EXPECT_NEAR(static_cast<double>(sum) / 255.0 / static_cast<double>(images.values.size()),
              0.1306604762738429, 1e-12);
  const IdxArray labels = read_idx(data_path("mnist/train-labels-idx1-ubyte.gz"), 1);
  ASSERT_EQ(labels.values.size(), 60000U);
  EXPECT_EQ(std::vector<uint8_t>(labels.values.begin(), labels.values.begin() + 10),
            (std::vector<uint8_t>{5, 0, 4, 1, 9, 2, 1, 3, 1, 4}));
}

}  // namespace
}  // namespace heed
