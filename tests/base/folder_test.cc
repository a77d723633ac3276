// Folders: written as a whole, locked, and what is left behind when that fails.
#include "base/folder.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "base/file.h"
#include "support/error_of.h"
#include "support/text_files.h"

namespace heed::testing {
namespace {

namespace fs = std::filesystem;

size_t entries_of(const fs::path& folder) {
  return static_cast<size_t>(
      std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

TEST(AtomicFolder, HasItsNameOnlyWhenItIsWhole) {
  const TemporaryFolder folder;
  {
    const AtomicFolder made(folder / "new/run");
    write_file(made.path() / "x", "half");
    EXPECT_FALSE(fs::exists(folder / "new/run"));
  }
  EXPECT_EQ(entries_of(folder / "new"), 0U);
  AtomicFolder made(folder / "new/run/");
  write_file(made.path() / "x", "whole");
  made.commit();
  EXPECT_EQ(read_file(folder / "new/run/x"), "whole");
  EXPECT_EQ(entries_of(folder / "new"), 1U);
}

TEST(AtomicFolder, ReplacesAnEarlierFolder) {
  const TemporaryFolder folder;
  for (const char* text : {"first", "second"}) {
    AtomicFolder made(folder / "run");
    write_file(made.path() / text, text);
    made.commit();
  }
  EXPECT_EQ(read_file(folder / "run/second"), "second");
  EXPECT_EQ(entries_of(folder / "run"), 1U);
  EXPECT_EQ(entries_of(folder / ""), 1U);
  folder.write("file", "is no folder");
  AtomicFolder made(folder / "file");
  EXPECT_NE(error_of([&] { made.commit(); }).find("Not a directory"), std::string::npos);
  EXPECT_EQ(read_file(folder / "file"), "is no folder");
}

// Errors name the folder that was asked for, not the one that is filled first.
TEST(AtomicFolder, ErrorsNameIt) {
  const TemporaryFolder folder;
  const std::string inside = (folder.write("file", "is no folder") / "run").string();
  const std::string expected = "[file] cannot make the folder " + inside + ": Not a directory";
  EXPECT_EQ(error_of([&] { const AtomicFolder made(inside); }), expected);
  EXPECT_EQ(error_of([&] { const NewFolder made(inside); }), expected);
  EXPECT_EQ(error_of([&] { make_folders(inside); }), expected);
}

// What a program leaves that ends in the middle of writing: nothing, if it says so.
TEST(AbandonUnfinishedFiles, RemovesWhatHasNoNameYet) {
  const TemporaryFolder folder;
  const pid_t child = ::fork();
  if (child == 0) {
    const AtomicFile file(folder / "file");
    const AtomicFolder inside(folder / "inside");
    write_file(inside.path() / "x", "half");
    abandon_unfinished_files();
    ::_exit(fs::is_empty(folder / "") ? 0 : 1);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST(FolderLock, NamesTheProcessThatHasIt) {
  const TemporaryFolder folder;
  EXPECT_FALSE(FolderLock::is_held(folder / ""));
  {
    const FolderLock lock(folder / "");
    EXPECT_TRUE(FolderLock::is_held(folder / ""));
    expect_error(
        [&] { const FolderLock second(folder / ""); },
        fmt::format("[file] {} is in use by process {}; wait until it has ended, or end it",
                    (folder / "").string(), ::getpid()));
  }
  EXPECT_EQ(entries_of(folder / ""), 0U);
  EXPECT_FALSE(FolderLock::is_held(folder / ""));
  const FolderLock again(folder / "");
}

TEST(FolderLock, VanishesWithItsProcess) {
  const TemporaryFolder folder;
  const pid_t child = ::fork();
  if (child == 0) {
    const FolderLock lock(folder / "");
    ::kill(::getpid(), SIGKILL);
  }
  ::waitpid(child, nullptr, 0);
  EXPECT_TRUE(fs::exists(folder / FolderLock::kFile));
  EXPECT_FALSE(FolderLock::is_held(folder / ""));
  const FolderLock lock(folder / "");
  EXPECT_EQ(read_file(folder / FolderLock::kFile), fmt::format("{}\n", ::getpid()));
}

TEST(NewFolder, GoesAwayUnlessItIsKept) {
  const TemporaryFolder folder;
  {
    const NewFolder made(folder / "a/b");
    write_file(folder / "a/b/x", "");
  }
  EXPECT_FALSE(fs::exists(folder / "a"));
  {
    NewFolder made(folder / "a/b");
    made.keep();
    const NewFolder inside(folder / "a/b");  // is there already
  }
  EXPECT_TRUE(fs::exists(folder / "a/b"));
}

}  // namespace
}  // namespace heed::testing
