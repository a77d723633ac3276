#include "train/metrics/sequence_accuracy.h"

#include <gtest/gtest.h>

#include <vector>

namespace heed::testing {
namespace {

using Ids = std::vector<int32_t>;

TEST(SequenceAccuracy, CountsPlacesAndWholes) {
  SequenceAccuracy accuracy;
  EXPECT_EQ(accuracy.symbols(), 0.0);
  EXPECT_EQ(accuracy.sequences(), 0.0);
  accuracy.add(Ids{1, 2, 3}, Ids{1, 2, 3});
  EXPECT_EQ(accuracy.symbols(), 1.0);
  EXPECT_EQ(accuracy.sequences(), 1.0);
  accuracy.add(Ids{1, 9, 3, 4}, Ids{1, 2, 3, 4, 5});  // one wrong, one missing
  EXPECT_EQ(accuracy.symbols(), 6.0 / 8.0);
  EXPECT_EQ(accuracy.sequences(), 0.5);
  accuracy.add(Ids{1, 2, 3}, Ids{1, 2});  // does not end where it should
  EXPECT_EQ(accuracy.symbols(), 8.0 / 10.0);
  EXPECT_EQ(accuracy.sequences(), 1.0 / 3.0);
  accuracy.add(Ids{2, 3, 4}, Ids{1, 2, 3});  // everything moved by one is wrong
  EXPECT_EQ(accuracy.symbols(), 8.0 / 13.0);
}

}  // namespace
}  // namespace heed::testing
