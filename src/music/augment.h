// More music from the same music: in other keys, faster and slower. The Music Transformer was
// trained on pieces moved by up to three semitones either way and stretched by up to 5 %.
// Every function may be called from several threads.
#pragma once

#include <span>
#include <vector>

#include "music/chorale.h"
#include "music/note.h"

namespace heed {

struct PitchRange {
  int lowest = kLowestPianoKey;
  int highest = kHighestPianoKey;
};

// Notes that leave the range are left out: an octave up or down would change chords and melody.
// Percussion stays as it is, for its pitches are instruments.
std::vector<Note> transpose(std::span<const Note> notes, int semitones, PitchRange range = {});

// All voices together, as far as every pitch stays within MIDI's.
Chorale transpose_chorale(Chorale chorale, int semitones);

// Times `factor`: above 1 is slower. Throws unless 0 < factor and it is finite.
std::vector<Note> stretch(std::span<const Note> notes, double factor);

}  // namespace heed
