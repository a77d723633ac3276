// A piece of music as a melody and what accompanies it: what an encoder reads and a decoder writes.
//
// Chorales: the melody is the soprano, the accompaniment alto, tenor and bass by turns. The source
// repeats each soprano pitch three times, so that the pitch that sounds with a target token has the
// same position. Performances: the melody is the skyline (music/melody.h) as one line, the
// accompaniment all other notes, each side as the events of music/performance.h from the same
// moment on. Tokens are without START and END. Every function may be called from several threads.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "data/text/pairs.h"
#include "music/chorale.h"
#include "music/melody.h"

namespace heed {

inline constexpr int kAccompanyingVoices = kVoices - 1;

// What the encoder reads; a soprano has a pitch or kSilence for each sixteenth.
std::vector<int32_t> melody_tokens(std::span<const Note> melody);
std::vector<int32_t> soprano_tokens(std::span<const int> soprano);

// The soprano with the voices written for it, kAccompanyingVoices symbols per sixteenth; missing
// voices are silent.
Chorale harmonised(std::span<const int> soprano, std::span<const int32_t> symbols);

struct PairCuts {
  int64_t longest = 2048;  // tokens of a side, its END included
  double at = 0.5;         // where a span of time that holds more is cut in two, and so on
};

// In the order of time. Notes end where their window does. Windows without any note are left out,
// and hundredths of a second that hold more notes than fit.
std::vector<EncodedPair> accompaniment_pairs(std::span<const ChoraleStep> chorale,
                                             const PairCuts& cuts);
std::vector<EncodedPair> accompaniment_pairs(const MelodySplit& performance, const PairCuts& cuts);

}  // namespace heed
