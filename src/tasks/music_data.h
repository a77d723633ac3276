// What the tasks that learn music share: which pieces they learn from, and the vocabulary.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "data/music/music_pieces.h"
#include "models/folder.h"
#include "train/recipe.h"

namespace heed {

MusicForm music_form_of(const DataConfig& data);

// The data's parts.
struct MusicSplits {
  std::vector<MusicPiece> train;
  std::vector<MusicPiece> valid;
  std::vector<MusicPiece> test;
  std::string skipped;  // files that cannot be used and why, for the user; empty: none
};
MusicSplits read_music(const DataConfig& data, MusicForm form);

// The form's, or of the model that the training begins with, which must be the same; kept in the
// run folder.
Tokenizers prepare_music_tokenizers(const Recipe& recipe, MusicForm form,
                                    const std::filesystem::path& folder);

}  // namespace heed
