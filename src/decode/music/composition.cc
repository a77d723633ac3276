#include "decode/music/composition.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "music/performance.h"

namespace heed {

Composition::Composition(const LoadedLanguageModel& model, std::span<const Note> motif,
                         const MusicOptions& options)
    : form_(music_of(model)),
      special_(model.tokenizers.target->special()),
      options_(options),
      clock_(form_, sixteenth_seconds(options.quarters_per_minute)) {
  check(
      std::isfinite(options.seconds) && options.seconds >= 0.0 && options.seconds <= kLongestPiece,
      "[continue] {} seconds of music, expected 0 to {}", options.seconds, kLongestPiece);
  check(options.max_tokens > 0, "[continue] {} tokens, expected some", options.max_tokens);
  motif_ = form_ == MusicForm::performance
               ? encode_performance(motif)
               : encode_chorale(quantise_chorale(motif, options.quarters_per_minute));
  check_prompt(std::ssize(motif_));
  for (const int32_t symbol : motif_) {
    clock_.add(symbol);
  }
  check(limit() <= kLongestPiece,
        "[continue] {:.0f} s of motif and {:.0f} s more, expected at most {} together",
        clock_.seconds(), options.seconds, kLongestPiece);
  prompt_ = music_tokens(motif_);
  prompt_.insert(prompt_.begin(), special_.start);
}

GenerateOptions Composition::generating() const {
  return {.sampling = options_.sampling,
          .max_tokens = options_.max_tokens,
          .seed = options_.seed,
          .forbidden = {special_.pad, special_.start, special_.unk}};
}

MusicRows Composition::rows(size_t pieces, const MusicCallback& progress) const {
  return {pieces,
          clock_,
          motif_,
          {.seconds = options_.seconds, .tokens = options_.max_tokens},
          progress};
}

ContinuedPiece Composition::finish(const MusicRows& rows, size_t row, const Generated& made) const {
  const std::vector<int32_t>& symbols = rows.symbols(row);
  const double seconds = rows.seconds(row);
  ContinuedPiece piece{
      .notes = form_ == MusicForm::performance
                   ? decode_performance(symbols)
                   : chorale_notes(decode_chorale(symbols), options_.quarters_per_minute),
      .motif_end = clock_.seconds(),
      .duration = options_.seconds > 0.0 ? std::min(seconds, limit()) : seconds,
      .tokens = prompt_,
      .motif_tokens = prompt_.size(),
      .end = made.end,
      .forgotten = made.forgotten};
  piece.tokens.insert(piece.tokens.end(), made.ids.begin(), made.ids.end());
  for (Note& note : piece.notes) {
    if (options_.seconds > 0.0) {
      // The last shift of the clock may go beyond; nothing begins there.
      note.end = std::min(note.end, limit());
    }
    // A chorale's last sixteenth may lack voices; the clock does not count it then.
    piece.duration = std::max(piece.duration, note.end);
  }
  return piece;
}

}  // namespace heed
