#include "decode/music/accompany.h"

#include <algorithm>
#include <tuple>

#include "base/error.h"
#include "data/music/accompaniment.h"
#include "decode/conditioned.h"
#include "decode/music/music_rows.h"
#include "music/performance.h"

namespace heed {
namespace {

bool by_start(const Note& a, const Note& b) {
  return std::tuple(a.start, a.channel, a.pitch) < std::tuple(b.start, b.channel, b.pitch);
}

double end_of(std::span<const Note> notes) {
  double end = 0.0;
  for (const Note& note : notes) {
    end = std::max(end, note.end);
  }
  return end;
}

class Accompanist {
 public:
  Accompanist(const LoadedModel& model, std::span<const Note> melody, const MusicOptions& options)
      : model_(model), form_(music_of(model)), melody_(melody), options_(options) {
    if (form_ == MusicForm::chorale) {
      soprano_ = quantise_melody(melody_line(melody), options.quarters_per_minute);
      source_ = soprano_tokens(soprano_);
      limits_.tokens = std::ssize(source_);
    } else {
      constexpr double kAfter = 1.0;
      source_ = melody_tokens(melody);
      limits_.seconds = end_of(melody) + kAfter;
      limits_.tokens = most_tokens(limits_.seconds);
    }
    check_prompt(std::ssize(source_));
    fit(model.model->longest());
    source_.push_back(model.tokenizers.source->special().end);
  }

  std::vector<AccompaniedPiece> run(const MusicCallback& progress) const {
    const ConditionedModel conditioned(*model_.model, source_);
    LoadedLanguageModel said;
    said.tokenizers = model_.tokenizers;
    said.model = &conditioned;
    const SpecialIds& special = model_.tokenizers.target->special();
    const MusicClock clock(form_, sixteenth_seconds(options_.quarters_per_minute),
                           kAccompanyingVoices);
    MusicRows rows(static_cast<size_t>(options_.pieces), clock, {}, limits_, progress);
    std::vector<GenerateRequest> requests;
    for (size_t i = 0; i < rows.size(); ++i) {
      requests.push_back({{special.start}, i});
    }
    std::vector<int32_t> forbidden{special.pad, special.start, special.unk};
    if (form_ == MusicForm::chorale) {
      forbidden.push_back(special.end);
    }
    const auto made =
        generate(said, requests,
                 {.sampling = options_.sampling,
                  .max_tokens = limits_.tokens,
                  .seed = options_.seed,
                  .forbidden = forbidden},
                 {.token = [&](size_t row, int32_t id) { return rows.add(row, id); }});
    std::vector<AccompaniedPiece> pieces;
    for (size_t i = 0; i < rows.size(); ++i) {
      pieces.push_back(finish(rows.symbols(i), made[i].end));
    }
    return pieces;
  }

 private:
  // A model with learned positions has a longest sequence, START or END included.
  void fit(int64_t longest) {
    if (longest == 0) {
      return;
    }
    check(
        std::ssize(source_) < longest,
        "[accompany] the melody has {} tokens, this model reads at most {}; use only its beginning "
        "with --motif-seconds",
        source_.size(), longest - 1);
    limits_.tokens = std::min(limits_.tokens, longest);
  }

  AccompaniedPiece finish(const std::vector<int32_t>& symbols, GenerateEnd end) const {
    AccompaniedPiece piece{.notes = {}, .end = end};
    if (form_ == MusicForm::chorale) {
      piece.notes = chorale_notes(harmonised(soprano_, symbols), options_.quarters_per_minute);
    } else {
      for (Note note : decode_performance(symbols)) {
        // The last shift of the clock may go beyond.
        note.end = std::min(note.end, limits_.seconds);
        note.channel = kMelodyChannel + 1;
        piece.notes.push_back(note);
      }
      for (Note note : melody_) {
        note.channel = kMelodyChannel;
        piece.notes.push_back(note);
      }
      std::sort(piece.notes.begin(), piece.notes.end(), by_start);
    }
    piece.duration = end_of(piece.notes);
    return piece;
  }

  const LoadedModel& model_;
  MusicForm form_;
  std::span<const Note> melody_;
  const MusicOptions& options_;
  std::vector<int> soprano_;  // of a chorale
  std::vector<int32_t> source_;
  MusicLimits limits_;
};

}  // namespace

std::vector<AccompaniedPiece> accompany_melody(const LoadedModel& model,
                                               std::span<const Note> melody,
                                               const MusicOptions& options,
                                               const MusicCallback& progress) {
  check(!melody.empty(), "[accompany] the melody has no notes, expected some");
  check(options.pieces > 0, "[accompany] {} pieces, expected some", options.pieces);
  return Accompanist(model, melody, options).run(progress);
}

}  // namespace heed
