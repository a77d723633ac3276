// Piano performances as sequences of 388 symbols, after Oore et al., "This time with feeling"
// (2018) and the Music Transformer (Huang et al., 2018): 128 keys that go down, 128 that go up, 100
// shifts of the clock by 10 ms to 1 s, and 32 velocities for the notes to come.
// Every function may be called from several threads.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "music/note.h"

namespace heed {

inline constexpr int32_t kNoteOn = 0;       // + pitch
inline constexpr int32_t kNoteOff = 128;    // + pitch
inline constexpr int32_t kTimeShift = 256;  // + steps - 1
inline constexpr int32_t kVelocity = 356;   // + bin
inline constexpr int32_t kPerformanceSymbols = 388;

inline constexpr double kStepsPerSecond = 100.0;
inline constexpr int32_t kLongestShift = 100;  // steps
inline constexpr int kVelocitiesPerBin = 4;    // 1 to 4, 5 to 8, ..., 125 to 127

constexpr int velocity_bin(int velocity) { return (velocity - 1) / kVelocitiesPerBin; }
// The one that stands for a bin: its second, so at most two away from what was played.
constexpr int bin_velocity(int bin) { return bin * kVelocitiesPerBin + 2; }

// Moments are rounded to steps of 10 ms from the beginning of the piece, so that errors do not add
// up. Channels are pooled, overlapping notes of a pitch resolved as note_events.h says, and
// percussion is left out. A velocity is given where it changes.
std::vector<int32_t> encode_performance(std::span<const Note> notes);

// Any sequence of symbols is a piece: a key that goes up without being down is ignored, one that
// goes down twice ends its first note, notes still down end with the piece, and notes of no length
// vanish. The velocity is 64 until one is set. Notes are sorted by start, then pitch, and all in
// channel 0. An id that is not a symbol is an Error.
std::vector<Note> decode_performance(std::span<const int32_t> ids);

// As the paper writes them: "NOTE_ON<60>", "NOTE_OFF<60>", "TIME_SHIFT<500>" (in ms),
// "SET_VELOCITY<78>". Throws if out of range.
std::string performance_symbol(int32_t id);

}  // namespace heed
