#include "data/fetch.h"

#include <gtest/gtest.h>

#include "base/config.h"
#include "base/download.h"
#include "base/encoding/gzip.h"
#include "base/encoding/sha256.h"
#include "base/file.h"
#include "support/archives.h"
#include "support/error_of.h"
#include "support/file_server.h"
#include "support/text_files.h"

namespace heed {
namespace {

namespace fs = std::filesystem;
using testing::error_of;
using testing::FileServer;
using testing::gzip_of;
using testing::tar_member;
using testing::TemporaryFolder;
using testing::zip_of;

std::string sum_of(const std::string& text) {
  Sha256 sum;
  sum.update(std::as_bytes(std::span(text)));
  return sum.hex();
}

class FetchTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string error =
        error_of([&] { download({.url = server_.url("/none"), .file = folder_ / "none"}); });
    if (error.find("libcurl") != std::string::npos) {
      GTEST_SKIP() << error;
    }
  }
  // A set of one address.
  DataSet set_of(DataSource source) const {
    source.url = server_.url(source.url);
    return {
        .name = "set", .what = "w", .licence = "l", .recipes = "r", .sources = {std::move(source)}};
  }
  bool fetch(const DataSet& set, bool force = false) {
    said_.clear();
    return fetch_data_set(
        set, {.folder = folder_ / "data",
              .force = force,
              .fetched = [&](const FetchedSource& source) { said_.push_back(source); }});
  }
  std::string error(const DataSet& set) {
    return error_of([&] { fetch(set); });
  }
  fs::path file(const std::string& name) const { return folder_ / "data" / "set" / name; }
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::recursive_directory_iterator(folder_ / "data" / "set")) {
      if (!entry.is_directory()) {
        names.push_back(fs::relative(entry.path(), folder_ / "data" / "set").string());
      }
    }
    std::sort(names.begin(), names.end());
    return names;
  }
  using Names = std::vector<std::string>;

  FileServer server_;
  TemporaryFolder folder_;
  std::vector<FetchedSource> said_;
};

TEST_F(FetchTest, AFileThatIsRightGetsItsName) {
  server_.put("/a.txt", {.bytes = "some text"});
  const DataSet set =
      set_of({.url = "/a.txt", .file = "b.txt", .bytes = 9, .sha256 = sum_of("some text")});
  EXPECT_FALSE(has_data_set(set, folder_ / "data"));
  EXPECT_TRUE(fetch(set));
  EXPECT_EQ(read_file(file("b.txt")), "some text");
  EXPECT_EQ(names(), (Names{"b.txt", "fetched.json"}));
  ASSERT_EQ(said_.size(), 1U);
  EXPECT_TRUE(said_[0].checked);
  EXPECT_EQ(said_[0].bytes, 9);
  EXPECT_TRUE(has_data_set(set, folder_ / "data"));
}

TEST_F(FetchTest, WhatIsThereIsKeptUnlessForced) {
  server_.put("/a.txt", {.bytes = "new"});
  const DataSet set = set_of({.url = "/a.txt", .file = "a.txt"});
  fs::create_directories(folder_ / "data" / "set");
  write_file(file("a.txt"), "mine");
  EXPECT_TRUE(fetch(set));
  EXPECT_EQ(read_file(file("a.txt")), "mine");
  ASSERT_EQ(said_.size(), 1U);
  EXPECT_EQ(said_[0].sha256, "");
  EXPECT_TRUE(fetch(set, true));
  EXPECT_EQ(read_file(file("a.txt")), "new");
}

TEST_F(FetchTest, AWrongChecksumLeavesNothing) {
  server_.put("/a.txt", {.bytes = "wrong"});
  const DataSet set =
      set_of({.url = "/a.txt", .file = "a.txt", .bytes = 5, .sha256 = sum_of("right")});
  EXPECT_EQ(error(set), "[data] " + server_.url("/a.txt") + " has the SHA-256 " + sum_of("wrong") +
                            ", expected " + sum_of("right") + "; it is not kept");
  EXPECT_EQ(names(), Names{});
  server_.put("/a.txt", {.bytes = "right"});  // and the next call begins anew
  EXPECT_TRUE(fetch(set));
  EXPECT_EQ(read_file(file("a.txt")), "right");
}

TEST_F(FetchTest, WithoutAChecksumItRecordsWhatCame) {
  server_.put("/a.txt", {.bytes = "some text"});
  const DataSet set = set_of({.url = "/a.txt", .file = "a.txt"});
  EXPECT_TRUE(fetch(set));
  EXPECT_FALSE(said_.at(0).checked);
  const Json record = Json::parse(read_file(file("fetched.json")));
  EXPECT_EQ(record.at(server_.url("/a.txt")).at("sha256"), sum_of("some text"));
  EXPECT_EQ(record.at(server_.url("/a.txt")).at("bytes"), 9);
}

