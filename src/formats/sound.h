// Notes as sound; the only file pair that knows FluidSynth.
//
// The library is loaded when it is first used, since it brings dozens of others that the rest of
// the program does not need. Every function may be called from several threads.
#pragma once

#include <filesystem>
#include <span>
#include <string>

#include "music/note.h"

namespace heed {

inline constexpr int kSoundRate = 44100;         // frames a second, of two samples of 16 bits
inline constexpr double kRingOut = 2.0;          // seconds after the last note
inline constexpr double kLongestSound = 3600.0;  // seconds; a WAV file of one hour has 635 MB

// The instruments: $HEED_SOUNDFONT, or where Debian puts TimGM6mb.
std::filesystem::path soundfont_path();

// Empty if there can be sound, else what is missing and how to get it.
std::string why_no_sound();

// The bytes of a WAV file: a grand piano, and drums on their channel. As fast as it can be
// computed. Throws Error if why_no_sound() says so, or the soundfont cannot be used.
std::string encode_wav(std::span<const Note> notes);
void write_wav(const std::filesystem::path& path, std::span<const Note> notes);  // atomically

}  // namespace heed
