// What the tasks that learn music share: which pieces they learn from, and the vocabulary.
#pragma once

#include <string>
#include <vector>

#include "data/music/music_pieces.h"
#include "models/folder.h"
#include "tasks/setup/data_config.h"
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
    v("builtin", builtin, "built-in pieces to use instead of files", {.choices = {"", "demo"}});
    v("midi", midi, "MIDI files and folders of them", {.path = true});
    v("valid_midi", valid_midi, "held-out MIDI files and folders for validation", {.path = true});
    v("test_midi", test_midi, "held-out MIDI files and folders for the final test", {.path = true});
    v("chorales", chorales, "JSON file of chorales with train, valid and test, instead of midi",
      {.path = true});
    v("form", form,
      "representation of music: events of a performance, or pitches of four voices; empty: chorale "
      "for data.chorales, performance otherwise",
      {.choices = {"", "performance", "chorale"}});
    v("transpose", transpose, "transpose music by up to this many semitones in either direction",
      {.least = 0, .most = 24});
    v("stretch", stretch, "factors on the duration of the music, one of which is drawn each time",
      {.least = 0.1, .most = 10});
    v("valid_share", valid_share,
      "without valid_midi: share of the files to hold out, chosen by their names",
      {.least = 0, .most = 0.9});
    v("max_length", max_length,
      "training window in tokens, for models with unlimited context; longer pieces are cropped to "
      "it, and those with an accompaniment are split into windows",
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

// The form's, or of the model that the training begins with, which must be the same.
Tokenizers prepare_music_tokenizers(const Recipe& recipe, MusicForm form);

}  // namespace heed
