#include "base/encoding/gzip.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "support/archives.h"
#include "support/error_of.h"
#include "support/text_files.h"

namespace heed {
namespace {

using testing::error_of;
using testing::TemporaryFolder;

TEST(Gzip, PlainAndPackedAreTheSame) {
  const TemporaryFolder folder;
  const std::string bytes("a\0b\xFF\n", 5);
  EXPECT_EQ(read_unpacked(folder.write("plain.gz", bytes), 5), bytes);
  EXPECT_EQ(read_unpacked(folder.write_gzip("packed", bytes), 5), bytes);
  EXPECT_EQ(read_unpacked(folder.write("empty", ""), 5), "");
}

TEST(Gzip, TooMuchIsAnError) {
  const TemporaryFolder folder;
  const auto bomb = folder.write_gzip("bomb", std::string(1 << 20, 'x'));
  EXPECT_LT(std::filesystem::file_size(bomb), 5000U);
  EXPECT_EQ(error_of([&] { read_unpacked(bomb, 1000); }),
            fmt::format("[gzip] {} holds more than 1000 bytes", bomb.string()));
}

TEST(Gzip, CutOffIsAnError) {
  const TemporaryFolder folder;
  const std::string whole = read_file(folder.write_gzip("whole", "some text and some more of it"));
  for (size_t size = 10; size < whole.size(); ++size) {
    const auto cut = folder.write("cut", whole.substr(0, size));
    EXPECT_EQ(error_of([&] { read_unpacked(cut, 1000); }),
              fmt::format("[gzip] {} cannot be read, or its gzip data is damaged or cut off",
                          cut.string()))
        << size;
  }
  EXPECT_EQ(
      error_of([&] { read_unpacked(folder / "none", 9); }),
      fmt::format("[gzip] cannot open {}: No such file or directory", (folder / "none").string()));
  EXPECT_EQ(error_of([&] { read_unpacked(folder / "", 9); }),
            fmt::format("[gzip] {} is a folder, expected a file", (folder / "").string()));
}

TEST(Gzip, StreamsPackAndUnpack) {
  const TemporaryFolder folder;
  std::string text;
  for (int i = 0; i < 50'000; ++i) {
    text += std::to_string(i * 7919);
  }
  for (const std::string& plain : {std::string(), std::string("a"), text}) {
    const std::string packed = testing::gzip_of(plain);
    EXPECT_EQ(packed, testing::gzip_of(plain));  // it holds no time
    const auto file = folder.write("packed.gz", packed);
    EXPECT_EQ(testing::text_of_stream(unpacked_stream(file)), plain);
    EXPECT_EQ(read_unpacked(file, plain.size()), plain);
  }
  const auto cut = folder.write("cut", testing::gzip_of(text).substr(0, 1000));
  EXPECT_NE(error_of([&] { testing::text_of_stream(unpacked_stream(cut)); }).find("cut off"),
            std::string::npos);
}

}  // namespace
}  // namespace heed
