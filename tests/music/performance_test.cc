#include "music/performance.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "support/error_of.h"

namespace heed {
namespace {

using testing::error_of;
using Ids = std::vector<int32_t>;

std::string names(const Ids& ids) {
  std::string text;
  for (const int32_t id : ids) {
    text += (text.empty() ? "" : " ") + performance_symbol(id);
  }
  return text;
}

// The example in the appendix of the Music Transformer: a C major chord whose notes come one after
// another under the pedal, then an F. Its velocities 80 and 100 are those of bins here.
TEST(Performance, ExampleOfThePaper) {
  const std::vector<Note> notes = {
      {0.0, 2.0, 60, 80, 0}, {0.5, 2.0, 64, 80, 0}, {1.0, 2.0, 67, 80, 0}, {2.5, 3.0, 65, 100, 0}};
  EXPECT_EQ(names(encode_performance(notes)),
            "SET_VELOCITY<78> NOTE_ON<60> TIME_SHIFT<500> NOTE_ON<64> TIME_SHIFT<500> NOTE_ON<67> "
            "TIME_SHIFT<1000> NOTE_OFF<60> NOTE_OFF<64> NOTE_OFF<67> TIME_SHIFT<500> "
            "SET_VELOCITY<98> NOTE_ON<65> TIME_SHIFT<500> NOTE_OFF<65>");
}

TEST(Performance, Symbols) {
  EXPECT_EQ(performance_symbol(0), "NOTE_ON<0>");
  EXPECT_EQ(performance_symbol(127), "NOTE_ON<127>");
  EXPECT_EQ(performance_symbol(128), "NOTE_OFF<0>");
  EXPECT_EQ(performance_symbol(255), "NOTE_OFF<127>");
  EXPECT_EQ(performance_symbol(256), "TIME_SHIFT<10>");
  EXPECT_EQ(performance_symbol(355), "TIME_SHIFT<1000>");
  EXPECT_EQ(performance_symbol(356), "SET_VELOCITY<2>");
  EXPECT_EQ(performance_symbol(387), "SET_VELOCITY<126>");
  std::set<std::string> different;
  for (int32_t id = 0; id < kPerformanceSymbols; ++id) {
    different.insert(performance_symbol(id));
  }
  EXPECT_EQ(different.size(), 388U);
  EXPECT_EQ(error_of([] { performance_symbol(388); }),
            "[performance] symbol 388, expected 0 to 387");
  EXPECT_EQ(error_of([] {
              decode_performance(Ids{0, -1});
            }),
            "[performance] symbol -1, expected 0 to 387");
}

TEST(Performance, VelocityBins) {
  std::map<int, int> sizes;
  for (int velocity = 1; velocity <= 127; ++velocity) {
    const int bin = velocity_bin(velocity);
    ++sizes[bin];
    EXPECT_LE(std::abs(bin_velocity(bin) - velocity), 2);
    EXPECT_EQ(velocity_bin(bin_velocity(bin)), bin);
  }
  EXPECT_EQ(sizes.size(), 32U);
  EXPECT_EQ(sizes.begin()->first, 0);
  EXPECT_EQ(sizes[31], 3);
}

TEST(Performance, LongRestsAndRounding) {
  const std::vector<Note> notes = {{2.344, 2.346, 60, 2, 0}};  // less than a step long
  const Ids expected = {355, 355, 256 + 33, 356, 60, 256, 128 + 60};
  EXPECT_EQ(encode_performance(notes), expected);
  const std::vector<Note> back = decode_performance(expected);
  ASSERT_EQ(back.size(), 1U);
  EXPECT_EQ(back[0], (Note{2.34, 2.35, 60, 2, 0}));
}

TEST(Performance, RoundingErrorsDoNotAddUp) {
  std::vector<Note> notes;
  for (int i = 0; i < 1000; ++i) {
    notes.push_back({i * 0.0149, i * 0.0149 + 0.01, 21 + i % 88, 64, 0});
  }
  const std::vector<Note> back = decode_performance(encode_performance(notes));
  ASSERT_EQ(back.size(), notes.size());
  for (size_t i = 0; i < notes.size(); ++i) {
    EXPECT_NEAR(back[i].start, notes[i].start, 0.005 + 1e-9);
    EXPECT_EQ(back[i].pitch, notes[i].pitch);
  }
}

TEST(Performance, ChannelsArePooledWithoutPercussion) {
  const std::vector<Note> notes = {
      {0.0, 1.0, 60, 64, 0}, {0.0, 1.0, 35, 64, kPercussion}, {0.5, 0.8, 60, 64, 3}};
  const std::vector<Note> back = decode_performance(encode_performance(notes));
  ASSERT_EQ(back.size(), 2U);
  EXPECT_EQ(back[0], (Note{0.0, 0.5, 60, 62, 0}));
  EXPECT_EQ(back[1], (Note{0.5, 0.8, 60, 62, 0}));
}

TEST(Performance, RefusesPiecesWithoutEnd) {
  EXPECT_EQ(error_of([] {
              encode_performance(std::vector<Note>{{0.0, 1e9, 60, 64, 0}});
            }),
            "[notes] note 0 lasts from 0 to 1000000000 s, expected 0 <= start <= end <= 86400");
}

TEST(Performance, DecodesAnything) {
  EXPECT_TRUE(decode_performance({}).empty());
  EXPECT_TRUE(decode_performance(Ids{128 + 60, 355}).empty());           // up without down
  EXPECT_TRUE(decode_performance(Ids{60, 128 + 60, 355}).empty());       // no length
  EXPECT_TRUE(decode_performance(Ids{60}).empty());                      // likewise
  const std::vector<Note> open = decode_performance(Ids{60, 355, 355});  // never goes up
  ASSERT_EQ(open.size(), 1U);
  EXPECT_EQ(open[0], (Note{0.0, 2.0, 60, 64, 0}));
  const std::vector<Note> twice = decode_performance(Ids{60, 355, 387, 60, 355, 128 + 60});
  ASSERT_EQ(twice.size(), 2U);
  EXPECT_EQ(twice[0], (Note{0.0, 1.0, 60, 64, 0}));
  EXPECT_EQ(twice[1], (Note{1.0, 2.0, 60, 126, 0}));
}

// Whatever a model says, the notes it means are written and read as the same notes.
TEST(Performance, RandomSymbolsGivePieces) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    Ids ids(random() % 500);
    for (int32_t& id : ids) {
      id = static_cast<int32_t>(random() % kPerformanceSymbols);
    }
    const std::vector<Note> notes = decode_performance(ids);
    for (size_t i = 0; i < notes.size(); ++i) {
      EXPECT_LT(notes[i].start, notes[i].end);
      EXPECT_TRUE(i == 0 || notes[i - 1].start <= notes[i].start);
    }
    const Ids clean = encode_performance(notes);
    EXPECT_EQ(encode_performance(decode_performance(clean)), clean);
    // All but the velocities before the first one, which are no bin's.
    const std::vector<Note> again = decode_performance(clean);
    ASSERT_EQ(again.size(), notes.size());
    for (size_t i = 0; i < notes.size(); ++i) {
      EXPECT_EQ(std::tuple(again[i].start, again[i].end, again[i].pitch),
                std::tuple(notes[i].start, notes[i].end, notes[i].pitch));
    }
  }
}

}  // namespace
}  // namespace heed
