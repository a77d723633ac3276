#include "serve/hub.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "base/error.h"
#include "serve/http/http.h"
#include "serve/services/service_table.h"

namespace heed::serve {
namespace {

// What it is and holds is known before its weights are read, and decides who serves it.
FolderToServe look_into(const std::filesystem::path& path, const std::string& name,
                        std::optional<DType> compute) {
  FolderToServe folder{.path = path, .config = load_config(path), .compute = compute};
  const bool says = folder.config.content.has_value();
  const Tokenizers tokenizers = says ? Tokenizers() : load_tokenizers(path, folder.config.model);
  guess_what_folder_leaves_out(folder.config, tokenizers.target.get(), name);
  return folder;
}

}  // namespace

void Hub::add(std::string name, const std::filesystem::path& folder) {
  if (name.empty()) {
    const std::filesystem::path whole = std::filesystem::absolute(folder).lexically_normal();
    name = whole.filename().empty() ? whole.parent_path().filename().string()
                                    : whole.filename().string();
  }
  for (const auto& other : models_) {
    check(other->name != name,
          "[serve] two models are called {}: give one another name with "
          "--model NAME=DIR",
          name);
  }
  auto served = std::make_unique<ServedModel>();
  served->name = std::move(name);
  served->created = std::chrono::duration_cast<std::chrono::seconds>(
                        std::chrono::system_clock::now().time_since_epoch())
                        .count();
  const FolderToServe looked_into = look_into(folder, served->name, options_.compute);
  LoadedService loaded = load_service(looked_into);
  served->kind = looked_into.config.spec().kind;
  served->offer = loaded.offer;
  served->abilities = loaded.offer->abilities();
  served->engine =
      std::make_unique<Engine>(std::move(loaded.service), EngineOptions{.slots = options_.slots,
                                                                        .queue = options_.queue,
                                                                        .threads = options_.threads,
                                                                        .turns = turns_});
  models_.push_back(std::move(served));
}

ServedModel& Hub::find(const std::string& name, const std::string& ability) const {
  const auto found =
      std::find_if(models_.begin(), models_.end(), [&](const std::unique_ptr<ServedModel>& model) {
        return name.empty() ? model->abilities.contains(ability) : model->name == name;
      });
  if (found == models_.end()) {
    throw HttpError(404,
                    name.empty() ? fmt::format("no model here can do this ({})", ability)
                                 : fmt::format("there is no model {}", shown(Json(name))),
                    "model", "model_not_found");
  }
  if (!(*found)->abilities.contains(ability)) {
    throw HttpError(400,
                    fmt::format("model {} cannot do this ({}); it can: {}", name, ability,
                                fmt::join((*found)->abilities, ", ")),
                    "model", "wrong_model");
  }
  return **found;
}

void Hub::stop(std::chrono::milliseconds most) {
  std::vector<std::thread> stopping;
  for (const auto& model : models_) {
    stopping.emplace_back([&engine = *model->engine, most] { engine.stop(most); });
  }
  for (std::thread& thread : stopping) {
    thread.join();
  }
}

Json describe(const ServedModel& model) {
  Json heed = model.offer->describe();
  heed["kind"] = model.kind;
  heed["abilities"] = model.abilities;
  return {{"id", model.name},
          {"object", "model"},
          {"created", model.created},
          {"owned_by", "heed"},
          {"heed", heed}};
}

}  // namespace heed::serve