TEST_F(FetchTest, PacksWhatRecipesReadPacked) {
  const std::string text(100'000, 'x');
  server_.put("/a.txt", {.bytes = text});
  EXPECT_TRUE(fetch(set_of({.url = "/a.txt", .file = "a.txt.gz", .sha256 = sum_of(text)})));
  EXPECT_LT(fs::file_size(file("a.txt.gz")), 1000U);
  EXPECT_EQ(read_unpacked(file("a.txt.gz"), text.size()), text);
  server_.put("/b.gz", {.bytes = gzip_of(text)});  // already packed
  EXPECT_TRUE(fetch(set_of({.url = "/b.gz", .file = "b.gz"})));
  EXPECT_EQ(read_file(file("b.gz")), gzip_of(text));
  EXPECT_EQ(names(), (Names{"a.txt.gz", "b.gz", "fetched.json"}));
}

TEST_F(FetchTest, TarsGiveTheirMembers) {
  const std::string archive =
      gzip_of(tar_member("top/1.bin", "one") + tar_member("top/2.bin", "two") +
              tar_member("top/readme", "r") + testing::tar_end());
  server_.put("/a.tar.gz", {.bytes = archive});
  const DataSet set =
      set_of({.url = "/a.tar.gz",
              .sha256 = sum_of(archive),
              .members = {{.from = "top/1.bin", .to = "1.bin", .sha256 = sum_of("one")},
                          {.from = "top/2.bin", .to = "2.bin.gz"}}});
  EXPECT_TRUE(fetch(set));
  EXPECT_EQ(names(), (Names{"1.bin", "2.bin.gz", "fetched.json"}));
  EXPECT_EQ(read_file(file("1.bin")), "one");
  EXPECT_EQ(read_unpacked(file("2.bin.gz"), 10), "two");
}

TEST_F(FetchTest, TarsGiveAllWithAnEnding) {
  const std::string archive =
      gzip_of(tar_member("commit/Bach/a.mid", "a") + tar_member("commit/Bach/score.mid", "s") +
              tar_member("commit/Liszt/x/b.mid", "b") + tar_member("commit/readme.md", "r"));
  server_.put("/a.tar.gz", {.bytes = archive});
  const DataSet set = set_of({.url = "/a.tar.gz", .suffix = ".mid", .but_for = "score.mid"});
  EXPECT_FALSE(has_data_set(set, folder_ / "data"));
  EXPECT_TRUE(fetch(set));
  EXPECT_EQ(names(), (Names{"Bach/a.mid", "Liszt/x/b.mid", "fetched.json"}));
  EXPECT_TRUE(has_data_set(set, folder_ / "data"));
  EXPECT_TRUE(fetch(set));
  EXPECT_EQ(said_.at(0).sha256, "");  // it was there
}

TEST_F(FetchTest, FilesPutThereByHandAreKeptAndThoseOfAHalfUnpackedArchiveAreNotEnough) {
  const std::string archive = gzip_of(tar_member("top/a.mid", "a") + tar_member("top/b.mid", "b"));
  server_.put("/a.tar.gz", {.bytes = archive});
  const DataSet set = set_of({.url = "/a.tar.gz", .suffix = ".mid"});
  fs::create_directories(file("x"));
  write_file(file("x/mine.mid"), "mine");
  EXPECT_TRUE(has_data_set(set, folder_ / "data"));
  fs::remove(file("x/mine.mid"));
  int turns = 0;
  const auto stops_at_b = [&](const std::string&, int64_t done, int64_t total) {
    return done == 0 || done < total || ++turns < 3;
  };
  while (turns < 3) {  // the transfer itself may be done in one turn or two
    EXPECT_FALSE(fetch_data_set(set, {.folder = folder_ / "data", .progress = stops_at_b}));
  }
  EXPECT_FALSE(has_data_set(set, folder_ / "data"));
  EXPECT_TRUE(fetch(set));
  EXPECT_EQ(names(), (Names{"a.mid", "b.mid", "fetched.json"}));
  EXPECT_TRUE(has_data_set(set, folder_ / "data"));
}

TEST_F(FetchTest, ZipsGiveTheirMembers) {
  server_.put("/a.zip", {.bytes = zip_of({{.name = "d/train.tsv", .content = "text"},
                                          {.name = "d/else", .content = "else"}})});
  DataSet set = set_of(
      {.url = "/a.zip",
       .members = {{.from = "d/train.tsv", .to = "train.tsv.gz", .sha256 = sum_of("text")}}});
  EXPECT_TRUE(fetch(set));
  EXPECT_TRUE(said_.at(0).checked);  // by its only member
  EXPECT_EQ(names(), (Names{"fetched.json", "train.tsv.gz"}));
  EXPECT_EQ(read_unpacked(file("train.tsv.gz"), 10), "text");
}

TEST_F(FetchTest, BadArchivesAreErrors) {
  const std::vector<DataMember> one = {{.from = "a", .to = "a"}};
  server_.put("/junk.tar.gz", {.bytes = std::string(2000, 'x')});
  EXPECT_NE(error(set_of({.url = "/junk.tar.gz", .members = one})).find("[tar]"),
            std::string::npos);
  server_.put("/junk.zip", {.bytes = std::string(2000, 'x')});
  EXPECT_NE(error(set_of({.url = "/junk.zip", .members = one})).find("not a zip archive"),
            std::string::npos);
  server_.put("/cut.tar.gz",
              {.bytes = gzip_of(tar_member("b", std::string(9000, 'b'))).substr(0, 40)});
  EXPECT_NE(error(set_of({.url = "/cut.tar.gz", .members = one})).find("cut off"),
            std::string::npos);
  server_.put("/up.tar.gz", {.bytes = gzip_of(tar_member("top/../../../up.mid", "x"))});
  EXPECT_NE(
      error(set_of({.url = "/up.tar.gz", .suffix = ".mid"})).find("not that of a file inside"),
      std::string::npos);
  server_.put("/link.tar.gz", {.bytes = gzip_of(tar_member("top/a.mid", "", {.type = '2'}))});
  EXPECT_NE(error(set_of({.url = "/link.tar.gz", .suffix = ".mid"})).find("is a link"),
            std::string::npos);
  server_.put("/less.tar.gz", {.bytes = gzip_of(tar_member("b", "b") + testing::tar_end())});
  EXPECT_NE(error(set_of({.url = "/less.tar.gz", .members = one})).find("has 0 of the files"),
            std::string::npos);
  server_.put("/wrong.zip", {.bytes = zip_of({{.name = "a", .content = "wrong"}})});
  const DataSet wrong = set_of(
      {.url = "/wrong.zip", .members = {{.from = "a", .to = "a", .sha256 = sum_of("right")}}});
  EXPECT_EQ(error(wrong), "[data] a has the SHA-256 " + sum_of("wrong") + ", expected " +
                              sum_of("right") + "; it is not kept");
  EXPECT_EQ(names(), Names{"fetched.json"});
}

TEST_F(FetchTest, StoppedAndInterruptedTransfersGoOn) {
  const std::string text(50'000, 'y');
  server_.put("/a.txt", {.bytes = text, .closes_after = 20'000});
  const DataSet set = set_of({.url = "/a.txt", .file = "a.txt", .sha256 = sum_of(text)});
  EXPECT_NE(error(set).find("run the command again"), std::string::npos);
  EXPECT_EQ(names(), (Names{"a.txt.part", "a.txt.part.json"}));
  EXPECT_FALSE(fetch_data_set(
      set, {.folder = folder_ / "data", .progress = [](const std::string& file, int64_t, int64_t) {
              EXPECT_EQ(file, "set/a.txt");
              return false;
            }}));
  server_.put("/a.txt", {.bytes = text});
  EXPECT_TRUE(fetch(set));
  EXPECT_EQ(read_file(file("a.txt")), text);
  EXPECT_EQ(server_.ranges().back(), "bytes=20000-");
  EXPECT_EQ(names(), (Names{"a.txt", "fetched.json"}));
}

TEST_F(FetchTest, AMirrorHasTheSameFiles) {
  server_.put("/m/set/a.txt", {.bytes = "text"});
  DataSet set = set_of({.url = "/a.txt", .file = "a.txt"});
  set.sources[0].url = "https://example.invalid/deep/a.txt";
  EXPECT_TRUE(fetch_data_set(set, {.folder = folder_ / "data", .mirror = server_.url("/m")}));
  EXPECT_EQ(read_file(file("a.txt")), "text");
}

TEST_F(FetchTest, SetsThatAreMadeSayHow) {
  EXPECT_EQ(error({.name = "d", .what = "", .licence = "", .recipes = "", .made_by = "tools/x.sh"}),
            "[data] d is not fetched but made: run tools/x.sh");
}

}  // namespace
}  // namespace heed
