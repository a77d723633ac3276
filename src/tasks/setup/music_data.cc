#include "tasks/setup/music_data.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/random.h"
#include "data/music/music_demo.h"

namespace heed {
namespace {

// Whether a piece is held out depends on its name alone: not on the other files, nor on the seed.
bool held_out_by_name(const MusicPiece& piece, double share) {
  return RandomStream{stream_of(piece.name), 0}.uniform(0) < static_cast<float>(share);
}

// The built-in pieces: the same for every run, those held out from another seed.
MusicSplits compose_pieces() {
  const auto compose = [](uint64_t seed, uint64_t count) {
    constexpr int64_t kSections = 18;  // about 250 tokens
    std::vector<MusicPiece> pieces;
    for (uint64_t i = 0; i < count; ++i) {
      pieces.push_back(
          {.name = fmt::format("demo {}", i),
           .notes = compose_demo({.seed = seed, .index = i, .sections = kSections}).notes,
           .chorale = {}});
    }
    return pieces;
  };
  return {
      .train = compose(1, 4000), .valid = compose(2, 100), .test = compose(3, 100), .skipped = {}};
}

MusicSplits read_chorale_pieces(const std::string& file, MusicForm form) {
  const ChoraleSplits splits = read_chorales(file);
  return {.train = chorale_pieces(splits.train, form),
          .valid = chorale_pieces(splits.valid, form),
          .test = chorale_pieces(splits.test, form),
          .skipped = {}};
}

std::vector<MusicPiece> read_files(const std::vector<std::string>& paths, std::string& skipped) {
  if (paths.empty()) {
    return {};
  }
  MusicPieces read = read_midi_pieces(paths);
  skipped += (skipped.empty() || read.skipped.empty() ? "" : "\n") + read.skipped;
  return std::move(read.pieces);
}

MusicSplits read_performances(const MusicDataConfig& data) {
  MusicSplits splits;
  const double share = data.valid_midi.empty() ? data.valid_share : 0.0;
  for (MusicPiece& piece : read_files(data.midi, splits.skipped)) {
    (held_out_by_name(piece, share) ? splits.valid : splits.train).push_back(std::move(piece));
  }
  check(share == 0.0 || !splits.valid.empty(),
        "[music] data.valid_share is {}, which holds out none of {} pieces; give more, or name "
        "files in data.valid_midi",
        share, splits.train.size());
  if (!data.valid_midi.empty()) {
    splits.valid = read_files(data.valid_midi, splits.skipped);
  }
  splits.test = read_files(data.test_midi, splits.skipped);
  return splits;
}

}  // namespace

void MusicDataConfig::check_recipe(const std::string& task, std::string_view where) const {
  const bool accompany = task == "accompany";
  const int given = (midi.empty() ? 0 : 1) + (chorales.empty() ? 0 : 1) + (builtin.empty() ? 0 : 1);
  check(given == 1, "[{}] task {} trains on exactly one of: data.midi, data.chorales{}", where,
        task, accompany ? "" : ", or builtin = \"demo\"");
  check(form != "chorale" || !chorales.empty(),
        "[{}] data.form is chorale, which only data.chorales can have", where);
  check(chorales.empty() || (valid_midi.empty() && test_midi.empty() && valid_share == 0.0),
        "[{}] data.chorales has its own valid and test pieces: leave valid_midi, test_midi and "
        "valid_share out",
        where);
  check(!stretch.empty(), "[{}] data.stretch has no factor, expected at least one", where);
}

MusicForm music_form_of(const MusicDataConfig& data) {
  const bool chorale = data.form.empty() ? !data.chorales.empty() : data.form == "chorale";
  return chorale ? MusicForm::chorale : MusicForm::performance;
}

MusicSplits read_music(const MusicDataConfig& data, MusicForm form) {
  return !data.builtin.empty()   ? compose_pieces()
         : data.chorales.empty() ? read_performances(data)
                                 : read_chorale_pieces(data.chorales, form);
}

Tokenizers prepare_music_tokenizers(const Recipe& recipe, MusicForm form) {
  const auto tokenizer = music_tokenizer(form);
  Tokenizers tokenizers = recipe.train.from.empty() ? Tokenizers{tokenizer, tokenizer}
                                                    : load_tokenizers(recipe.train.from);
  check(music_form(*tokenizers.target) == form,
        "[music] {} was trained on another form of music than {}: set data.form, or take another "
        "train.from",
        recipe.train.from, form == MusicForm::chorale ? "chorale" : "performance");
  return tokenizers;
}

}  // namespace heed
