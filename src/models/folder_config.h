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

// What the lines were like that a translator learned from, since it does well on such lines only.
// The values here are taken for folders that do not say: short lines stay whole, and the sentences
// of others are not put together, since nothing tells how many of them the model can take.
struct TrainingLines {
  int64_t typical_tokens = 1;  // of a source: the median
  int64_t most_tokens = 50;    // 99.5 % of the sources have no more
  int64_t most_sentences = 2;  // likewise
  double least_ratio = 0.25;   // of target tokens to source tokens: 99.9 % of the pairs have more

  template <typename Visitor>
  void fields(Visitor& v) {
    v("typical_tokens", typical_tokens, "tokens of a source, the median", {.least = 1});
    v("most_tokens", most_tokens, "99.5 % of the sources have no more", {.least = 1});
    v("most_sentences", most_sentences, "99.5 % of the sources have no more", {.least = 1});
    v("least_ratio", least_ratio,
      "of target tokens to source tokens: 99.9 % of the pairs have more", {.least = 0});
  }
};

struct FolderConfig {
  Json model = Json::object();           // resolved: see models/registry.h
  bool source_end = true;                // sources are shown with END behind them
  std::vector<std::string> labels = {};  // names of the classes, of a model that knows classes
  bool score = false;                    // the head gives one number instead of classes
  std::optional<Content> content = {};   // none: the folder does not say; see below
  std::string source_language = {};      // codes such as en; empty: the folder does not say
  std::string target_language = {};
  std::optional<TrainingLines> training_lines = {};  // of a translator
  // Short inputs to try the model with: sources, prompts, texts (a tab before the second of two),
  // or texts with a mask.
  std::vector<std::string> examples = {};

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
