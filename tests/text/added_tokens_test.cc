#include "text/added_tokens.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/support/error_of.h"

namespace heed {
namespace {

using testing::expect_error;

// Texts in brackets, tokens as numbers.
std::string parts(const AddedTokens& tokens, std::string_view text) {
  std::string result;
  tokens.for_each_part(
      text, [&](std::string_view part) { result += fmt::format("[{}]", part); },
      [&](int32_t id, std::string_view token) {
        EXPECT_EQ(tokens.find(token), id);
        EXPECT_TRUE(token.data() >= text.data() && token.data() < text.data() + text.size());
        result += std::to_string(id);
      });
  return result;
}

TEST(AddedTokens, CutTextLeftmostAndLongestFirst) {
  const AddedTokens tokens({{.id = 1, .text = "<a>"},
                            {.id = 2, .text = "<a>b"},
                            {.id = 3, .text = ">bcd"},
                            {.id = 4, .text = "é"}},
                           "t");
  EXPECT_EQ(parts(tokens, ""), "");
  EXPECT_EQ(parts(tokens, "plain < a>"), "[plain < a>]");
  EXPECT_EQ(parts(tokens, "x<a>y"), "[x]1[y]");
  EXPECT_EQ(parts(tokens, "<a><a>b"), "12");
  EXPECT_EQ(parts(tokens, "<a>bcd"), "2[cd]");
  EXPECT_EQ(parts(tokens, "<<a>"), "[<]1");
  EXPECT_EQ(parts(tokens, "<a"), "[<a]");
  EXPECT_EQ(parts(tokens, "caf\xC3\xA9\xC3"), "[caf]4[\xC3]");
  EXPECT_EQ(parts(AddedTokens(), "<a>"), "[<a>]");
}

TEST(AddedTokens, AreFoundByTheirWholeText) {
  const AddedTokens tokens({{.id = 7, .text = "[MASK]"}, {.id = 8, .text = "[M"}}, "t");
  EXPECT_EQ(tokens.find("[MASK]"), 7);
  EXPECT_EQ(tokens.find("[M"), 8);
  EXPECT_EQ(tokens.find("[MA"), std::nullopt);
  EXPECT_EQ(tokens.find(""), std::nullopt);
}

TEST(AddedTokens, RefuseContradictions) {
  const auto make = [](std::vector<AddedToken> tokens) {
    return [tokens = std::move(tokens)] { AddedTokens(tokens, "f"); };
  };
  expect_error(make({{.id = 3, .text = ""}}), "[f] added token 3 is empty");
  expect_error(make({{.id = 3, .text = "\xFF"}}), "[f] added token 3 is not UTF-8");
  expect_error(make({{.id = 3, .text = "a"}, {.id = 4, .text = "a"}}),
               "[f] added tokens 3 and 4 are both \"a\"");
  expect_error(make({{.id = 3, .text = "a"}, {.id = 3, .text = "b"}}),
               "[f] added tokens \"a\" and \"b\" both have id 3");
}

}  // namespace
}  // namespace heed
