#include "music/performance.h"

#include <algorithm>
#include <array>
#include <optional>
#include <tuple>

#include "base/error.h"
#include "music/note_events.h"

namespace heed {
namespace {

void check_symbol(int32_t id) {
  check(id >= 0 && id < kPerformanceSymbols, "[performance] symbol {}, expected 0 to {}", id,
        kPerformanceSymbols - 1);
}

class Player {
 public:
  void play(int32_t id) {
    if (id < kNoteOff) {
      release(id - kNoteOn);
      down_[static_cast<size_t>(id - kNoteOn)] = Key{.step = now_, .velocity = velocity_};
    } else if (id < kTimeShift) {
      release(id - kNoteOff);
    } else if (id < kVelocity) {
      now_ += id - kTimeShift + 1;
    } else {
      velocity_ = bin_velocity(id - kVelocity);
    }
  }

  std::vector<Note> finish() {
    for (int pitch = 0; pitch < kPitches; ++pitch) {
      release(pitch);
    }
    std::sort(notes_.begin(), notes_.end(), [](const Note& a, const Note& b) {
      return std::tuple(a.start, a.pitch) < std::tuple(b.start, b.pitch);
    });
    return std::move(notes_);
  }

 private:
  struct Key {
    int64_t step;
    int velocity;
  };

  void release(int pitch) {
    std::optional<Key>& key = down_[static_cast<size_t>(pitch)];
    if (key && key->step < now_) {
      notes_.push_back({.start = static_cast<double>(key->step) / kStepsPerSecond,
                        .end = static_cast<double>(now_) / kStepsPerSecond,
                        .pitch = pitch,
                        .velocity = key->velocity,
                        .channel = 0});
    }
    key.reset();
  }

  int64_t now_ = 0;
  int velocity_ = 64;
  std::array<std::optional<Key>, kPitches> down_;
  std::vector<Note> notes_;
};

}  // namespace

std::vector<int32_t> encode_performance(std::span<const Note> notes) {
  std::vector<Note> pooled;
  for (Note note : notes) {
    if (note.channel != kPercussion) {
      note.channel = 0;
      pooled.push_back(note);
    }
  }
  std::vector<int32_t> ids;
  int64_t now = 0;
  int bin = -1;
  for (const NoteEvent& event : note_events(pooled, kStepsPerSecond)) {
    while (now < event.step) {
      const auto shift = static_cast<int32_t>(std::min<int64_t>(event.step - now, kLongestShift));
      ids.push_back(kTimeShift + shift - 1);
      now += shift;
    }
    if (event.on && velocity_bin(event.velocity) != bin) {
      bin = velocity_bin(event.velocity);
      ids.push_back(kVelocity + bin);
    }
    ids.push_back((event.on ? kNoteOn : kNoteOff) + event.pitch);
  }
  return ids;
}

std::vector<Note> decode_performance(std::span<const int32_t> ids) {
  Player player;
  for (const int32_t id : ids) {
    check_symbol(id);
    player.play(id);
  }
  return player.finish();
}

std::string performance_symbol(int32_t id) {
  check_symbol(id);
  if (id < kNoteOff) {
    return fmt::format("NOTE_ON<{}>", id - kNoteOn);
  }
  if (id < kTimeShift) {
    return fmt::format("NOTE_OFF<{}>", id - kNoteOff);
  }
  if (id < kVelocity) {
    return fmt::format("TIME_SHIFT<{}>", (id - kTimeShift + 1) * 10);
  }
  return fmt::format("SET_VELOCITY<{}>", bin_velocity(id - kVelocity));
}

}  // namespace heed
