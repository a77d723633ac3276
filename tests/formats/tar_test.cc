#include "formats/tar.h"

#include <gtest/gtest.h>

#include <map>

#include "support/archives.h"
#include "support/error_of.h"

namespace heed {
namespace {

using testing::error_of;
using testing::pax_line;
using testing::stream_of_text;
using testing::tar_end;
using testing::tar_member;

constexpr int64_t kLimit = 1 << 20;

std::map<std::string, std::string> unpack(const std::string& archive, int64_t limit = kLimit,
                                          size_t step = 1000) {
  TarReader tar(stream_of_text(archive, step), "t.tar", limit);
  std::map<std::string, std::string> files;
  while (const auto member = tar.next()) {
    files[member->name] =
        testing::text_of_stream([&](std::span<std::byte> bytes) { return tar.read(bytes); });
    EXPECT_EQ(std::ssize(files[member->name]), member->size);
  }
  return files;
}

TEST(Tar, FilesComeOutWhateverTheirSize) {
  for (const size_t size : {0, 1, 511, 512, 513, 5000}) {
    const std::string content(size, 'x');
    const std::string archive = tar_member("folder/", "", {.type = '5'}) +
                                tar_member("folder/a", content) + tar_member("b", "bb") + tar_end();
    for (const size_t step : {1, 100, 100000}) {
      const auto files = unpack(archive, kLimit, step);
      EXPECT_EQ(files, (std::map<std::string, std::string>{{"folder/a", content}, {"b", "bb"}}));
    }
  }
}

TEST(Tar, MembersMayBeSkipped) {
  TarReader tar(stream_of_text(tar_member("a", std::string(700, 'a')) + tar_member("b", "bb")),
                "t.tar", kLimit);
  EXPECT_EQ(tar.next()->name, "a");
  std::array<std::byte, 10> some;
  EXPECT_EQ(tar.read(some), 10U);
  EXPECT_EQ(tar.next()->name, "b");
  EXPECT_EQ(tar.next(), std::nullopt);  // without blocks of zeros at its end, too
}

TEST(Tar, LongNames) {
  const std::string longer(150, 'n');
  const std::string global =
      tar_member("pax_global_header", pax_line("comment", "commit"), {.type = 'g'});
  EXPECT_TRUE(
      unpack(global + tar_member("f", "1", {.prefix = "some/folder"})).contains("some/folder/f"));
  EXPECT_TRUE(unpack(tar_member("x", pax_line("mtime", "1") + pax_line("path", "d/" + longer),
                                {.type = 'x'}) +
                     tar_member("short", "1"))
                  .contains("d/" + longer));
  EXPECT_TRUE(
      unpack(tar_member("././@LongLink", "d/" + longer + std::string(1, '\0'), {.type = 'L'}) +
             tar_member("short", "1"))
          .contains("d/" + longer));
  // It holds for one member only, and a size stands before the one of the header.
  const auto files =
      unpack(tar_member("x", pax_line("path", "y") + pax_line("size", "3"), {.type = 'x'}) +
             tar_member("a", "123", {.size = "00000000000"}) + tar_member("b", "4"));
  EXPECT_EQ(files, (std::map<std::string, std::string>{{"y", "123"}, {"b", "4"}}));
}

TEST(Tar, NamesThatLeadOutOfTheFolderAreErrors) {
  for (const std::string name :
       {"/etc/passwd", "../up", "a/../../up", "a/..", "./a", "a//b", "a\\b", "a\nb", ".."}) {
    EXPECT_NE(error_of([&] { unpack(tar_member(name, "x")); }).find("not that of a file inside"),
              std::string::npos)
        << name;
    EXPECT_NE(
        error_of([&] {
          unpack(tar_member("x", pax_line("path", name), {.type = 'x'}) + tar_member("ok", "x"));
        }).find("not that of a file inside"),
        std::string::npos)
        << name;
  }
}

TEST(Tar, LinksAndDevicesAreErrors) {
  for (const char type : {'1', '2', '3', '4', '6', 'S'}) {
    EXPECT_EQ(error_of([&] { unpack(tar_member("name", "", {.type = type})); }),
              "[tar] t.tar: name is a link or a device, expected regular files");
  }
}

TEST(Tar, TooMuchIsAnError) {
  const std::string archive =
      tar_member("a", std::string(600, 'a')) + tar_member("b", std::string(600, 'b'));
  EXPECT_EQ(unpack(archive, 1200).size(), 2U);
  EXPECT_EQ(error_of([&] { unpack(archive, 1199); }),
            "[tar] t.tar unpacks to more than it may: a member has 600 bytes, 599 are left");
  const std::string huge = std::string("\x80\x7F\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF", 12);
  EXPECT_EQ(error_of([&] { unpack(tar_member("a", "", {.size = huge})); }),
            "[tar] t.tar has a member that is too large");
  EXPECT_NE(error_of([&] {
              unpack(tar_member("x", std::string((1 << 20) + 1, 'x'), {.type = 'x'}), kLimit * 2);
            }).find("has a header of 1048577 bytes"),
            std::string::npos);
}

TEST(Tar, DamagedArchivesAreErrors) {
  const std::string good = tar_member("a", std::string(600, 'a')) + tar_end();
  for (size_t size = 1; size < 512 + 1024; ++size) {
    EXPECT_EQ(error_of([&] { unpack(good.substr(0, size)); }), "[tar] t.tar is cut off") << size;
  }
  std::string wrong = good;
  wrong[0] = 'b';
  EXPECT_EQ(error_of([&] { unpack(wrong); }),
            "[tar] t.tar is not a tar archive, or a header of it is damaged");
  EXPECT_NE(error_of([&] { unpack(std::string(512, 'x')); }).find("not an octal number"),
            std::string::npos);
  for (const std::string& pax :
       {std::string("5 a=b\n"), std::string("999 a=b\n"), std::string("x"), std::string("6 ab\n\n"),
        std::string("99999999999999999999 a=b\n"), std::string("3 \n")}) {
    EXPECT_EQ(error_of([&] { unpack(tar_member("x", pax, {.type = 'x'}) + tar_member("a", "")); }),
              "[tar] t.tar has a damaged pax header")
        << pax;
  }
  EXPECT_EQ(
      error_of([&] {
        unpack(tar_member("x", pax_line("size", "-3"), {.type = 'x'}) + tar_member("a", "123"));
      }),
      "[tar] t.tar has a member of size \"-3\"");
}

}  // namespace
}  // namespace heed
