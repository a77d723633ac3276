// Whether a model of music remembers: in composed pieces (data/music/music_demo.h) the motif
// returns again and again, and the model is asked for each of its notes.
#pragma once

#include <cstdint>
#include <vector>

#include "data/music/music_demo.h"
#include "models/folder.h"

namespace heed {

struct MotifOptions {
  uint64_t seed = 1000;  // of the pieces: none that was learned from
  int64_t pieces = 32;
  int64_t sections = 48;  // of a piece
  int64_t bucket = 128;   // tokens to a point of the curve
};

// Counts the notes whose token stands in a bucket of positions.
struct MotifBucket {
  int64_t position = 0;  // of the first token in it
  int64_t notes = 0;
  int64_t right = 0;

  double accuracy() const {
    return notes == 0 ? 0.0 : static_cast<double>(right) / static_cast<double>(notes);
  }
};

// The pieces are shown as they are (not as the model would have gone on), and a note is right if it
// is the likeliest of all tokens at its place. Counted are the notes of the motif but the first of
// each return, from the third time on: what comes next could not be known where a section begins.
std::vector<MotifBucket> measure_motif(const Loaded<LanguageModel>& model,
                                       const MotifOptions& options);

}  // namespace heed
