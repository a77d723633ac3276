#include "music/augment.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <limits>

#include "support/error_of.h"

namespace heed {
namespace {

using testing::error_of;
using Notes = std::vector<Note>;

TEST(Augment, TransposeLeavesOutWhatLeavesTheRange) {
  const Notes notes = {{0, 1, 21, 50, 0}, {1, 2, 60, 60, 1}, {2, 3, 108, 70, 2}};
  EXPECT_EQ(transpose(notes, 0), notes);
  EXPECT_EQ(transpose(notes, 3), (Notes{{0, 1, 24, 50, 0}, {1, 2, 63, 60, 1}}));
  EXPECT_EQ(transpose(notes, -1), (Notes{{1, 2, 59, 60, 1}, {2, 3, 107, 70, 2}}));
  EXPECT_EQ(transpose(notes, 19, {.lowest = 0, .highest = 127}).size(), 3U);
  EXPECT_EQ(transpose(notes, 20, {.lowest = 0, .highest = 127}).size(), 2U);
  EXPECT_TRUE(transpose(notes, 127).empty());
}

TEST(Augment, TransposeLeavesPercussion) {
  const Notes drum = {{0, 1, 10, 50, kPercussion}};
  EXPECT_EQ(transpose(drum, 5), drum);
}

// All voices move by the same, and none leaves MIDI's pitches.
TEST(Augment, ChoralesMoveAsFarAsTheyCan) {
  const Chorale chorale{{72, 67, 60, kSilence}, {126, 65, 62, 2}};
  EXPECT_EQ(transpose_chorale(chorale, 0), chorale);
  EXPECT_EQ(transpose_chorale(chorale, 1), (Chorale{{73, 68, 61, kSilence}, {127, 66, 63, 3}}));
  EXPECT_EQ(transpose_chorale(chorale, 5), transpose_chorale(chorale, 1));
  EXPECT_EQ(transpose_chorale(chorale, -3), (Chorale{{70, 65, 58, kSilence}, {124, 63, 60, 0}}));
  const Chorale silent{{kSilence, kSilence, kSilence, kSilence}};
  EXPECT_EQ(transpose_chorale(silent, 4), silent);
  EXPECT_TRUE(transpose_chorale({}, 4).empty());
}

TEST(Augment, Stretch) {
  const Notes notes = {{0.5, 1.5, 21, 50, 0}, {4.0, 8.0, 60, 60, 1}};
  EXPECT_EQ(stretch(notes, 1.25), (Notes{{0.625, 1.875, 21, 50, 0}, {5.0, 10.0, 60, 60, 1}}));
}

TEST(Augment, RefusesNonsense) {
  EXPECT_EQ(error_of([] { transpose({}, 128); }),
            "[transpose] 128 semitones, expected at most 127 either way");
  EXPECT_EQ(error_of([] { transpose({}, std::numeric_limits<int>::min()); }),
            "[transpose] -2147483648 semitones, expected at most 127 either way");
  EXPECT_EQ(error_of([] { transpose({}, 1, {.lowest = 50, .highest = 40}); }),
            "[transpose] pitches 50 to 40, expected a range within 0 to 127");
  for (const double factor : {0.0, -1.0, std::numeric_limits<double>::infinity(),
                              std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_EQ(error_of([&] { stretch({}, factor); }),
              fmt::format("[stretch] factor {}, expected a positive number", factor));
  }
}

}  // namespace
}  // namespace heed
