#include "base/gzip.h"

#include <gtest/gtest.h>

#include "base/file.h"
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

}  // namespace
}  // namespace heed
