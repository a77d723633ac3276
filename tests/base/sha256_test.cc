#include "base/encoding/sha256.h"

#include <gtest/gtest.h>

#include "support/error_of.h"
#include "support/text_files.h"

namespace heed {
namespace {

using testing::error_of;
using testing::TemporaryFolder;

std::string sum_of(const std::string& text) {
  Sha256 sum;
  sum.update(std::as_bytes(std::span(text)));
  return sum.hex();
}

// The examples of NIST for FIPS 180-4, and its long messages of one letter.
TEST(Sha256, AgreesWithTheStandard) {
  EXPECT_EQ(sum_of(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sum_of("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sum_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sum_of(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, DoesNotDependOnHowTheBytesCome) {
  std::string text;
  for (size_t size = 0; size < 200; ++size) {  // both sides of one and two blocks
    const std::string whole = sum_of(text);
    for (const size_t step : {1, 7, 63, 64, 65}) {
      Sha256 sum;
      for (size_t at = 0; at < text.size(); at += step) {
        const std::string piece = text.substr(at, step);
        sum.update(std::as_bytes(std::span(piece)));
      }
      ASSERT_EQ(sum.hex(), whole) << size << " bytes by " << step;
    }
    text += static_cast<char>(size * 37);
  }
}

TEST(Sha256, OfAFile) {
  const TemporaryFolder folder;
  const std::string text(300'000, 'x');
  EXPECT_EQ(sha256_of_file(folder.write("file", text)), sum_of(text));
  EXPECT_EQ(sha256_of_file(folder.write("empty", "")), sum_of(""));
  EXPECT_EQ(error_of([&] { sha256_of_file(folder / "none"); }),
            "[sha256] cannot open " + (folder / "none").string() + ": No such file or directory");
}

}  // namespace
}  // namespace heed
