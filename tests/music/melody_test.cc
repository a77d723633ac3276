// The melody of a piece by its notes.
#include "music/melody.h"

#include <gtest/gtest.h>

#include "support/error_of.h"

namespace heed {
namespace {

using testing::error_of;

Note note(double start, double end, int pitch, int channel = 0) {
  return {.start = start, .end = end, .pitch = pitch, .velocity = 64, .channel = channel};
}

TEST(Melody, IsWhatIsHighest) {
  const Note chord_top = note(0.0, 0.5, 72);
  const Note chord_low = note(0.0, 0.5, 60);
  const Note under = note(0.25, 0.5, 71);   // begins while 72 sounds
  const Note lower = note(0.5, 1.0, 64);    // where all others have ended
  const Note above = note(0.75, 2.0, 67);   // rises over a note that still sounds
  const Note hidden = note(1.0, 3.0, 66);   // below it
  const Note later = note(2.5, 3.0, 65);    // below a note that is no melody itself
  const Note drum = note(0.0, 3.0, 80, 9);  // hides nothing
  const MelodySplit split =
      split_melody(std::vector{later, above, drum, chord_low, under, lower, hidden, chord_top});
  EXPECT_EQ(split.melody, (std::vector{chord_top, lower, above}));
  EXPECT_EQ(split.accompaniment, (std::vector{chord_low, under, hidden, later}));
}

TEST(Melody, ForgivesPlayers) {
  // A chord whose bass comes 30 ms before its highest note.
  const Note early = note(0.97, 2.0, 48);
  const Note top = note(1.0, 1.53, 76);
  // Bound: the note before lasts 30 ms longer than it should.
  const Note bound = note(1.5, 2.0, 74);
  // A grace note of 40 ms in front of a higher one.
  const Note grace = note(2.0, 2.04, 72);
  const Note main = note(2.04, 2.5, 73);
  const MelodySplit split = split_melody(std::vector{early, top, bound, grace, main});
  EXPECT_EQ(split.melody, (std::vector{top, bound, grace, main}));
  EXPECT_EQ(split.accompaniment, (std::vector{early}));
}

TEST(Melody, AsOneLine) {
  const std::vector<Note> melody{note(0.0, 5.0, 60), note(1.0, 1.5, 62), note(2.0, 9.0, 64),
                                 note(2.0, 3.0, 64), note(4.0, 4.5, 65)};
  const std::vector<Note> line = melody_line(melody);
  EXPECT_EQ(line, (std::vector{note(0.0, 1.0, 60), note(1.0, 1.5, 62), note(2.0, 4.0, 64),
                               note(2.0, 3.0, 64), note(4.0, 4.5, 65)}));
  EXPECT_TRUE(melody_line({}).empty());
}

TEST(Melody, Errors) {
  EXPECT_EQ(error_of([] { split_melody(std::vector{note(0, 1, 128)}); }),
            "[melody] pitch 128, expected 0 to 127");
  EXPECT_TRUE(split_melody({}).melody.empty());
}

}  // namespace
}  // namespace heed
