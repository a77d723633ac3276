// What the tasks that learn music share: which pieces they learn from, and the vocabulary.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "data/music/music_pieces.h"
#include "models/folder.h"
#include "tasks/data_config.h"
#include "train/recipe.h"

namespace heed {

struct MusicDataConfig : BatchConfig {
  std::string builtin;
  std::vector<std::string> midi, valid_midi, test_midi;  // files and folders of performances
  std::string chorales;                                  // JSON with its own splits
  std::string form;
  int64_t transpose = 0;
  std::vector<double> stretch = {1.0};
  double valid_share = 0.0;
  int64_t max_length = 128;

  template <typename Visitor>
  void fields(Visitor& v) {
    v("builtin", builtin, "built-in pieces instead of files", {.choices = {"", "demo"}});
    v("midi", midi, "MIDI files and folders of them", {.path = true});
    v("valid_midi", valid_midi, "held-out MIDI files and folders for validation", {.path = true});
    v("test_midi", test_midi, "held-out MIDI files and folders for the last score", {.path = true});
    v("chorales", chorales, "JSON file of chorales with train, valid and test, instead of midi",
      {.path = true});
    v("form", form,
      "of music: events of a performance, or pitches of four voices; empty: chorales are chorales",
      {.choices = {"", "performance", "chorale"}});
    v("transpose", transpose, "music is moved by up to so many semitones either way",
      {.least = 0, .most = 24});
    v("stretch", stretch, "music lasts one of these times as long, drawn anew each time",
      {.least = 0.1, .most = 10});
    v("valid_share", valid_share,
      "without valid_midi: this share of the files, chosen by their names, is held out",
      {.least = 0, .most = 0.9});
    v("max_length", max_length,
      "the window of a model whose context has no end: longer pieces are cropped to it, and those "
      "with an accompaniment are cut into windows",
      {.least = 1, .most = 100000});
    BatchConfig::fields(v);
  }

  void check_recipe(const std::string& task, std::string_view where) const;
};

MusicForm music_form_of(const MusicDataConfig& data);

// The data's parts.
struct MusicSplits {
  std::vector<MusicPiece> train;
  std::vector<MusicPiece> valid;
  std::vector<MusicPiece> test;
  std::string skipped;  // files that cannot be used and why, for the user; empty: none
};
MusicSplits read_music(const MusicDataConfig& data, MusicForm form);

// The form's, or of the model that the training begins with, which must be the same; kept in the
// run folder.
Tokenizers prepare_music_tokenizers(const Recipe& recipe, MusicForm form,
                                    const std::filesystem::path& folder);

}  // namespace heed
