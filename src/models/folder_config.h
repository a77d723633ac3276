// config.json of a model folder: the model's configuration and what is known about the model
// besides. GPT-2 and BERT have Hugging Face's form, the others Heed's own.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/config.h"
#include "data/music/music_tokens.h"
#include "models/registry.h"

namespace heed {

// What a model's tokens stand for.
enum class Content { text, performance, chorale };
Content content_of(MusicForm form);

struct FolderConfig {
  Json model = Json::object();           // resolved: see models/registry.h
  bool source_end = true;                // sources are shown with END behind them
  std::vector<std::string> labels = {};  // names of the classes, of a model that knows classes
  bool score = false;                    // the head gives one number instead of classes
  std::optional<Content> content = {};   // none: the folder does not say; see below
  std::string source_language = {};      // codes such as en; empty: the folder does not say
  std::string target_language = {};

  ModelSpec spec() const { return model_spec(model); }
  // The form of the music that the tokens stand for; none: they are text.
  std::optional<MusicForm> music() const;
};

// `int8` tells Hugging Face's loader that it cannot read the weights.
void save_config(const std::filesystem::path& folder, const FolderConfig& config,
                 bool int8 = false);
FolderConfig load_config(const std::filesystem::path& folder);

// For folders that do not say what they hold, because they are older than these fields or come from
// elsewhere: music is known by its tokenizer, and a translator's languages by a name such as en-de.
// What is said stays. Loading a folder guesses without a name.
void guess_what_folder_leaves_out(FolderConfig& config, const Tokenizer* target,
                                  const std::string& name = "");

}  // namespace heed
