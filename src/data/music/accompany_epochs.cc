#include "data/music/accompany_epochs.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/error.h"
#include "base/random.h"
#include "data/music/music_epochs.h"
#include "data/shuffle.h"

namespace heed {
namespace {

std::vector<EncodedPair> pairs_of(const MusicPiece& piece, MusicForm form, const PairCuts& cuts) {
  return form == MusicForm::chorale ? accompaniment_pairs(piece.chorale, cuts)
                                    : accompaniment_pairs(split_melody(piece.notes), cuts);
}

std::vector<HostBatch> batches_of(const std::vector<EncodedPair>& pairs,
                                  const AccompanyRows& rows) {
  const SpecialIds special = music_tokenizer(rows.form)->special();
  std::vector<HostBatch> batches =
      make_batches(pairs, {.batch_tokens = rows.batch_tokens}, special, special);
  if (rows.form == MusicForm::chorale) {
    for (HostBatch& batch : batches) {
      std::replace(batch.target.begin(), batch.target.end(), special.end, kIgnore);
      batch.target_tokens -= batch.rows;
    }
  }
  return batches;
}

void append(std::vector<EncodedPair>& pairs, std::vector<EncodedPair> more) {
  std::move(more.begin(), more.end(), std::back_inserter(pairs));
}

}  // namespace

std::vector<HostBatch> accompany_batches(const std::vector<MusicPiece>& pieces,
                                         const AccompanyRows& rows) {
  std::vector<EncodedPair> pairs;
  for (const MusicPiece& piece : pieces) {
    append(pairs, pairs_of(piece, rows.form, {.longest = rows.length}));
  }
  return batches_of(pairs, rows);
}

AccompanyEpochs::AccompanyEpochs(std::vector<MusicPiece> pieces, Options options)
    : pieces_(std::move(pieces)), options_(std::move(options)) {
  check(!pieces_.empty(), "[music] there is no piece to train on");
  plan(0);
  const bool some = std::any_of(batches_.begin(), batches_.end(), [](const HostBatch& batch) {
    return std::any_of(batch.target_lengths.begin(), batch.target_lengths.end(),
                       [](int32_t length) { return length > 1; });  // more than END
  });
  check(some, "[music] none of {} pieces has notes below its melody: there is no accompaniment",
        pieces_.size());
}

std::optional<int64_t> AccompanyEpochs::epoch_batches() const {
  return options_.rows.form == MusicForm::chorale ? std::optional(std::ssize(batches_))
                                                  : std::nullopt;
}

// Shuffled before sorting, since pairs of equal lengths keep their order; the batches are shuffled
// last.
void AccompanyEpochs::plan(int64_t epoch) {
  if (epoch == epoch_) {
    return;
  }
  epoch_ = epoch;
  const auto stream = [&](const char* what, size_t number) {
    return RandomStream{options_.seed,
                        stream_of(fmt::format("accompany {} {} {}", what, epoch, number))};
  };
  const MusicForm form = options_.rows.form;
  std::vector<EncodedPair> pairs;
  for (size_t i = 0; i < pieces_.size(); ++i) {
    PairCuts cuts{.longest = options_.rows.length};
    if (form == MusicForm::performance) {
      cuts.at = 0.4 + 0.2 * stream("cut", i).uniform(0);
    }
    const Augmentation change =
        draw_augmentation(stream("piece", i), options_.transpose, options_.stretch);
    append(pairs, pairs_of(augmented(pieces_[i], form, change), form, cuts));
  }
  shuffle(pairs, stream("order", 0));
  batches_ = batches_of(pairs, options_.rows);
  shuffle(batches_, stream("batches", 0));
}

HostBatch AccompanyEpochs::next(DataState& state) {
  plan(state.epoch);
  check(state.batch >= 0 && state.batch < std::ssize(batches_),
        "[music] the run continues with batch {}, but epoch {} has only {}; have the files or the "
        "options changed?",
        state.batch, state.epoch, batches_.size());
  HostBatch batch = batches_[static_cast<size_t>(state.batch)];
  state = state.batch + 1 < std::ssize(batches_)
              ? DataState{.epoch = state.epoch, .batch = state.batch + 1}
              : DataState{.epoch = state.epoch + 1};
  batch.after = state;
  return batch;
}

}  // namespace heed
