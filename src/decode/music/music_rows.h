// Pieces of music while a model says them, symbol by symbol: how long each is by now, when it is
// long enough, and what is told of all of them. Belongs to one thread.
#pragma once

#include <cstdint>
#include <vector>

#include "decode/music/music.h"

namespace heed {

// The clock of a sequence of symbols. It counts steps: those of 10 ms, or sixteenths.
class MusicClock {
 public:
  // A chorale's sixteenth lasts so many seconds and has a symbol for each of so many voices.
  MusicClock(MusicForm form, double sixteenth, int voices = kVoices)
      : form_(form), sixteenth_(sixteenth), voices_(voices) {}

  void add(int32_t symbol);
  double seconds() const;  // as notes have it, to the last bit
  int64_t steps() const { return steps_; }
  MusicForm form() const { return form_; }
  int voices() const { return voices_; }

 private:
  MusicForm form_;
  double sixteenth_;
  int voices_;
  int64_t steps_ = 0;
  int64_t symbols_ = 0;
};

// The symbol of a token that is not a special one.
int32_t symbol_of(int32_t token);
// `before` is what the voice said a sixteenth ago, in a chorale.
bool begins_note(MusicForm form, int32_t symbol, int32_t before);

struct MusicLimits {
  double seconds = 0.0;  // of what is added; 0: any number
  int64_t tokens = 0;    // at most, for the share that is told
};

class MusicRows {
 public:
  // All begin with the same symbols, which the clock has counted. The callback must outlive it.
  MusicRows(size_t rows, const MusicClock& clock, const std::vector<int32_t>& symbols,
            const MusicLimits& limits, const MusicCallback& progress);

  // False once the row is long enough.
  bool add(size_t row, int32_t token);

  size_t size() const { return rows_.size(); }
  const std::vector<int32_t>& symbols(size_t row) const { return rows_[row].symbols; }
  double seconds(size_t row) const { return rows_[row].clock.seconds(); }

 private:
  struct Row {
    MusicClock clock;
    std::vector<int32_t> symbols;
    int64_t added = 0;
  };
  double share_of(const Row& row) const;

  MusicLimits limits_;
  double begin_;  // seconds, of what was there at first
  const MusicCallback& progress_;
  std::vector<Row> rows_;
  MusicProgress told_;
};

}  // namespace heed
