// Files that are written line by line, and what an interrupted process leaves of them.
#include "data/text/resumable_lines.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "data/text/lines.h"
#include "support/error_of.h"
#include "support/text_files.h"

namespace heed::testing {
namespace {

using Lines = std::vector<std::string>;

TEST(ResumableLines, HasItsNameWhenItIsWhole) {
  const TemporaryFolder folder;
  const auto file = folder / "out.txt";
  ResumableLines lines(file);
  lines.append(Lines{"one", "", "two\nparts\r"});
  EXPECT_FALSE(std::filesystem::exists(file));
  EXPECT_EQ(read_file(folder / "out.txt.part"), "one\n\ntwo parts \n");
  lines.append(Lines{"three"});
  EXPECT_EQ(lines.lines(), 4);
  lines.commit();
  EXPECT_EQ(read_file(file), "one\n\ntwo parts \nthree\n");
  EXPECT_FALSE(std::filesystem::exists(folder / "out.txt.part"));
}

TEST(ResumableLines, GoesOnBehindWholeLines) {
  const TemporaryFolder folder;
  const auto file = folder / "out.txt";
  folder.write("out.txt.part", "one\ntwo\nthr");
  {
    ResumableLines lines(file);
    EXPECT_EQ(lines.lines(), 2);
    lines.append(Lines{"three"});
    lines.keep(7);  // there are only three
    EXPECT_EQ(lines.lines(), 3);
    lines.keep(1);
    EXPECT_EQ(lines.lines(), 1);
    lines.append(Lines{"2"});
  }
  EXPECT_EQ(read_file(folder / "out.txt.part"), "one\n2\n");
  ResumableLines empty(folder / "other.txt");
  EXPECT_EQ(empty.lines(), 0);
  empty.keep(0);
  empty.commit();
  EXPECT_EQ(read_file(folder / "other.txt"), "");
}

TEST(ResumableLines, GzipByTheName) {
  const TemporaryFolder folder;
  const auto file = folder / "out.gz";
  Lines written;
  for (int i = 0; i < 50000; ++i) {
    written.push_back("line " + std::to_string(i));
  }
  ResumableLines lines(file);
  lines.append(written);
  lines.commit();
  EXPECT_EQ(read_file(file).substr(0, 2), "\x1f\x8b");
  EXPECT_EQ(read_lines(file), written);
  EXPECT_FALSE(std::filesystem::exists(folder / "out.gz.part"));
}

TEST(ResumableLines, OneProcessAtATime) {
  const TemporaryFolder folder;
  const ResumableLines first(folder / "out.txt");
  expect_error([&] { ResumableLines(folder / "out.txt"); },
               "[lines] " + (folder / "out.txt.part").string() +
                   ": another process is writing it; wait until it has ended, or end it");
  EXPECT_TRUE(error_of([&] {
                ResumableLines(folder / "none/out.txt");
              }).ends_with("out.txt.part: No such file or directory"));
}

}  // namespace
}  // namespace heed::testing
