#include "formats/zip.h"

#include <gtest/gtest.h>

#include <map>

#include "support/archives.h"
#include "support/error_of.h"

namespace heed {
namespace {

using testing::error_of;
using testing::zip_of;
using testing::ZipEntry;

std::map<std::string, std::string> unpack(const std::string& archive) {
  const ZipFile zip(std::as_bytes(std::span(archive)), "z.zip");
  std::map<std::string, std::string> files;
  for (const ZipFile::Member& member : zip.members()) {
    files[member.name] = testing::text_of_stream(zip.open(member));
  }
  return files;
}

TEST(Zip, StoredAndDeflatedMembers) {
  const std::string text(100'000, 'x');
  const auto files = unpack(zip_of({{.name = "folder/", .content = "", .deflated = false},
                                    {.name = "folder/a", .content = text},
                                    {.name = "b", .content = text, .deflated = false},
                                    {.name = "empty", .content = ""}}));
  EXPECT_EQ(files,
            (std::map<std::string, std::string>{{"folder/a", text}, {"b", text}, {"empty", ""}}));
  EXPECT_TRUE(unpack(zip_of({})).empty());
}

TEST(Zip, ACommentMayFollow) {
  std::string archive = zip_of({{.name = "a", .content = "1"}});
  archive[archive.size() - 2] = 5;  // its length
  EXPECT_EQ(unpack(archive + "hello").size(), 1U);
}

TEST(Zip, WhatIsNotAPlainFileIsAnError) {
  for (const std::string name : {"/etc/passwd", "../up", "a/../../up", "a\\..\\up"}) {
    EXPECT_NE(error_of([&] {
                unpack(zip_of({{.name = name, .content = "x"}}));
              }).find("not that of a file inside"),
              std::string::npos)
        << name;
  }
  EXPECT_EQ(error_of([&] { unpack(zip_of({{.name = "l", .content = "/etc", .mode = 0120777}})); }),
            "[zip] z.zip: l is a link, expected regular files");
  EXPECT_EQ(error_of([&] { unpack(zip_of({{.name = "e", .content = "x", .flags = 1}})); }),
            "[zip] z.zip: e is encrypted");
}

TEST(Zip, SizesAreKept) {
  const std::string bomb =
      zip_of({{.name = "a", .content = std::string(1 << 22, 'x'), .said_size = 100}});
  EXPECT_EQ(error_of([&] { unpack(bomb); }),
            "[zip] z.zip: a unpacks to more than the 100 bytes it should have");
  const std::string less = zip_of({{.name = "a", .content = "xyz", .said_size = 100}});
  EXPECT_NE(error_of([&] { unpack(less); }).find("is damaged: 3 bytes"), std::string::npos);
}

TEST(Zip, DamagedArchivesAreErrors) {
  const std::string good = zip_of({{.name = "a", .content = "some text to pack, to pack, to pack"},
                                   {.name = "b", .content = "stored", .deflated = false}});
  for (size_t size = 0; size < good.size(); ++size) {
    EXPECT_EQ(error_of([&] { unpack(good.substr(0, size)); }),
              "[zip] z.zip is not a zip archive, or it is cut off");
  }
  for (size_t at = 0; at < good.size(); ++at) {  // nothing may be read beyond the bytes
    for (const char value : {'\0', '\x7F', '\xFF'}) {
      std::string wrong = good;
      wrong[at] = value;
      error_of([&] { unpack(wrong); });
    }
  }
  std::string wrong = good;
  wrong[good.find("stored")] = 'S';
  EXPECT_NE(error_of([&] { unpack(wrong); }).find("b is damaged: 6 bytes with CRC"),
            std::string::npos);
}

}  // namespace
}  // namespace heed
