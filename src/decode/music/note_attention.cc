#include "decode/music/note_attention.h"

#include <algorithm>

#include "base/error.h"
#include "nn/scopes/attention_scope.h"

namespace heed {
namespace {

// What is summed: rows and columns of the maps, which begin with the first token shown.
struct Places {
  std::vector<int64_t> row;     // of each query
  std::vector<int64_t> column;  // that each token is added to
};

Places find_places(const ContinuedPiece& piece, const NoteTokens& tokens, NoteAttention& found) {
  std::vector<int64_t> column_of(piece.notes.size(), -1);
  for (size_t t = found.first_token; t < piece.tokens.size(); ++t) {
    const int64_t note = tokens.note_of_token[t];
    if (note >= 0 && column_of[static_cast<size_t>(note)] < 0) {
      column_of[static_cast<size_t>(note)] = std::ssize(found.keys);
      found.keys.push_back(static_cast<size_t>(note));
    }
  }
  Places places;
  for (size_t t = found.first_token; t < piece.tokens.size(); ++t) {
    const int64_t note = tokens.note_of_token[t];
    places.column.push_back(note < 0 ? std::ssize(found.keys)
                                     : column_of[static_cast<size_t>(note)]);
  }
  for (size_t note = 0; note < piece.notes.size(); ++note) {
    const size_t token = tokens.token_of_note[note];
    if (piece.is_new(piece.notes[note]) && token >= found.first_token) {
      found.queries.push_back(note);
      places.row.push_back(static_cast<int64_t>(token - found.first_token));
    }
  }
  return places;
}

NoteAttentionLayer sum_by_notes(const LayerAttention& map, const Places& places, int64_t columns) {
  const int64_t length = std::ssize(places.column);
  const Tensor& weights = map.weights;
  check(weights.dim(2) == length && weights.dim(3) == length,
        "[continue] layer {}'s attention is {} by {}, expected {} by {}", map.layer, weights.dim(2),
        weights.dim(3), length, length);
  NoteAttentionLayer sums{.layer = map.layer, .heads = weights.dim(1), .weights = {}};
  const int64_t rows = std::ssize(places.row);
  sums.weights.assign(static_cast<size_t>(sums.heads * rows * columns), 0.0F);
  for (int64_t head = 0; head < sums.heads; ++head) {
    for (int64_t r = 0; r < rows; ++r) {
      const float* from =
          weights.data<float>() + (head * length + places.row[static_cast<size_t>(r)]) * length;
      float* to = sums.weights.data() + (head * rows + r) * columns;
      for (int64_t t = 0; t < length; ++t) {
        to[places.column[static_cast<size_t>(t)]] += from[t];
      }
    }
  }
  return sums;
}

// The attention of tokens from the `first` of a piece on; a model with a context begins with them.
std::vector<LayerAttention> maps_of(const LoadedLanguageModel& model,
                                    std::span<const int32_t> tokens, size_t first) {
  const bool anew = model.model->context() > 0;
  AttentionScope scope;
  model.model->logits(Tensor::from_ints(tokens, {1, std::ssize(tokens)}),
                      anew ? 0 : static_cast<int64_t>(first));
  check(!scope.layers().empty(), "[continue] this model has no attention weights to show");
  return scope.take();
}

}  // namespace

NoteAttention attention_of_notes(const LoadedLanguageModel& model, const ContinuedPiece& piece) {
  const int64_t context = model.model->context();
  const int64_t most = context > 0 ? std::min(context, kMostAttentionTokens) : kMostAttentionTokens;
  NoteAttention found;
  found.first_token = static_cast<size_t>(std::max<int64_t>(0, std::ssize(piece.tokens) - most));
  const NoteTokens tokens = note_tokens(piece, music_of(model));
  const Places places = find_places(piece, tokens, found);
  for (const LayerAttention& map :
       maps_of(model, std::span(piece.tokens).subspan(found.first_token), found.first_token)) {
    found.layers.push_back(sum_by_notes(map, places, std::ssize(found.keys) + 1));
  }
  return found;
}

void check_has_attention(const LoadedLanguageModel& model) {
  const int32_t start = model.tokenizers.target->special().start;
  maps_of(model, std::span(&start, 1), 0);
}

}  // namespace heed
