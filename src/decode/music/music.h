// Music that goes on where a motif ends, or begins by itself.
//
// Works with every language model whose tokens are music (data/music/music_tokens.h), in both
// forms. Pieces are independent: which music a motif is followed by depends on it, the options and
// the piece's number alone. A model may be used by several threads at once.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "data/music/music_tokens.h"
#include "decode/text/generate.h"
#include "formats/midi.h"
#include "music/note.h"

namespace heed {

struct MusicOptions {
  SamplingOptions sampling = {};
  double seconds = 0.0;  // of new music; 0: only max_tokens ends it
  int64_t max_tokens = 1024;
  int64_t pieces = 1;  // piece i is the same whatever their number
  uint64_t seed = 1;
  double quarters_per_minute = 80.0;  // of a chorale, whose grid is sixteenths
};

struct ContinuedPiece {
  std::vector<Note> notes;  // the motif's and the new ones, by start
  // Notes that start before it are the motif's, the others new. Where the motif's last note ends,
  // to 10 ms in a performance and to a sixteenth in a chorale.
  double motif_end = 0.0;       // seconds
  double duration = 0.0;        // motif included; what is silent at the end too
  std::vector<int32_t> tokens;  // START, the motif and what was made, without END
  size_t motif_tokens = 1;      // of them, START included
  GenerateEnd end = GenerateEnd::length;
  int64_t forgotten = 0;  // as of Generated

  bool is_new(const Note& note) const { return note.start >= motif_end; }
};

// How far all pieces together are.
struct MusicProgress {
  int64_t tokens = 0;
  int64_t notes = 0;
  double seconds = 0.0;
  double share = 0.0;  // of the limits, 0 to 1; pieces may end earlier by themselves
};
using MusicCallback = std::function<void(const MusicProgress&)>;

// An empty motif is an improvisation. Special tokens but END are never drawn. Notes of a
// performance that still sound when the music ends, end then. In a chorale a voice that stays on
// its pitch holds its note, also the motif's last.
std::vector<ContinuedPiece> continue_music(const LoadedLanguageModel& model,
                                           std::span<const Note> motif, const MusicOptions& options,
                                           const MusicCallback& progress = {});

// The form of a model's music; an Error for a model of text.
MusicForm music_of(const LoadedFolder& model);

// A sixteenth's length; an Error for a tempo that is none.
double sixteenth_seconds(double quarters_per_minute);
// Attention looks at all of what is given: a few bytes of MIDI must not take hours.
void check_prompt(int64_t tokens);
// Enough for so many seconds of any music, so that a model which never moves the clock ends too.
int64_t most_tokens(double seconds);

// Four voices from soprano to bass by the order of the pitches that sound in each sixteenth;
// percussion is left out. More than four at once are an Error.
Chorale quantise_chorale(std::span<const Note> notes, double quarters_per_minute);

// The highest pitch in each sixteenth, or kSilence; percussion is left out. The notes should be of
// one line (music/melody.h): every sixteenth of every note takes its time.
std::vector<int> quantise_melody(std::span<const Note> notes, double quarters_per_minute);

// The notes as they are if the whole piece is played at the tempo it begins with, which is
// returned; without one it is MIDI's 120 quarters a minute.
double even_tempo(MidiPiece& piece);

// Which tokens of a piece its notes are made of.
struct NoteTokens {
  // The note that each token is part of, or -1: keys that go down and up, a velocity right before
  // the key it is for, every sixteenth of a chorale's note.
  std::vector<int64_t> note_of_token;
  std::vector<size_t> token_of_note;  // that begins it: the key going down, its first sixteenth
};
NoteTokens note_tokens(const ContinuedPiece& piece, MusicForm form);

}  // namespace heed
