#include "decode/accompany.h"

#include <algorithm>
#include <tuple>

#include "base/error.h"
#include "data/accompaniment.h"
#include "decode/conditioned.h"
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
  Accompanist(const LoadedModel& model, std::span<const Note> melody, const MusicOptions& options,
              const MusicCallback& progress)
      : model_(model),
        form_(music_form(*model.tokenizers.target)),
        melody_(melody),
        options_(options),
        progress_(progress),
        rows_(static_cast<size_t>(options.pieces)) {
    if (form_ == MusicForm::chorale) {
      soprano_ = quantise_melody(melody_line(melody), options.quarters_per_minute);
      source_ = soprano_tokens(soprano_);
      max_tokens_ = std::ssize(source_);
      step_seconds_ = sixteenth_seconds(options.quarters_per_minute);
    } else {
      constexpr double kAfter = 1.0;
      source_ = melody_tokens(melody);
      limit_ = end_of(melody) + kAfter;
      max_tokens_ = most_tokens(limit_);
    }
    check_prompt(std::ssize(source_));
    fit(model.model->longest());
    source_.push_back(model.tokenizers.source->special().end);
  }

  std::vector<AccompaniedPiece> run() {
    const ConditionedModel conditioned(*model_.model, source_);
    LoadedLanguageModel said;
    said.tokenizers = model_.tokenizers;
    said.model = &conditioned;
    const SpecialIds& special = model_.tokenizers.target->special();
    std::vector<GenerateRequest> requests;
    for (size_t i = 0; i < rows_.size(); ++i) {
      requests.push_back({{special.start}, i});
    }
    std::vector<int32_t> forbidden{special.pad, special.start, special.unk};
    if (form_ == MusicForm::chorale) {
      forbidden.push_back(special.end);
    }
    const auto made =
        generate(said, requests,
                 {.sampling = options_.sampling,
                  .max_tokens = max_tokens_,
                  .seed = options_.seed,
                  .forbidden = forbidden},
                 {.token = [this](size_t row, int32_t id) { return add(rows_[row], id); }});
    std::vector<AccompaniedPiece> pieces;
    for (size_t i = 0; i < rows_.size(); ++i) {
      pieces.push_back(finish(rows_[i].symbols, made[i].end));
    }
    return pieces;
  }

 private:
  struct Row {
    std::vector<int32_t> symbols;
    int64_t steps = 0;  // of 10 ms, or sixteenths
  };

  // A model with learned positions has a longest sequence, START or END included.
  void fit(int64_t longest) {
    if (longest == 0) {
      return;
    }
    check(std::ssize(source_) < longest,
          "[accompany] the melody has {} tokens, this model reads {} at most: take its beginning "
          "with --motif-seconds",
          source_.size(), longest - 1);
    max_tokens_ = std::min(max_tokens_, longest);
  }

  double seconds(const Row& row) const { return static_cast<double>(row.steps) * step_seconds_; }

  double share(const Row& row) const {
    const double tokens =
        static_cast<double>(row.symbols.size()) / static_cast<double>(max_tokens_);
    return limit_ > 0.0 ? std::min(1.0, std::max(tokens, seconds(row) / limit_)) : tokens;
  }

  // False once the accompaniment is as long as the melody.
  bool add(Row& row, int32_t token) {
    const int32_t symbol = music_symbols(std::span(&token, 1)).front();
    const double share_before = share(row);
    const double seconds_before = seconds(row);
    told_.notes += begins_note(row, symbol) ? 1 : 0;
    row.symbols.push_back(symbol);
    if (form_ == MusicForm::chorale) {
      row.steps = std::ssize(row.symbols) / kAccompanyingVoices;
    } else if (symbol >= kTimeShift && symbol < kVelocity) {
      row.steps += symbol - kTimeShift + 1;
    }
    told_.tokens += 1;
    told_.seconds += seconds(row) - seconds_before;
    told_.share += (share(row) - share_before) / static_cast<double>(rows_.size());
    if (progress_) {
      progress_(told_);
    }
    return limit_ == 0.0 || seconds(row) < limit_;
  }

  bool begins_note(const Row& row, int32_t symbol) const {
    if (form_ == MusicForm::performance) {
      return symbol < kNoteOff;
    }
    const bool held = std::ssize(row.symbols) >= kAccompanyingVoices &&
                      *(row.symbols.end() - kAccompanyingVoices) == symbol;
    return symbol != kChoraleSilence && !held;
  }

  AccompaniedPiece finish(const std::vector<int32_t>& symbols, GenerateEnd end) const {
    AccompaniedPiece piece{.notes = {}, .end = end};
    if (form_ == MusicForm::chorale) {
      piece.notes = chorale_notes(harmonised(soprano_, symbols), options_.quarters_per_minute);
    } else {
      for (Note note : decode_performance(symbols)) {
        note.end = std::min(note.end, limit_);  // the last shift of the clock may go beyond
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
  const MusicCallback& progress_;
  std::vector<int> soprano_;  // of a chorale
  std::vector<int32_t> source_;
  double step_seconds_ = 1.0 / kStepsPerSecond;
  double limit_ = 0.0;  // seconds, of a performance; a chorale's tokens are counted
  int64_t max_tokens_ = 0;
  std::vector<Row> rows_;
  MusicProgress told_;
};

}  // namespace

std::vector<AccompaniedPiece> accompany_melody(const LoadedModel& model,
                                               std::span<const Note> melody,
                                               const MusicOptions& options,
                                               const MusicCallback& progress) {
  check(!melody.empty(), "[accompany] the melody has no notes, expected some");
  check(options.pieces > 0, "[accompany] {} pieces, expected some", options.pieces);
  return Accompanist(model, melody, options, progress).run();
}

}  // namespace heed
