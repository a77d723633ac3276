#include "base/text.h"

#include <gtest/gtest.h>

namespace heed {
namespace {

TEST(Text, EditDistance) {
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3U);
  EXPECT_EQ(edit_distance("", "abc"), 3U);
  EXPECT_EQ(edit_distance("same", "same"), 0U);
}

TEST(Text, Nearest) {
  EXPECT_EQ(nearest("mt-trian", {"gpt-train", "mt-train", "attn"}), "mt-train");
  EXPECT_EQ(nearest("x", {}), "");
}

}  // namespace
}  // namespace heed
