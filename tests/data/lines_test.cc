#include "data/text/lines.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "base/file.h"
#include "support/error_of.h"
#include "support/text_files.h"

namespace heed {
namespace {

using testing::error_of;
using testing::TemporaryFolder;
using Lines = std::vector<std::string>;

TEST(Lines, EndWithLfOrCrlfAndTheLastOneMayGoWithout) {
  const TemporaryFolder folder;
  EXPECT_EQ(read_lines(folder.write("lf", "a\n\nb\n")), (Lines{"a", "", "b"}));
  EXPECT_EQ(read_lines(folder.write("crlf", "a\r\n\r\nb\r\n")), (Lines{"a", "", "b"}));
  EXPECT_EQ(read_lines(folder.write("open", "a\nb")), (Lines{"a", "b"}));
  EXPECT_EQ(read_lines(folder.write("inner", "a\rb\n")), (Lines{"a\rb"}));
  EXPECT_EQ(read_lines(folder.write("newline", "\n")), (Lines{""}));
  EXPECT_EQ(read_lines(folder.write("empty", "")), Lines{});
}

TEST(Lines, MayHoldAnyByte) {
  const TemporaryFolder folder;
  const std::string bytes("a\0b\xFF", 4);
  EXPECT_EQ(read_lines(folder.write("nul", bytes + "\nc\n")), (Lines{bytes, "c"}));
}

TEST(Lines, AreCounted) {
  const TemporaryFolder folder;
  LineReader reader(folder.write("file", "a\nb\nc"));
  EXPECT_EQ(reader.line_number(), 0);
  std::string line;
  for (int64_t i = 1; i <= 3; ++i) {
    EXPECT_TRUE(reader.next(line));
    EXPECT_EQ(reader.line_number(), i);
  }
  EXPECT_FALSE(reader.next(line));
  EXPECT_FALSE(reader.next(line));
  EXPECT_EQ(reader.line_number(), 3);
}

// Lines of all lengths around the size of the reader's buffer, CRLF across its border included.
TEST(Lines, AreTheSameFromGzip) {
  const TemporaryFolder folder;
  std::string text;
  Lines expected;
  for (const size_t length : {0, 1, 70'000, 262'141, 262'142, 262'143, 262'144, 262'145, 600'000}) {
    for (const char* const end : {"\n", "\r\n"}) {
      expected.emplace_back(length, static_cast<char>('a' + expected.size()));
      text += expected.back() + end;
    }
  }
  EXPECT_EQ(read_lines(folder.write("plain.gz", text)), expected);  // the name says nothing
  EXPECT_EQ(read_lines(folder.write_gzip("zipped", text)), expected);
}

TEST(Lines, OfConcatenatedGzipFilesFollowEachOther) {
  const TemporaryFolder folder;
  const std::string first = read_file(folder.write_gzip("1", "a\nb\n"));
  const std::string second = read_file(folder.write_gzip("2", "c\n"));
  EXPECT_EQ(read_lines(folder.write("both", first + second)), (Lines{"a", "b", "c"}));
}

std::string many_lines() {
  std::string text;
  for (int i = 0; i < 20'000; ++i) {
    text += std::to_string(i * 7919 % 104'729) + "\n";
  }
  return text;
}

// Wherever the file is cut off, nobody takes what is left for the whole.
TEST(Lines, OfTruncatedGzipAreAnError) {
  const TemporaryFolder folder;
  const std::string text = many_lines();
  const std::string whole = read_file(folder.write_gzip("whole.gz", text));
  for (const size_t size : {size_t{2}, size_t{9}, size_t{10}, size_t{11}, whole.size() / 2,
                            whole.size() - 9, whole.size() - 8, whole.size() - 1}) {
    const auto path = folder.write("cut.gz", whole.substr(0, size));
    EXPECT_NE(error_of([&] { read_lines(path); }).find("cut.gz, line "), std::string::npos) << size;
  }
  const auto path = folder.write("cut.gz", whole.substr(0, whole.size() - 1));
  EXPECT_EQ(error_of([&] { read_lines(path); }),
            "[lines] " + path.string() +
                ", line 20001: the gzip data is damaged or cut off: unexpected end of file");
}

TEST(Lines, OfCorruptGzipAreAnError) {
  const TemporaryFolder folder;
  const std::string text = many_lines();
  std::string bytes = read_file(folder.write_gzip("whole.gz", text));
  bytes[bytes.size() - 6] ^= 1;  // in the checksum
  const auto path = folder.write("bad.gz", bytes);
  EXPECT_NE(error_of([&] {
              read_lines(path);
            }).find("the gzip data is damaged or cut off: incorrect data check"),
            std::string::npos);
}

TEST(Lines, LongerThan16MegabytesAreAnError) {
  const TemporaryFolder folder;
  std::string text = "short\n" + std::string(LineReader::kLongestLine, 'x') + "\n";
  EXPECT_EQ(read_lines(folder.write("fits", text)).size(), 2U);
  text.insert(6, 1, 'x');
  const auto path = folder.write_gzip("long", text);
  EXPECT_EQ(
      error_of([&] { read_lines(path); }),
      "[lines] " + path.string() + ", line 2: longer than 16777216 bytes; is this a text file?");
}

TEST(Lines, OfMissingFilesAndFoldersAreErrors) {
  const TemporaryFolder folder;
  EXPECT_EQ(error_of([&] { LineReader(folder / "none"); }),
            "[lines] cannot open " + (folder / "none").string() + ": No such file or directory");
  EXPECT_EQ(error_of([&] { LineReader(folder / ""); }),
            "[lines] " + (folder / "").string() + " is a folder, expected a file");
}

TEST(Lines, OfDevicesWithoutAnEndAreErrors) {
  for (const char* device : {"/dev/zero", "/dev/urandom"}) {
    EXPECT_EQ(error_of([&] { read_lines(device); }),
              fmt::format("[lines] {} is a device, expected a file", device));
  }
  EXPECT_TRUE(read_lines("/dev/null").empty());
}

TEST(Lines, ComeFromStandardInput) {
  const TemporaryFolder folder;
  const auto path = folder.write_gzip("input", "a\nb\n");
  const int saved = ::dup(STDIN_FILENO);
  const int file = ::open(path.c_str(), O_RDONLY);
  ASSERT_EQ(::dup2(file, STDIN_FILENO), STDIN_FILENO);
  EXPECT_EQ(read_lines("-"), (Lines{"a", "b"}));
  if (saved >= 0) {
    ::dup2(saved, STDIN_FILENO);
    ::close(saved);
  }
  ::close(file);
}

// A pipe with a name, of which the test is the writer.
class Fifo {
 public:
  explicit Fifo(const std::filesystem::path& path) : path_(path) {
    EXPECT_EQ(::mkfifo(path.c_str(), 0600), 0);
    writer_ = ::open(path.c_str(), O_RDWR);  // does not wait for the reader
    EXPECT_GE(writer_, 0);
  }
  ~Fifo() { close(); }
  Fifo(const Fifo&) = delete;
  Fifo& operator=(const Fifo&) = delete;

  const std::filesystem::path& path() const { return path_; }
  void write(const std::string& bytes) const {
    EXPECT_EQ(::write(writer_, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  }
  void close() {
    if (writer_ >= 0) {
      ::close(writer_);
    }
    writer_ = -1;
  }

 private:
  std::filesystem::path path_;
  int writer_ = -1;
};

TEST(Lines, OfAPipeAreThereWhenTheyAreComplete) {
  const TemporaryFolder folder;
  Fifo fifo(folder / "fifo");
  LineReader reader(fifo.path());
  EXPECT_FALSE(reader.ready());
  fifo.write("a");
  EXPECT_FALSE(reader.ready());  // not the whole line
  fifo.write("b\nc");
  EXPECT_TRUE(reader.ready());
  std::string line;
  EXPECT_TRUE(reader.next(line));
  EXPECT_EQ(line, "ab");
  EXPECT_FALSE(reader.ready());
  fifo.close();
  EXPECT_TRUE(reader.ready());  // the end of the input ends the line
  EXPECT_TRUE(reader.next(line));
  EXPECT_EQ(line, "c");
  EXPECT_TRUE(reader.ready());
  EXPECT_FALSE(reader.next(line));
}

TEST(Lines, OfAPipeComeInPoolsUntilItPauses) {
  const TemporaryFolder folder;
  Fifo fifo(folder / "fifo");
  LineReader reader(fifo.path());
  Lines pool;
  fifo.write("1\n2\n3\n4\n5");
  EXPECT_TRUE(reader.next_pool(3, pool));
  EXPECT_EQ(pool, (Lines{"1", "2", "3"}));
  EXPECT_TRUE(reader.next_pool(3, pool));  // though the pipe is open and nobody writes
  EXPECT_EQ(pool, (Lines{"4"}));
  EXPECT_EQ(reader.line_number(), 4);
  fifo.close();
  EXPECT_TRUE(reader.next_pool(3, pool));
  EXPECT_EQ(pool, (Lines{"5"}));
  EXPECT_FALSE(reader.next_pool(3, pool));
  EXPECT_TRUE(pool.empty());
}

TEST(Lines, OfGzipInAPipeAreThereAsWell) {
  const TemporaryFolder folder;
  const std::string first = read_file(folder.write_gzip("1", "a\nb\n"));
  const std::string second = read_file(folder.write_gzip("2", "c\n"));
  Fifo fifo(folder / "fifo");
  LineReader reader(fifo.path());
  Lines pool;
  EXPECT_FALSE(reader.ready());
  for (const char byte : first) {
    fifo.write(std::string(1, byte));
    reader.ready();  // reads it
  }
  EXPECT_TRUE(reader.next_pool(9, pool));
  EXPECT_EQ(pool, (Lines{"a", "b"}));
  fifo.write(second);
  EXPECT_TRUE(reader.next_pool(9, pool));
  EXPECT_EQ(pool, (Lines{"c"}));
  fifo.close();
  EXPECT_FALSE(reader.next_pool(9, pool));
}

TEST(Lines, OfFilesComeInGrowingPools) {
  const TemporaryFolder folder;
  const std::string text = many_lines();
  for (const auto& path : {folder.write("plain", text), folder.write_gzip("zipped", text)}) {
    LineReader reader(path);
    EXPECT_EQ(reader.share(), 0.0);
    Lines pool;
    std::vector<size_t> sizes;
    while (reader.next_pool(8192, pool)) {
      sizes.push_back(pool.size());
    }
    EXPECT_EQ(sizes, (std::vector<size_t>{16, 128, 1024, 8192, 8192, 2448}));
    EXPECT_EQ(reader.share(), 1.0);
  }
}

// Also of a file that one buffer holds.
TEST(Lines, TellWhatShareOfTheFileTheyAre) {
  const TemporaryFolder folder;
  LineReader reader(folder.write("file", "ab\ncd\ne\n"));
  std::string line;
  for (const double share : {3.0 / 8.0, 6.0 / 8.0, 1.0}) {
    EXPECT_TRUE(reader.next(line));
    EXPECT_DOUBLE_EQ(reader.share(), share);
  }
  LineReader zipped(folder.write_gzip("zipped", many_lines()));
  EXPECT_TRUE(zipped.next(line));
  EXPECT_GT(zipped.share(), 0.0);
  EXPECT_LT(zipped.share(), 0.1);
}

TEST(Lines, ThatUnpackToMuchMoreThanABuffer) {
  const TemporaryFolder folder;
  const Lines expected{std::string(5'000'000, 'x'), "y"};
  EXPECT_EQ(read_lines(folder.write_gzip("zipped", expected[0] + "\ny\n")), expected);
}

}  // namespace
}  // namespace heed
