#include "base/download.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/resource.h>

#include <csignal>

#include "base/file.h"
#include "support/error_of.h"
#include "support/file_server.h"
#include "support/text_files.h"

namespace heed {
namespace {

using testing::error_of;
using testing::FileServer;
using testing::TemporaryFolder;
using Ranges = std::vector<std::string>;

std::string some_bytes() {
  std::string bytes;
  for (int64_t i = 0; i < 100'000; ++i) {
    bytes += static_cast<char>(i * i % 251);
  }
  return bytes;
}

class DownloadTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string error = error_of([&] { download(request("/none")); });
    if (error.find("libcurl") != std::string::npos) {
      GTEST_SKIP() << error;
    }
  }
  Download request(const std::string& path, int64_t bytes = 0) const {
    return {.url = server_.url(path), .file = folder_ / "f.part", .bytes = bytes};
  }
  std::string error(const std::string& path, int64_t bytes = 0) const {
    return error_of([&] { download(request(path, bytes)); });
  }
  // Without that of SetUp().
  Ranges ranges() {
    const Ranges all = server_.ranges();
    return {all.begin() + 1, all.end()};
  }

  FileServer server_;
  TemporaryFolder folder_;
  const std::string bytes_ = some_bytes();
};

TEST_F(DownloadTest, WholeFiles) {
  server_.put("/f", {.bytes = bytes_});
  EXPECT_TRUE(download(request("/f")));
  EXPECT_EQ(read_file(folder_ / "f.part"), bytes_);
  forget_download(folder_ / "f.part");
  EXPECT_TRUE(std::filesystem::is_empty(folder_ / ""));
  server_.put("/empty", {.bytes = ""});
  EXPECT_TRUE(download(request("/empty")));
  EXPECT_EQ(read_file(folder_ / "f.part"), "");
  server_.put("/open", {.bytes = bytes_, .says_length = false});
  EXPECT_TRUE(download(request("/open", std::ssize(bytes_))));
  EXPECT_EQ(read_file(folder_ / "f.part"), bytes_);
}

