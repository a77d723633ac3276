// Standard MIDI files: read into notes with times in seconds, and written from notes.
//
// Formats 0 and 1 are read; format 2, whose tracks are pieces of their own, is an Error. Every
// function may be called from several threads.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "music/note.h"

namespace heed {

// The sustain pedal (controller 64) as it was moved; from 64 on it counts as down.
struct MidiPedal {
  double time = 0.0;  // seconds
  int channel = 0;
  int value = 0;  // 0 to 127
};

struct MidiTempo {
  double time = 0.0;
  double quarters_per_minute = 120.0;  // which is also the tempo of a file that gives none
};

struct MidiPiece {
  std::vector<Note> notes;        // by start, then pitch
  std::vector<MidiPedal> pedals;  // by time
  std::vector<MidiTempo> tempos;  // by time
  double duration = 0.0;          // up to the last event of any track
  int format = 0;
  int tracks = 0;
};

// A note lasts as long as its key is down; apply_pedal() adds the effect of the pedal. A note-on
// of velocity 0 is a note-off. A note-on of a pitch that sounds in the same track and channel ends
// the old note there and begins a new one; at the same moment the two are one note, as loud as the
// louder. A note-off without a note is ignored; notes that never end stop with their track. A note
// may have no length.
// Events that make no notes (other controllers, text, system exclusive data) are checked and
// skipped. Running status continues after them, which the standard forbids but some files do. Bytes
// after the last track are ignored.
// Throws Error on anything else that the standard does not allow, and on pieces longer than
// kLongestPiece; the Error has `name` and the offset of the byte.
MidiPiece decode_midi(std::span<const std::byte> bytes, std::string_view name = "MIDI");
MidiPiece read_midi(const std::filesystem::path& path);

// Prolongs notes that are released while the pedal of their channel is down: until it lifts, the
// pitch is struck again in the channel, or the piece ends. Which track a pedal is in does not
// matter. A pedal that goes down in the very moment of a release holds the note; one that lifts
// then does not.
void apply_pedal(MidiPiece& piece);

struct MidiWriting {
  int format = 0;  // 0: one track; 1: one of the tempo and one a channel
  // 500 at 120 quarters a minute are ticks of one millisecond.
  int ticks_per_quarter = 500;
  double quarters_per_minute = 120.0;
};

// Overlapping notes of a pitch and channel are resolved as music/note_events.h says, with ticks as
// steps; so a note lasts at least a tick.
std::string encode_midi(std::span<const Note> notes, const MidiWriting& options = {});
void write_midi(const std::filesystem::path& path, std::span<const Note> notes,
                const MidiWriting& options = {});  // atomically

}  // namespace heed
