#include "base/random.h"

#include <gtest/gtest.h>

#include <cmath>

namespace heed {
namespace {

// Known answers of Philox4x32-10 published with Random123 (kat_vectors).
TEST(Philox, KnownAnswers) {
  EXPECT_EQ(philox({0, 0, 0, 0}, 0), (Philox4{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, 0xffffffffffffffffULL),
            (Philox4{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, 0x299f31d0a4093822ULL),
            (Philox4{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(RandomStream, NormalHasUnitVariance) {
  const RandomStream stream{5, 9};
  double sum = 0;
  double squares = 0;
  constexpr int kCount = 20000;
  for (uint64_t i = 0; i < kCount; ++i) {
    const double x = stream.normal(i);
    sum += x;
    squares += x * x;
  }
  EXPECT_NEAR(sum / kCount, 0.0, 0.03);
  EXPECT_NEAR(squares / kCount, 1.0, 0.03);
}

TEST(RandomStream, StreamsDiffer) {
  EXPECT_NE((RandomStream{1, 1}.bits(0)), (RandomStream{1, 2}.bits(0)));
  EXPECT_NE((RandomStream{1, 1}.bits(0)), (RandomStream{2, 1}.bits(0)));
}

}  // namespace
}  // namespace heed
