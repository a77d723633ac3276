#include "decode/music/music_rows.h"

#include <algorithm>

#include "music/performance.h"

namespace heed {

void MusicClock::add(int32_t symbol) {
  if (form_ == MusicForm::chorale) {
    steps_ = ++symbols_ / voices_;
  } else if (symbol >= kTimeShift && symbol < kVelocity) {
    steps_ += symbol - kTimeShift + 1;
  }
}

double MusicClock::seconds() const {
  const auto steps = static_cast<double>(steps_);
  return form_ == MusicForm::performance ? steps / kStepsPerSecond : steps * sixteenth_;
}

int32_t symbol_of(int32_t token) { return music_symbols(std::span(&token, 1)).front(); }

bool begins_note(MusicForm form, int32_t symbol, int32_t before) {
  return form == MusicForm::performance ? symbol < kNoteOff
                                        : symbol != kChoraleSilence && symbol != before;
}

MusicRows::MusicRows(size_t rows, const MusicClock& clock, const std::vector<int32_t>& symbols,
                     const MusicLimits& limits, const MusicCallback& progress)
    : limits_(limits),
      begin_(clock.seconds()),
      progress_(progress),
      rows_(rows, Row{clock, symbols, 0}) {}

bool MusicRows::add(size_t index, int32_t token) {
  Row& row = rows_[index];
  const int32_t symbol = symbol_of(token);
  const auto voices = static_cast<size_t>(row.clock.voices());
  const int32_t before =
      row.symbols.size() >= voices ? row.symbols[row.symbols.size() - voices] : -1;
  const double seconds = row.clock.seconds();
  const double share = share_of(row);
  row.clock.add(symbol);
  row.symbols.push_back(symbol);
  ++row.added;
  told_.tokens += 1;
  told_.notes += begins_note(row.clock.form(), symbol, before) ? 1 : 0;
  told_.seconds += row.clock.seconds() - seconds;
  told_.share += (share_of(row) - share) / static_cast<double>(rows_.size());
  if (progress_) {
    progress_(told_);
  }
  constexpr double kRounding = 1e-6;
  return limits_.seconds == 0.0 || row.clock.seconds() < begin_ + limits_.seconds - kRounding;
}

double MusicRows::share_of(const Row& row) const {
  const double tokens = static_cast<double>(row.added) / static_cast<double>(limits_.tokens);
  const double seconds = row.clock.seconds() - begin_;
  return std::min(1.0, std::max(tokens, limits_.seconds > 0.0 ? seconds / limits_.seconds : 0.0));
}

}  // namespace heed
