#include "music/melody.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <tuple>

#include "base/error.h"

namespace heed {
namespace {

double moment_of(const Note& note) {
  constexpr double kTogether = 0.05;  // seconds
  return note.start + std::min(kTogether, (note.end - note.start) / 2);
}

}  // namespace

MelodySplit split_melody(std::span<const Note> all) {
  std::vector<Note> notes;
  for (const Note& note : all) {
    check(note.pitch >= 0 && note.pitch < kPitches, "[melody] pitch {}, expected 0 to {}",
          note.pitch, kPitches - 1);
    if (note.channel != kPercussion) {
      notes.push_back(note);
    }
  }
  std::sort(notes.begin(), notes.end(), [](const Note& a, const Note& b) {
    return std::tuple(a.start, a.pitch) < std::tuple(b.start, b.pitch);
  });
  std::vector<size_t> by_moment(notes.size());
  std::iota(by_moment.begin(), by_moment.end(), size_t{0});
  std::stable_sort(by_moment.begin(), by_moment.end(),
                   [&](size_t a, size_t b) { return moment_of(notes[a]) < moment_of(notes[b]); });
  std::array<double, kPitches> until;  // when each pitch falls silent, of notes that have begun
  until.fill(-std::numeric_limits<double>::infinity());
  std::vector<bool> hidden(notes.size());
  size_t begun = 0;
  for (const size_t i : by_moment) {
    const double moment = moment_of(notes[i]);
    for (; begun < notes.size() && notes[begun].start <= moment; ++begun) {
      double& end = until[static_cast<size_t>(notes[begun].pitch)];
      end = std::max(end, notes[begun].end);
    }
    hidden[i] = std::any_of(until.begin() + notes[i].pitch + 1, until.end(),
                            [&](double end) { return end > moment; });
  }
  MelodySplit split;
  for (size_t i = 0; i < notes.size(); ++i) {
    (hidden[i] ? split.accompaniment : split.melody).push_back(notes[i]);
  }
  return split;
}

std::vector<Note> melody_line(std::span<const Note> melody) {
  std::vector<Note> line(melody.begin(), melody.end());
  double next = std::numeric_limits<double>::infinity();
  for (size_t i = line.size(); i-- > 0;) {
    if (i + 1 < line.size() && line[i + 1].start > line[i].start) {
      next = line[i + 1].start;
    }
    line[i].end = std::min(line[i].end, next);
  }
  return line;
}

}  // namespace heed
