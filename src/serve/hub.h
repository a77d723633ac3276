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

#include "base/error.h"
#include "serve/api/json_request.h"
#include "serve/engine.h"
#include "serve/services/offer.h"

namespace heed::serve {

struct ServedModel {
  std::string name;
  std::string kind;
  int64_t created = 0;  // seconds since 1970
  // complete, embed, classify, fill, translate, music, accompany, image, attention
  std::set<std::string> abilities = {};
  std::vector<std::string> examples = {};  // inputs to try it with
  int64_t parameters = 0;
  std::unique_ptr<Engine> engine = {};
  const Offer* offer = nullptr;  // of the engine's service

  // The service as what a route needs of it, a service's class or an interface of some; null if it
  // is another one.
  template <typename Wanted>
  const Wanted* if_served_by() const {
    return dynamic_cast<const Wanted*>(offer);
  }
  // The same where the abilities already say so.
  template <typename Wanted>
  const Wanted& served_by() const {
    const Wanted* wanted = if_served_by<Wanted>();
    check(wanted != nullptr, "[serve] model {} is served by another service", name);
    return *wanted;
  }
};

struct HubOptions {
  size_t slots = 8;
  size_t queue = 64;
  int threads = 0;
  std::optional<DType> compute = {};
  int64_t draft_tokens = 4;  // that a draft says ahead
};

// What a model is called that is given no other name: as its folder.
std::string name_of_folder(const std::filesystem::path& folder);

class Hub {
 public:
  explicit Hub(const HubOptions& options) : options_(options) {}

  // `name` may be empty: the folder's. An Error names the folder. A draft is a smaller language
  // model that runs ahead of this one; empty: none.
  void add(std::string name, const std::filesystem::path& folder,
           const std::filesystem::path& draft = {});

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
