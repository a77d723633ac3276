// Notes as the keys of an instrument go down and up, at the steps of an even grid: what MIDI files
// and performance events are made of. Every function may be called from several threads.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "music/note.h"

namespace heed {

struct NoteEvent {
  int64_t step = 0;
  bool on = false;
  int pitch = 0;
  int velocity = 0;  // of the note, also where it ends
  int channel = 0;
};

// Sorted by step; within one, keys go up before others go down, low ones first. Moments are rounded
// to the nearest step, and every note lasts at least one. A key can only be down once: a note whose
// pitch still sounds in its channel ends the old one, and notes of a pitch and channel that begin
// at the same step are one, as loud as the loudest and as long as the longest. So every "on" has
// its "off" before the next "on" of the key.
// Throws Error if a note has numbers that note.h does not allow, or ends before it starts.
std::vector<NoteEvent> note_events(std::span<const Note> notes, double steps_per_second);

}  // namespace heed
