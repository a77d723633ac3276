// The models that are served, each with its engine, and what they can do.
//
// Ownership: the hub owns models and engines. Thread safe once all models are added.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "data/music/music_tokens.h"
#include "decode/images/sample_images.h"
#include "decode/text/classify.h"
#include "decode/text/generate.h"
#include "decode/text/translator.h"
#include "serve/api/json_request.h"
#include "serve/engine.h"

namespace heed::serve {

struct ServedModel {
  std::string name;
  std::string kind;
  int64_t created = 0;  // seconds since 1970
  // complete, embed, classify, fill, translate, music, accompany, image, attention
  std::set<std::string> abilities = {};
  // One of them.
  std::shared_ptr<const LoadedLanguageModel> language = {};
  std::shared_ptr<const LoadedEncoder> encoder = {};
  std::shared_ptr<const LoadedModel> translator = {};
  std::shared_ptr<const LoadedImageModel> image = {};
  std::optional<MusicForm> music = {};  // what a language model or translator says, if not text
  // A translator's languages, from a name such as en-de.
  std::string source = "source", target = "target";
  std::unique_ptr<Engine> engine = {};
};

struct HubOptions {
  size_t slots = 8;
  size_t queue = 64;
  int threads = 0;
  std::optional<DType> compute = {};
};

class Hub {
 public:
  explicit Hub(const HubOptions& options) : options_(options) {}

  // `name` may be empty: the folder's.
  void add(std::string name, const std::filesystem::path& folder);

  const std::vector<std::unique_ptr<ServedModel>>& models() const { return models_; }
  // The named one, or for an empty name the first one that can do it; an HttpError if there is
  // none.
  ServedModel& find(const std::string& name, const std::string& ability) const;

  // Waits for what is running, for so long; engines stop together.
  void stop(std::chrono::milliseconds most);

 private:
  HubOptions options_;
  std::shared_ptr<Turns> turns_ = std::make_shared<Turns>();
  std::vector<std::unique_ptr<ServedModel>> models_;
};

// As /v1/models tells it.
Json describe(const ServedModel& model);

}  // namespace heed::serve
