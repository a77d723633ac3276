// Which notes a model looked back at, note by note: the weights of its attention summed over the
// tokens of each note. May be called from several threads.
#pragma once

#include <cstdint>
#include <vector>

#include "decode/music/music.h"

namespace heed {

struct NoteAttentionLayer {
  int64_t layer = 0;
  int64_t heads = 0;
  // [heads, queries, keys + 1]: how a new note's first token spreads its attention over the notes;
  // the last column has the tokens that are part of none, as shifts of the clock. Rows sum to 1.
  std::vector<float> weights;
};

struct NoteAttention {
  std::vector<size_t> queries;  // the new notes, as indices of the piece's
  std::vector<size_t> keys;     // all notes that have a token among those shown
  std::vector<NoteAttentionLayer> layers;
  size_t first_token = 0;  // tokens before it were not shown
};

inline constexpr int64_t kMostAttentionTokens = 1024;  // maps grow with the square

// One pass over the piece's last tokens, kMostAttentionTokens or what the model can look at. A
// model without attention is an Error.
NoteAttention attention_of_notes(const LoadedLanguageModel& model, const ContinuedPiece& piece);

// What attention_of_notes() would find out later.
void check_has_attention(const LoadedLanguageModel& model);

}  // namespace heed
