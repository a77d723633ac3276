// What is asked of a model that continues music, and what becomes of the tokens that it says.
// continue_music() makes it whole; whoever draws tokens in other ways takes this.
//
// Immutable; the model must outlive it.
#pragma once

#include <span>
#include <vector>

#include "decode/music/music_rows.h"

namespace heed {

class Composition {
 public:
  // An Error for a motif or options that cannot be.
  Composition(const LoadedLanguageModel& model, std::span<const Note> motif,
              const MusicOptions& options);

  const std::vector<int32_t>& prompt() const { return prompt_; }  // START and the motif
  GenerateOptions generating() const;
  // For pieces that all begin with the motif; the callback must outlive them.
  MusicRows rows(size_t pieces, const MusicCallback& progress) const;
  // The row as a piece, from what was drawn for it.
  ContinuedPiece finish(const MusicRows& rows, size_t row, const Generated& made) const;

 private:
  double limit() const { return clock_.seconds() + options_.seconds; }

  MusicForm form_;
  SpecialIds special_;
  MusicOptions options_;
  MusicClock clock_;            // at the end of the motif
  std::vector<int32_t> motif_;  // symbols
  std::vector<int32_t> prompt_;
};

}  // namespace heed
