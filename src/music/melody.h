// Which notes of a piece are its melody: the skyline, its highest notes.
// Every function may be called from several threads.
#pragma once

#include <span>
#include <vector>

#include "music/note.h"

namespace heed {

struct MelodySplit {
  std::vector<Note> melody;
  std::vector<Note> accompaniment;
};

// A note belongs to the melody unless a higher one sounds with it. This is decided 50 ms after it
// begins, or in its middle if that is sooner: players do not strike chords at once, and bind notes
// by letting them overlap. Percussion is left out; both parts are sorted by start, then pitch.
MelodySplit split_melody(std::span<const Note> notes);

// A melody sorted by start as one line: a note ends at the latest where the next begins, whatever
// the pedal holds.
std::vector<Note> melody_line(std::span<const Note> melody);

}  // namespace heed
