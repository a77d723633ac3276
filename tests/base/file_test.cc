// Files: whole, mapped, written atomically; what is left behind when that fails, and the errors.
#include "base/file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cerrno>
#include <csignal>

#include "support/error_of.h"
#include "support/text_files.h"

namespace heed::testing {
namespace {

namespace fs = std::filesystem;

std::string text_of(const MappedFile& file) {
  const auto bytes = file.bytes();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

size_t entries_of(const fs::path& folder) {
  return static_cast<size_t>(
      std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

TEST(MappedFile, HoldsTheBytes) {
  const TemporaryFolder folder;
  const std::string bytes("a\0b\n\xFF", 5);
  const MappedFile file(folder.write("x", bytes));
  EXPECT_EQ(text_of(file), bytes);
  EXPECT_EQ(file.path(), folder / "x");
}

TEST(MappedFile, EmptyFile) {
  const TemporaryFolder folder;
  EXPECT_TRUE(MappedFile(folder.write("empty", "")).bytes().empty());
}

TEST(MappedFile, Errors) {
  const TemporaryFolder folder;
  expect_error([&] { MappedFile file(folder / "none"); },
               "[file] cannot open " + (folder / "none").string() + ": No such file or directory");
  fs::create_directory(folder / "inside");
  expect_error([&] { MappedFile file(folder / "inside"); },
               "[file] " + (folder / "inside").string() + " is a folder, expected a regular file");
}

TEST(ReadFile, WholeFiles) {
  const TemporaryFolder folder;
  const std::string bytes("\0\r\n\x1A text", 9);
  EXPECT_EQ(read_file(folder.write("x", bytes)), bytes);
  EXPECT_EQ(read_file(folder.write("empty", "")), "");
}

TEST(ReadFile, Errors) {
  const TemporaryFolder folder;
  expect_error([&] { read_file(folder / "none"); },
               "[file] cannot open " + (folder / "none").string() + ": No such file or directory");
  fs::create_directory(folder / "inside");
  expect_error([&] { read_file(folder / "inside"); },
               "[file] " + (folder / "inside").string() + " is a folder, expected a regular file");
  const fs::path endless = folder / std::string(5000, 'x');
  expect_error([&] { read_file(endless); },
               "[file] cannot open " + endless.string() + ": File name too long");
}

// Nobody writes to the pipe: opening it as a file is opened would wait for ever.
TEST(ReadFile, PipesDevicesAndEndlessFilesAreErrors) {
  const TemporaryFolder folder;
  const fs::path pipe = folder / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const std::string expected = "[file] " + pipe.string() + " is a pipe, expected a regular file";
  expect_error([&] { read_file(pipe); }, expected);
  expect_error([&] { const MappedFile file(pipe); }, expected);
  expect_error([&] { read_file("/dev/zero"); },
               "[file] /dev/zero is a device or socket, expected a regular file");
  const fs::path huge = folder.write("huge", "");
  fs::resize_file(huge, size_t{1} << 40);  // takes no room on the disk
  expect_error([&] { read_file(huge); },
               "[file] " + huge.string() +
                   " has more than 268435456 bytes, which is too much for a file that is read "
                   "whole");
}

TEST(WriteFile, WritesAndReplaces) {
  const TemporaryFolder folder;
  const fs::path file = folder / "x";
  write_file(file, "first, and longer");
  EXPECT_EQ(read_file(file), "first, and longer");
  write_file(file, "second");
  EXPECT_EQ(read_file(file), "second");
  write_file(file, "");
  EXPECT_EQ(read_file(file), "");
  EXPECT_EQ(entries_of(file.parent_path()), 1U);
}

TEST(WriteFile, Errors) {
  const TemporaryFolder folder;
  const fs::path orphan = folder / "none" / "x";
  const std::string missing = error_of([&] { write_file(orphan, "a"); });
  EXPECT_EQ(missing, "[file] cannot open " + orphan.string() + ": No such file or directory");

  fs::create_directory(folder / "inside");
  const std::string over = error_of([&] { write_file(folder / "inside", "a"); });
  EXPECT_TRUE(over.starts_with("[file] cannot rename ")) << over;
  EXPECT_TRUE(over.ends_with(" to " + (folder / "inside").string() + ": Is a directory")) << over;
  EXPECT_EQ(entries_of((folder / "inside").parent_path()), 1U);  // no temporary file stays
  EXPECT_TRUE(fs::is_directory(folder / "inside"));
}

TEST(AtomicFile, NothingChangesWithoutCommit) {
  const TemporaryFolder folder;
  const fs::path file = folder.write("x", "before");
  {
    AtomicFile atomic(file);
    atomic.write("after");
    EXPECT_EQ(read_file(file), "before");
    EXPECT_EQ(entries_of(file.parent_path()), 2U);  // beside its place until then
  }
  EXPECT_EQ(read_file(file), "before");
  EXPECT_EQ(entries_of(file.parent_path()), 1U);
}

TEST(AtomicFile, WritesInParts) {
  const TemporaryFolder folder;
  const fs::path file = folder / "x";
  AtomicFile atomic(file);
  EXPECT_FALSE(fs::exists(file));
  atomic.write("one ");
  atomic.write(std::as_bytes(std::span("two", 3)));
  atomic.commit();
  EXPECT_EQ(read_file(file), "one two");
  EXPECT_EQ(entries_of(file.parent_path()), 1U);
}

TEST(AtomicFile, TwoWritersOfOneFile) {
  const TemporaryFolder folder;
  AtomicFile first(folder / "x");
  AtomicFile second(folder / "x");
  first.write("first");
  second.write("second");
  second.commit();
  first.commit();
  EXPECT_EQ(read_file(folder / "x"), "first");
  EXPECT_EQ(entries_of((folder / "x").parent_path()), 1U);
}

// A full disk, as far as the program can tell: the limit on the size of files.
TEST(AtomicFile, FailedWriteLeavesNothing) {
  const TemporaryFolder folder;
  const fs::path file = folder.write("x", "before");
  rlimit limit = {};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &limit), 0);
  const rlimit lower{.rlim_cur = 4096, .rlim_max = limit.rlim_max};
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &lower), 0);
  const std::string error = error_of([&] { write_file(file, std::string(10'000, 'x')); });
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(error, "[file] cannot write " + file.string() + ": File too large");
  EXPECT_EQ(read_file(file), "before");
  EXPECT_EQ(entries_of(file.parent_path()), 1U);
}

// The reason is that of the call that failed, not of one before it.
TEST(AtomicFile, CommittingTwiceIsAnError) {
  const TemporaryFolder folder;
  AtomicFile atomic(folder / "x");
  atomic.commit();
  errno = ENOENT;
  expect_error([&] { atomic.commit(); },
               "[file] cannot write " + (folder / "x").string() + ": Bad file descriptor");
}

TEST(AtomicFile, LinksStay) {
  const TemporaryFolder folder;
  const fs::path file = folder.write("x", "before");
  fs::create_symlink("x", folder / "link");
  write_file(folder / "link", "after");
  EXPECT_TRUE(fs::is_symlink(folder / "link"));
  EXPECT_EQ(read_file(file), "after");
  EXPECT_EQ(entries_of(file.parent_path()), 2U);
}

TEST(AtomicFile, DevicesAreWrittenTo) {
  const TemporaryFolder folder;
  fs::create_symlink("/dev/full", folder / "full");
  expect_error([&] { write_file(folder / "full", "x"); },
               "[file] cannot write /dev/full: No space left on device");
  fs::create_symlink("/dev/null", folder / "null");
  EXPECT_NO_THROW(write_file(folder / "null", "x"));
  EXPECT_TRUE(fs::is_character_file("/dev/full") && fs::is_character_file("/dev/null"));
  EXPECT_EQ(entries_of((folder / "null").parent_path()), 2U);
}

TEST(SyncFolder, Errors) {
  const TemporaryFolder folder;
  EXPECT_NO_THROW(sync_folder((folder / "x").parent_path()));
  EXPECT_NO_THROW(sync_folder(""));
  expect_error([&] { sync_folder(folder / "none"); },
               "[file] cannot open " + (folder / "none").string() + ": No such file or directory");
}

}  // namespace
}  // namespace heed::testing
