// Which notes each new note looked back at, as an interactive page that needs nothing but itself.
// Pure functions.
#pragma once

#include <string>

#include "decode/music/note_attention.h"

namespace heed::cli {

// The attention is of the piece and has at least one query.
std::string render_music_page(const std::string& title, const ContinuedPiece& piece,
                              const NoteAttention& attention);

}  // namespace heed::cli
