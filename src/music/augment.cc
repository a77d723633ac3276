#include "music/augment.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace heed {

std::vector<Note> transpose(std::span<const Note> notes, int semitones, PitchRange range) {
  check(range.lowest >= 0 && range.lowest <= range.highest && range.highest < kPitches,
        "[transpose] pitches {} to {}, expected a range within 0 to {}", range.lowest,
        range.highest, kPitches - 1);
  check(std::abs(semitones) < kPitches, "[transpose] {} semitones, expected at most {} either way",
        semitones, kPitches - 1);
  std::vector<Note> result;
  result.reserve(notes.size());
  for (Note note : notes) {
    if (note.channel == kPercussion) {
      result.push_back(note);
      continue;
    }
    note.pitch += semitones;
    if (note.pitch >= range.lowest && note.pitch <= range.highest) {
      result.push_back(note);
    }
  }
  return result;
}

Chorale transpose_chorale(Chorale chorale, int semitones) {
  int lowest = kPitches - 1;
  int highest = 0;
  for (const ChoraleStep& step : chorale) {
    for (const int pitch : step) {
      lowest = pitch == kSilence ? lowest : std::min(lowest, pitch);
      highest = std::max(highest, pitch);
    }
  }
  const int by = std::clamp(semitones, -lowest, kPitches - 1 - highest);
  for (ChoraleStep& step : chorale) {
    for (int& pitch : step) {
      pitch += pitch == kSilence ? 0 : by;
    }
  }
  return chorale;
}

std::vector<Note> stretch(std::span<const Note> notes, double factor) {
  check(std::isfinite(factor) && factor > 0.0, "[stretch] factor {}, expected a positive number",
        factor);
  std::vector<Note> result(notes.begin(), notes.end());
  for (Note& note : result) {
    note.start *= factor;
    note.end *= factor;
  }
  return result;
}

}  // namespace heed
