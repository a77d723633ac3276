// Pieces of music as data sets: read from MIDI files or from the chorales' JSON, and as sequences
// of tokens, moved to other keys and stretched.
// Every function may be called from several threads.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/music/music_tokens.h"
#include "music/chorale.h"
#include "music/note.h"

namespace heed {

struct MusicPiece {
  std::string name;         // the file's, inside the folder that was searched
  std::vector<Note> notes;  // of a performance
  Chorale chorale;          // or of a chorale
};

struct MusicPieces {
  std::vector<MusicPiece> pieces;
  std::string skipped;  // files that cannot be used and why, for the user; empty: none
};

// Files, and folders that are searched for .mid and .midi to the bottom, in the order of their
// names. Notes last while the sustain pedal is down. Files that are damaged or without notes are
// skipped, but it is an Error if none is left, and if a path does not exist.
MusicPieces read_midi_pieces(const std::vector<std::string>& paths);

// As the tokens of a form: for MusicForm::performance also chorales become notes.
std::vector<MusicPiece> chorale_pieces(const std::vector<Chorale>& chorales, MusicForm form);

struct Augmentation {
  int semitones = 0;
  double stretch = 1.0;  // above 1 is slower; chorales have no tempo
};

// The piece changed. Notes of a performance that leave the piano are left out; a chorale moves only
// as far as all its pitches stay within MIDI's.
MusicPiece augmented(const MusicPiece& piece, MusicForm form, const Augmentation& augmentation);

// The whole piece, changed: START, its symbols, END.
std::vector<int32_t> piece_tokens(const MusicPiece& piece, MusicForm form,
                                  const Augmentation& augmentation = {});

}  // namespace heed
