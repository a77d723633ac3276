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
  // What contains the word is meant, unless it is a typing error.
  EXPECT_EQ(nearest("layers", {"heads", "encoder_layers", "width"}), "encoder_layers");
  EXPECT_EQ(nearest("step", {"steps_between", "steps", "stop_after"}), "steps");
}

TEST(Text, SimilarOrNothing) {
  EXPECT_EQ(similar("trian", {"train", "translate"}), "train");
  EXPECT_EQ(similar("--topk", {"--top-p", "--top-k"}), "--top-k");
  EXPECT_EQ(similar("layers", {"heads", "encoder_layers"}), "encoder_layers");
  EXPECT_EQ(similar("frobnicate", {"train", "translate", "generate"}), "");
  EXPECT_EQ(similar("x", {}), "");
}

}  // namespace
}  // namespace heed
