#include "music/note_events.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>

#include "base/error.h"

namespace heed {
namespace {

void check_note(const Note& note, size_t index) {
  check(note.pitch >= 0 && note.pitch < kPitches, "[notes] note {} has pitch {}, expected 0 to {}",
        index, note.pitch, kPitches - 1);
  check(note.velocity >= 1 && note.velocity <= 127,
        "[notes] note {} has velocity {}, expected 1 to 127", index, note.velocity);
  check(note.channel >= 0 && note.channel < kChannels,
        "[notes] note {} has channel {}, expected 0 to {}", index, note.channel, kChannels - 1);
  // Written so that NaN fails.
  check(note.start >= 0.0 && note.start <= note.end && note.end <= kLongestPiece,
        "[notes] note {} lasts from {} to {} s, expected 0 <= start <= end <= {}", index,
        note.start, note.end, kLongestPiece);
}

struct Candidate {
  NoteEvent event;
  int64_t end = 0;  // of the note
  size_t note = 0;
};

std::vector<Candidate> candidates(std::span<const Note> notes, double steps_per_second) {
  std::vector<Candidate> result;
  result.reserve(2 * notes.size());
  for (size_t i = 0; i < notes.size(); ++i) {
    const Note& note = notes[i];
    check_note(note, i);
    const int64_t start = std::llround(note.start * steps_per_second);
    const int64_t end = std::max<int64_t>(std::llround(note.end * steps_per_second), start + 1);
    NoteEvent event{.step = start,
                    .on = true,
                    .pitch = note.pitch,
                    .velocity = note.velocity,
                    .channel = note.channel};
    result.push_back({.event = event, .end = end, .note = i});
    event.step = end;
    event.on = false;
    result.push_back({.event = event, .end = end, .note = i});
  }
  const auto order = [](const Candidate& c) {
    return std::tuple(c.event.step, c.event.on, c.event.pitch, c.event.channel, -c.event.velocity,
                      c.note);
  };
  std::sort(result.begin(), result.end(),
            [&](const Candidate& a, const Candidate& b) { return order(a) < order(b); });
  return result;
}

}  // namespace

std::vector<NoteEvent> note_events(std::span<const Note> notes, double steps_per_second) {
  // The note that holds a key down, by channel and pitch.
  struct Key {
    bool down = false;
    NoteEvent on;
    int64_t end = 0;
    size_t note = 0;
  };
  std::array<std::array<Key, kPitches>, kChannels> keys;
  std::vector<NoteEvent> events;
  events.reserve(2 * notes.size());
  const auto release = [&](Key& key, int64_t step) {
    key.down = false;
    NoteEvent off = key.on;
    off.on = false;
    off.step = step;
    events.push_back(off);
  };
  for (const Candidate& c : candidates(notes, steps_per_second)) {
    const NoteEvent& event = c.event;
    Key& key = keys[static_cast<size_t>(event.channel)][static_cast<size_t>(event.pitch)];
    if (!event.on) {
      if (key.down && key.note == c.note) {
        release(key, event.step);
      }
    } else if (key.down && key.on.step == event.step) {
      if (c.end > key.end) {
        key.end = c.end;
        key.note = c.note;
      }
    } else {
      if (key.down) {
        release(key, event.step);
      }
      key = {.down = true, .on = event, .end = c.end, .note = c.note};
      events.push_back(event);
    }
  }
  // A key that was struck again went up among the keys that go down.
  const auto order = [](const NoteEvent& e) {
    return std::tuple(e.step, e.on, e.pitch, e.channel);
  };
  std::sort(events.begin(), events.end(),
            [&](const NoteEvent& a, const NoteEvent& b) { return order(a) < order(b); });
  return events;
}

}  // namespace heed
