// How a translation fills in, as text and as a picture: what stands there after each pass of a
// decoder, with what is new or has changed. Pure functions.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace heed::cli {

// The pieces after each pass, an empty one where there is none yet.
using Passes = std::vector<std::vector<std::string>>;

enum class PieceState { open, fresh, changed, kept };
// Of a piece, compared with the same place in the pass before.
PieceState state_of(const Passes& passes, size_t pass, size_t place);

// A line for each pass: its number, a tab and the pieces, "_" for one that is open.
std::string filling_text(const Passes& passes);

struct FilledText {
  std::string name;  // of the decoder
  Passes passes;
};
// As an SVG, one decoder below the other.
std::string render_filling(const std::string& source, std::span<const FilledText> texts);

}  // namespace heed::cli
