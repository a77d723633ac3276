// Small pieces of music for tests.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "formats/midi.h"
#include "music/note.h"

namespace heed::testing {

// Notes a quarter of a second apart, from `lowest` up a broken chord and down again.
inline std::vector<Note> tiny_tune(int lowest, int notes) {
  static constexpr int kChord[] = {0, 4, 7, 12, 7, 4};
  std::vector<Note> tune;
  for (int i = 0; i < notes; ++i) {
    tune.push_back({.start = 0.25 * i,
                    .end = 0.25 * i + 0.2,
                    .pitch = lowest + kChord[i % 6],
                    .velocity = 70,
                    .channel = 0});
  }
  return tune;
}

// Files tune-0.mid ... in the folder, each a semitone above the one before.
inline void write_tunes(const std::filesystem::path& folder, int count, int notes) {
  std::filesystem::create_directories(folder);
  for (int i = 0; i < count; ++i) {
    write_midi(folder / ("tune-" + std::to_string(i) + ".mid"), tiny_tune(48 + i % 12, notes));
  }
}

}  // namespace heed::testing
