// Which proposals stand.
#include "decode/acceptance.h"

#include <gtest/gtest.h>

#include <limits>

#include "support/error_of.h"

namespace heed::testing {
namespace {

TEST(Acceptance, IsWrittenAsItIsRead) {
  for (const char* text : {"exact", "top-1", "top-12", "distance-0", "distance-3"}) {
    EXPECT_EQ(parse_acceptance(text).text(), text);
  }
  for (const char* text : {"", "exactly", "top", "top-", "top-0", "top-2x", "distance",
                           "distance--1", "near-2", "exact-2"}) {
    EXPECT_EQ(error_of([&] { parse_acceptance(text); }),
              "[accept] \"" + std::string(text) +
                  "\" is no way to accept proposals, expected exact, top-N or distance-N");
  }
}

TEST(Acceptance, TakesWhatComesCloseEnough) {
  const std::vector<float> scores{0.1F, 0.5F, 0.3F, -std::numeric_limits<float>::infinity()};
  const auto accepted_by = [&](const char* how) {
    std::vector<int32_t> standing;
    for (int32_t token = 0; token < 4; ++token) {
      if (accepts(parse_acceptance(how), scores, 1, token)) {
        standing.push_back(token);
      }
    }
    return standing;
  };
  using Ids = std::vector<int32_t>;
  EXPECT_EQ(accepted_by("exact"), Ids{1});
  EXPECT_EQ(accepted_by("top-1"), Ids{1});
  EXPECT_EQ(accepted_by("top-2"), (Ids{1, 2}));
  EXPECT_EQ(accepted_by("top-9"), (Ids{0, 1, 2}));  // what is forbidden stays forbidden
  EXPECT_EQ(accepted_by("distance-0"), Ids{1});
  EXPECT_EQ(accepted_by("distance-1"), (Ids{0, 1, 2}));
}

TEST(Acceptance, ABlockEndsWithTheFirstThatDoesNotStand) {
  const auto count = [](int64_t least, int64_t proposed, int64_t certain, int64_t wrong) {
    return accepted({.least = least}, proposed, certain, [&](int64_t i) { return i != wrong; });
  };
  EXPECT_EQ(count(1, 4, 1, 2), 2);
  EXPECT_EQ(count(1, 4, 1, 1), 1);
  EXPECT_EQ(count(1, 4, 1, 9), 4);
  EXPECT_EQ(count(3, 4, 1, 1), 4);  // at least three, then as long as they stand
  EXPECT_EQ(count(3, 4, 1, 3), 3);
  EXPECT_EQ(count(3, 2, 1, 1), 2);  // there are no more
  EXPECT_EQ(count(1, 4, 3, 3), 3);
  EXPECT_EQ(count(1, 4, 3, 1), 4);
}

}  // namespace
}  // namespace heed::testing