TEST_F(DownloadTest, GoesOnWhereTheServerStopped) {
  server_.put("/f", {.bytes = bytes_, .closes_after = 30'000});
  EXPECT_NE(error("/f").find("run the command again to fetch the rest"), std::string::npos);
  EXPECT_EQ(read_file(folder_ / "f.part"), bytes_.substr(0, 30'000));
  EXPECT_NE(error("/f").find("run the command again"), std::string::npos);
  server_.put("/f", {.bytes = bytes_});
  EXPECT_TRUE(download(request("/f")));
  EXPECT_EQ(read_file(folder_ / "f.part"), bytes_);
  EXPECT_EQ(ranges(), (Ranges{"all", "bytes=30000-", "bytes=60000-"}));
}

TEST_F(DownloadTest, BeginsAnewIfTheFileChanged) {
  server_.put("/f", {.bytes = bytes_, .closes_after = 30'000});
  EXPECT_NE(error("/f"), "no error");
  server_.put("/f", {.bytes = "another file", .etag = "\"two\""});
  EXPECT_TRUE(download(request("/f")));
  EXPECT_EQ(read_file(folder_ / "f.part"), "another file");
}

TEST_F(DownloadTest, BeginsAnewWithoutRangesOrVersions) {
  for (const bool ranges : {false, true}) {
    std::filesystem::remove(folder_ / "f.part");
    const std::string etag = ranges ? "" : "\"one\"";
    server_.put("/f", {.bytes = bytes_, .etag = etag, .ranges = ranges, .closes_after = 30'000});
    EXPECT_NE(error("/f"), "no error");
    server_.put("/f", {.bytes = bytes_, .etag = etag, .ranges = ranges});
    EXPECT_TRUE(download(request("/f")));
    EXPECT_EQ(read_file(folder_ / "f.part"), bytes_);
  }
  EXPECT_EQ(ranges(), (Ranges{"all", "bytes=30000-", "all", "all"}));
}

// The note belongs to one address.
TEST_F(DownloadTest, ThePartOfAnotherAddressIsNotUsed) {
  server_.put("/a", {.bytes = std::string(1000, 'a'), .closes_after = 500});
  EXPECT_NE(error("/a"), "no error");
  server_.put("/b", {.bytes = bytes_});
  EXPECT_TRUE(download(request("/b")));
  EXPECT_EQ(read_file(folder_ / "f.part"), bytes_);
}

TEST_F(DownloadTest, WhatIsCompleteIsNotAskedForAgain) {
  server_.put("/f", {.bytes = bytes_});
  EXPECT_TRUE(download(request("/f")));
  EXPECT_TRUE(download(request("/f", std::ssize(bytes_))));
  EXPECT_EQ(ranges(), Ranges{"all"});
  // Whoever does not know the size asks the server, which has no more.
  EXPECT_TRUE(download(request("/f")));
  EXPECT_EQ(ranges(), (Ranges{"all", "bytes=100000-"}));
  EXPECT_EQ(read_file(folder_ / "f.part"), bytes_);
}

TEST_F(DownloadTest, RedirectsAreFollowed) {
  server_.put("/f", {.bytes = bytes_, .closes_after = 30'000});
  server_.put("/moved", {.redirect = server_.url("/f")});
  EXPECT_NE(error("/moved"), "no error");
  server_.put("/f", {.bytes = bytes_});
  EXPECT_TRUE(download(request("/moved")));
  EXPECT_EQ(read_file(folder_ / "f.part"), bytes_);
  server_.put("/circle", {.redirect = server_.url("/circle")});
  EXPECT_NE(error("/circle").find("redirects"), std::string::npos);
  server_.put("/file", {.redirect = "file:///etc/passwd"});
  EXPECT_NE(error("/file"), "no error");
}

TEST_F(DownloadTest, AnswersThatAreErrors) {
  EXPECT_EQ(error("/none"),
            "[download] " + server_.url("/none") + ": the server answers 404 Not Found");
  server_.put("/busy", {.bytes = "try later", .status = "503 Service Unavailable"});
  EXPECT_EQ(error("/busy"),
            "[download] " + server_.url("/busy") + ": the server answers 503 Service Unavailable");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "f.part"));  // no page in the place of data
  EXPECT_NE(error_of([&] { download({.url = "file:///etc/passwd", .file = folder_ / "p"}); }),
            "no error");
  EXPECT_NE(error_of([&] {
              download({.url = "http://127.0.0.1:1/f", .file = folder_ / "p"});
            }).find("is there a network connection?"),
            std::string::npos);
}

TEST_F(DownloadTest, AWrongSizeIsAnErrorBeforeItIsWritten) {
  server_.put("/f", {.bytes = bytes_});
  EXPECT_EQ(error("/f", 5), "[download] " + server_.url("/f") + " has 100000 bytes, expected 5");
  server_.put("/open", {.bytes = bytes_, .says_length = false});
  EXPECT_EQ(error("/open", 5), "[download] " + server_.url("/open") + " gives more than 5 bytes");
  EXPECT_EQ(error("/open", 200'000),
            "[download] " + server_.url("/open") + " gave 100000 bytes, expected 200000");
}

TEST_F(DownloadTest, StopsAndGoesOn) {
  server_.put("/f", {.bytes = bytes_, .closes_after = 30'000});
  EXPECT_NE(error("/f"), "no error");
  server_.put("/f", {.bytes = bytes_});
  Download stopped = request("/f");
  stopped.progress = [](int64_t, int64_t) { return false; };
  EXPECT_FALSE(download(stopped));
  EXPECT_GE(std::filesystem::file_size(folder_ / "f.part"), 30'000U);
  Download watched = request("/f");
  int64_t last = 0;
  watched.progress = [&](int64_t done, int64_t total) {
    EXPECT_GE(done, last);
    EXPECT_TRUE(total == 0 || total == 100'000);
    last = done;
    return true;
  };
  EXPECT_TRUE(download(watched));
  EXPECT_EQ(last, 100'000);
  EXPECT_EQ(read_file(folder_ / "f.part"), bytes_);
}

TEST_F(DownloadTest, AFullDiskIsAnErrorAndTheRestComesLater) {
  server_.put("/f", {.bytes = bytes_});
  rlimit before = {};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto old = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{.rlim_cur = 20'000, .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const std::string text = error("/f");
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, old);
  EXPECT_EQ(text, "[download] cannot write " + (folder_ / "f.part").string() +
                      ": File too large; what came before is kept");
  EXPECT_EQ(std::filesystem::file_size(folder_ / "f.part"), 20'000U);
  EXPECT_TRUE(download(request("/f")));
  EXPECT_EQ(read_file(folder_ / "f.part"), bytes_);
  EXPECT_EQ(ranges(), (Ranges{"all", "bytes=20000-"}));
}

TEST_F(DownloadTest, TwoProgramsDoNotWriteOneFile) {
  server_.put("/f", {.bytes = bytes_});
  const int other = ::open((folder_ / "f.part").c_str(), O_WRONLY | O_CREAT, 0644);
  ASSERT_EQ(::flock(other, LOCK_EX), 0);
  EXPECT_NE(error("/f").find("another program is writing"), std::string::npos);
  ::close(other);
  EXPECT_TRUE(download(request("/f")));
}

}  // namespace
}  // namespace heed
