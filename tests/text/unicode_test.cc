#include "text/unicode.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace heed {
namespace {

std::vector<char32_t> values(std::string_view text) {
  std::vector<char32_t> result;
  for (const CodePoint& c : CodePoints(text)) {
    result.push_back(c.value);
  }
  return result;
}

TEST(Unicode, TellsUtf8FromOtherBytes) {
  for (const char* good : {"", "a", "ß", "€", "😀", "\xF4\x8F\xBF\xBF", "\xEF\xBF\xBD"}) {
    EXPECT_TRUE(valid_utf8(good)) << good;
  }
  EXPECT_TRUE(valid_utf8(std::string_view("a\0b", 3)));
  for (const char* bad : {
           "\x80",              // continuation without a start
           "\xC3",              // cut off
           "\xE2\x82",          // cut off
           "\xF0\x9F\x98",      // cut off
           "\xC0\xAF",          // overlong
           "\xE0\x80\xAF",      // overlong
           "\xED\xA0\x80",      // surrogate
           "\xF4\x90\x80\x80",  // above U+10FFFF
           "\xFF",
           "ab\xFE",
       }) {
    EXPECT_FALSE(valid_utf8(bad));
  }
}

TEST(Unicode, ReadsCharacters) {
  EXPECT_EQ(values("aß€😀"), (std::vector<char32_t>{U'a', 0xDF, 0x20AC, 0x1F600}));
  EXPECT_TRUE(values("").empty());
  EXPECT_EQ(values(std::string_view("\0", 1)), std::vector<char32_t>{0});
}

TEST(Unicode, BytesThatAreNoCharacterReadAsReplacementOneByOne) {
  EXPECT_EQ(values("a\xFF\xC3z"), (std::vector<char32_t>{'a', 0xFFFD, 0xFFFD, 'z'}));
  EXPECT_EQ(values("\xE2\x82"), (std::vector<char32_t>{0xFFFD, 0xFFFD}));
}

TEST(Unicode, WritesWhatItReads) {
  for (char32_t c = 0; c <= 0x10FFFF; ++c) {
    if (c < 0xD800 || c > 0xDFFF) {
      const std::string text = to_utf8(c);
      ASSERT_TRUE(valid_utf8(text)) << static_cast<uint32_t>(c);
      ASSERT_EQ(first_code_point(text).value, c);
      ASSERT_EQ(first_code_point(text).bytes, text);
    }
  }
}

TEST(Unicode, KnowsSpacesAndMarks) {
  for (const char32_t c : {U' ', U'\t', U'\n', U'\r', U'\u0085', U'\u00A0', U'\u2003', U'\u2028',
                           U'\u202F', U'\u3000'}) {
    EXPECT_TRUE(is_space(c)) << static_cast<uint32_t>(c);
    EXPECT_FALSE(is_punctuation(c)) << static_cast<uint32_t>(c);
  }
  for (const char32_t c : U"!\"#$%&'()*+,-./:;<=>?@[]^_`{|}~„“”…«»–€©😀。") {
    EXPECT_EQ(is_punctuation(c), c != 0) << static_cast<uint32_t>(c);
    EXPECT_FALSE(is_letter(c)) << static_cast<uint32_t>(c);
    EXPECT_FALSE(is_space(c)) << static_cast<uint32_t>(c);
  }
  for (const char32_t c : {U'a', U'Z', U'ß', U'7', U'²', U'\u0301', U'é', U'中', U'ي'}) {
    EXPECT_TRUE(is_letter(c)) << static_cast<uint32_t>(c);
    EXPECT_FALSE(is_space(c) || is_punctuation(c)) << static_cast<uint32_t>(c);
  }
}

TEST(Unicode, LowersCharacterByCharacter) {
  std::string lower;
  for (const CodePoint& c : CodePoints("ÄPFEL Straße ΑΘΗΝΑ МОСКВА 1!\xFF")) {
    lower += to_utf8(lower_case(c.value));
  }
  EXPECT_EQ(lower, "äpfel straße αθηνα москва 1!\xEF\xBF\xBD");
}

}  // namespace
}  // namespace heed
