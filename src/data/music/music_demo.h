// A small corpus of music composed by rules, so that training works without any file: a motif, its
// repetition, sequences (the motif on other degrees of the scale), inversions and cadences, and
// between them the motif again and again. So it is known what a piece returns to, and whether
// a model has learned it can be measured. A piece is a function of (seed, index) alone. Every
// function may be called from several threads.
#pragma once

#include <cstdint>
#include <vector>

#include "music/note.h"

namespace heed {

enum class DemoSectionKind { motif, sequence, inversion, cadence };

struct DemoSection {
  DemoSectionKind kind = DemoSectionKind::motif;
  int64_t first = 0;  // note
  int64_t count = 0;
};

struct DemoPiece {
  std::vector<Note> notes;  // one after the other, on steps of 10 ms
  std::vector<DemoSection> sections;
};

struct DemoPieceOptions {
  uint64_t seed = 1;
  uint64_t index = 0;
  int64_t sections = 12;  // the motif twice, then by turns something else and the motif
};
DemoPiece compose_demo(const DemoPieceOptions& options);

}  // namespace heed
