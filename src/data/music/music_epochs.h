// Music for training, epoch after epoch: pieces, or crops of those that are longer than a window,
// each time transposed and stretched anew.
//
// A piece yields as many crops as it takes windows to cover it. Which crops, and how they are
// changed, is a pure function of (seed, epoch, number of the crop), so a DataState says where a run
// stands, as in data/batches.h. No row holds more than one piece.
#pragma once

#include <cstdint>
#include <vector>

#include "base/random.h"
#include "data/batches.h"
#include "data/music/music_pieces.h"

namespace heed {

// Draws a transposition of up to this many semitones either way, and one of the factors.
Augmentation draw_augmentation(const RandomStream& random, int64_t transpose,
                               const std::vector<double>& stretch);

// B rows, padded to T.
struct MusicBatch {
  int64_t rows = 0;
  int64_t width = 0;
  std::vector<int32_t> input = {};   // [B,T]
  std::vector<int32_t> target = {};  // [B,T]: the token after each input; `ignored` in padding
  int64_t count = 0;                 // targets without padding
};

class MusicEpochs {
 public:
  struct Options {
    MusicForm form = MusicForm::performance;
    int64_t length = 2048;        // of a window
    int64_t batch_tokens = 8192;  // with padding; a window that is longer is a batch of its own
    uint64_t seed = 1;
    int64_t transpose = 0;                // up to this many semitones either way
    std::vector<double> stretch = {1.0};  // factors, all equally likely
    int32_t ignored = -100;
  };
  MusicEpochs(std::vector<MusicPiece> pieces, Options options);

  // The batch at the state; advances the state.
  MusicBatch next(DataState& state);
  int64_t epoch_batches() const { return std::ssize(batches_); }  // of every epoch
  int64_t tokens() const { return tokens_; }    // of all pieces as they are, START not counted
  int64_t longest() const { return longest_; }  // of them

  // How the crop is changed in the epoch.
  Augmentation augmentation(int64_t epoch, int64_t crop) const;

 private:
  struct Crop {
    int64_t piece = 0;
    int64_t width = 0;  // targets in it, if it is not stretched
  };

  void plan(int64_t epoch);
  void add_row(int64_t epoch, int64_t crop, std::vector<std::vector<int32_t>>& rows) const;

  std::vector<MusicPiece> pieces_;
  Options options_;
  std::vector<Crop> crops_;
  int64_t tokens_ = 0;
  int64_t longest_ = 0;
  int64_t epoch_ = -1;
  std::vector<std::vector<int64_t>> batches_;  // crops of this epoch's
};

}  // namespace heed
