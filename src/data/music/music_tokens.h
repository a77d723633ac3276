// Music as the tokens of a language model: a vocabulary of symbols, after the four special tokens.
// Model folders keep it as any other tokenizer, so everything that takes a language model takes a
// music model too; symbols are written with spaces between.
// Every function may be called from several threads.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "music/chorale.h"
#include "music/note.h"
#include "text/tokenizer.h"

namespace heed {

enum class MusicForm {
  performance,  // the 388 events of music/performance.h
  chorale,      // the pitches of four voices by turns: music/chorale.h
};

inline constexpr int32_t kMusicStart = 1;  // before every piece
inline constexpr int32_t kMusicEnd = 2;    // and after it

std::shared_ptr<const Tokenizer> music_tokenizer(MusicForm form);
// Which form a tokenizer has; an Error if it is not a vocabulary of music.
MusicForm music_form(const Tokenizer& tokenizer);

// The pitch that each token of the form is about, or kNoPitch, which is far below every pitch and
// no semitones from itself.
inline constexpr int32_t kNoPitch = -(1 << 20);
std::vector<int32_t> music_pitches(MusicForm form);

// Symbols of music/ to tokens and back; special tokens are left out.
std::vector<int32_t> music_tokens(std::span<const int32_t> symbols);
std::vector<int32_t> music_symbols(std::span<const int32_t> tokens);

}  // namespace heed
