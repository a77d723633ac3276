// Melodies with their accompaniments for training, epoch after epoch: pieces or windows of them,
// each time transposed, stretched and cut anew.
//
// What an epoch holds and in which order is a pure function of (seed, epoch), so a DataState says
// where a run stands, as in data/batches.h.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "data/batches.h"
#include "data/music/accompaniment.h"
#include "data/music/music_pieces.h"

namespace heed {

// How pieces become rows.
struct AccompanyRows {
  MusicForm form = MusicForm::performance;
  int64_t length = 2048;        // of a window, the longer side of it
  int64_t batch_tokens = 8192;  // with padding, on each side; a longer window is a batch of its own
};

// All pieces once as they are, for a held-out loss. The END of a chorale does not count
// (kIgnore), since its length is known.
std::vector<HostBatch> accompany_batches(const std::vector<MusicPiece>& pieces,
                                         const AccompanyRows& rows);

class AccompanyEpochs {
 public:
  struct Options {
    AccompanyRows rows = {};
    uint64_t seed = 1;
    int64_t transpose = 0;                // up to this many semitones either way
    std::vector<double> stretch = {1.0};  // factors, all equally likely
  };
  // It is an Error if no piece has an accompaniment.
  AccompanyEpochs(std::vector<MusicPiece> pieces, Options options);

  // The batch at the state; advances the state.
  HostBatch next(DataState& state);
  // Only if it is the same in every epoch, as with chorales: transposing keeps their lengths.
  std::optional<int64_t> epoch_batches() const;

 private:
  void plan(int64_t epoch);

  std::vector<MusicPiece> pieces_;
  Options options_;
  int64_t epoch_ = -1;
  std::vector<HostBatch> batches_;  // of this epoch
};

}  // namespace heed
