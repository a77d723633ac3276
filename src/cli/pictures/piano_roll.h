// Notes as a picture: time from left to right, pitch from bottom to top, louder notes darker. Long
// pieces take several rows. Pure functions.
#pragma once

#include <string>
#include <vector>

#include "music/note.h"

namespace heed::cli {

struct PianoRoll {
  std::string title;
  std::vector<Note> notes;
  double motif_end = 0.0;  // seconds; notes that start before it have another colour
  // Instead of that: channel 0 is a melody that the others accompany.
  bool accompanied = false;
};

// A note is one rectangle, or one in each row that it lasts into.
std::string render_roll_svg(const PianoRoll& roll);
std::string render_roll_png(const PianoRoll& roll);

// "C4" is middle C, 60.
std::string pitch_name(int pitch);

}  // namespace heed::cli
