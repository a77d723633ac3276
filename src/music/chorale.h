// Four-part chorales on a grid of sixteenth notes, as Bach's are published for models to learn
// from (the JSB chorales of Boulanger-Lewandowski et al., 2012), and as sequences of tokens.
// Every function may be called from several threads.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

#include "music/note.h"

namespace heed {

inline constexpr int kVoices = 4;    // soprano, alto, tenor, bass
inline constexpr int kSilence = -1;  // instead of a pitch

using ChoraleStep = std::array<int, kVoices>;  // pitches, or kSilence
using Chorale = std::vector<ChoraleStep>;      // one step a sixteenth

struct ChoraleSplits {
  std::vector<Chorale> train;
  std::vector<Chorale> valid;
  std::vector<Chorale> test;
};

// JSON, plain or gzip: {"train": [piece, ...], "valid": ..., "test": ...}, a piece a list of steps,
// a step a list of at most four pitches. Jsb16thSeparated.json has four each, with -1 for silence.
// jsb-chorales-16th.json leaves silent voices out; those that remain are taken from soprano down,
// since the file does not say which they are. Errors name the file and the step.
ChoraleSplits read_chorales(const std::filesystem::path& path);
ChoraleSplits parse_chorales(std::string_view json, std::string_view name = "chorales");

// A token is a pitch, or kChoraleSilence. The order is the Music Transformer's for these pieces
// (Huang et al., 2018): step by step, within one from soprano to bass.
inline constexpr int32_t kChoraleSilence = 128;
inline constexpr int32_t kChoraleTokens = 129;

std::vector<int32_t> encode_chorale(const Chorale& chorale);
// Voices that are missing in the last step are silent. An id that is not a token is an Error.
Chorale decode_chorale(std::span<const int32_t> ids);

// The grid does not tell a held note from a repeated one: equal pitches of a voice in consecutive
// steps are one note, held. Voices are channels 0 to 3; notes are sorted by start, then by voice.
std::vector<Note> chorale_notes(const Chorale& chorale, double quarters_per_minute = 80.0);

}  // namespace heed
