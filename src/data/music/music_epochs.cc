#include "data/music/music_epochs.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "base/random.h"
#include "data/shuffle.h"

namespace heed {
namespace {

// Which number of a crop's stream is for what.
enum Draw : uint64_t { kTransposition, kStretch, kOffset };

RandomStream stream_for(uint64_t seed, const char* what, int64_t epoch, int64_t number) {
  return {seed, stream_of(fmt::format("music {} {} {}", what, epoch, number))};
}

int64_t below(int64_t count, uint32_t bits) {
  return static_cast<int64_t>((static_cast<uint64_t>(count) * bits) >> 32);
}

}  // namespace

Augmentation draw_augmentation(const RandomStream& random, int64_t transpose,
                               const std::vector<double>& stretch) {
  check(!stretch.empty(), "[music] data.stretch has no factors, expected at least one");
  const int64_t semitones = below(2 * transpose + 1, random.bits(kTransposition)) - transpose;
  const int64_t factor = below(std::ssize(stretch), random.bits(kStretch));
  return {.semitones = static_cast<int>(semitones),
          .stretch = stretch[static_cast<size_t>(factor)]};
}

MusicEpochs::MusicEpochs(std::vector<MusicPiece> pieces, Options options)
    : pieces_(std::move(pieces)), options_(std::move(options)) {
  check(!pieces_.empty(), "[music] there is no piece to train on");
  check(options_.length > 0, "[music] windows of {} tokens, expected more", options_.length);
  check(!options_.stretch.empty(), "[music] data.stretch has no factors, expected at least one");
  for (int64_t i = 0; i < std::ssize(pieces_); ++i) {
    const int64_t targets =
        std::ssize(piece_tokens(pieces_[static_cast<size_t>(i)], options_.form)) - 1;
    tokens_ += targets;
    longest_ = std::max(longest_, targets);
    for (int64_t covered = 0; covered < targets; covered += options_.length) {
      crops_.push_back({.piece = i, .width = std::min(options_.length, targets)});
    }
  }
  plan(0);
}

// Crops of about the same width share a batch, so that little is padding.
void MusicEpochs::plan(int64_t epoch) {
  if (epoch == epoch_) {
    return;
  }
  epoch_ = epoch;
  constexpr int64_t kMultiple = 16;
  const auto width = [&](int64_t crop) {
    return (crops_[static_cast<size_t>(crop)].width + kMultiple - 1) / kMultiple * kMultiple;
  };
  std::vector<int64_t> order(crops_.size());
  std::iota(order.begin(), order.end(), int64_t{0});
  shuffle(order, stream_for(options_.seed, "order", epoch, 0));
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return width(a) < width(b); });
  batches_.clear();
  for (const int64_t crop : order) {
    const bool fits = !batches_.empty() &&
                      (std::ssize(batches_.back()) + 1) * width(crop) <= options_.batch_tokens;
    if (!fits) {
      batches_.emplace_back();
    }
    batches_.back().push_back(crop);
  }
  shuffle(batches_, stream_for(options_.seed, "batches", epoch, 0));
}

Augmentation MusicEpochs::augmentation(int64_t epoch, int64_t crop) const {
  return draw_augmentation(stream_for(options_.seed, "crop", epoch, crop), options_.transpose,
                           options_.stretch);
}

// A window and the token after it, from anywhere in the piece.
void MusicEpochs::add_row(int64_t epoch, int64_t crop,
                          std::vector<std::vector<int32_t>>& rows) const {
  const MusicPiece& piece = pieces_[static_cast<size_t>(crops_[static_cast<size_t>(crop)].piece)];
  std::vector<int32_t> tokens = piece_tokens(piece, options_.form, augmentation(epoch, crop));
  const int64_t room = std::ssize(tokens) - (options_.length + 1);
  if (room > 0) {
    const RandomStream random = stream_for(options_.seed, "crop", epoch, crop);
    const auto begin = tokens.begin() + below(room + 1, random.bits(kOffset));
    tokens = std::vector<int32_t>(begin, begin + options_.length + 1);
  }
  rows.push_back(std::move(tokens));
}

MusicBatch MusicEpochs::next(DataState& state) {
  plan(state.epoch);
  check(state.batch >= 0 && state.batch < epoch_batches(),
        "[music] the run continues with batch {}, but an epoch has only {}; have the files or the "
        "options changed?",
        state.batch, epoch_batches());
  std::vector<std::vector<int32_t>> rows;
  for (const int64_t crop : batches_[static_cast<size_t>(state.batch)]) {
    add_row(state.epoch, crop, rows);
  }
  MusicBatch batch{.rows = std::ssize(rows)};
  for (const std::vector<int32_t>& row : rows) {
    batch.width = std::max(batch.width, std::ssize(row) - 1);
    batch.count += std::ssize(row) - 1;
  }
  const auto size = static_cast<size_t>(batch.rows * batch.width);
  batch.input.assign(size, 0);
  batch.target.assign(size, options_.ignored);
  for (int64_t r = 0; r < batch.rows; ++r) {
    const std::vector<int32_t>& row = rows[static_cast<size_t>(r)];
    std::copy(row.begin(), row.end() - 1, batch.input.begin() + r * batch.width);
    std::copy(row.begin() + 1, row.end(), batch.target.begin() + r * batch.width);
  }
  state = state.batch + 1 < epoch_batches()
              ? DataState{.epoch = state.epoch, .batch = state.batch + 1}
              : DataState{.epoch = state.epoch + 1};
  return batch;
}

}  // namespace heed
