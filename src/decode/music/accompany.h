// Accompaniments of a melody by an encoder-decoder of music (task accompany), drawn token by token.
//
// Pieces are independent: what a melody is accompanied by depends on it, the options and the
// piece's number alone. A model may be used by several threads at once.
#pragma once

#include <span>
#include <vector>

#include "decode/music/music.h"

namespace heed {

inline constexpr int kMelodyChannel = 0;  // of a piece's notes; what is made has others

struct AccompaniedPiece {
  std::vector<Note> notes;  // by start
  double duration = 0.0;    // seconds, up to the end of the last note
  GenerateEnd end = GenerateEnd::length;
};

// The melody is sorted by start, of one line as split_melody() (music/melody.h) finds it. Of the
// options, seconds and max_tokens are left aside: the melody says how long it is.
// Chorales: four voices on sixteenths, exactly as long as the melody, whose highest pitch in each
// sixteenth is the soprano. Performances: the melody as it is, with events that end with END or a
// second after it.
std::vector<AccompaniedPiece> accompany_melody(const LoadedModel& model,
                                               std::span<const Note> melody,
                                               const MusicOptions& options,
                                               const MusicCallback& progress = {});

}  // namespace heed
