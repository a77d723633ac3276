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
FolderToServe look_into(FolderToServe folder, const std::string& name) {
  folder.config = load_config(folder.path);
  const bool says = folder.config.content.has_value();
  const Tokenizers tokenizers =
      says ? Tokenizers() : load_tokenizers(folder.path, folder.config.model);
  guess_what_folder_leaves_out(folder.config, tokenizers.target.get(), name);
  return folder;
}

int64_t parameters_of(const Json& model) {
  ParameterStore store;  // never allocated
  const std::unique_ptr<Model> made = make_model(store.root(), model);
  return store.count();
}

// Fills in what the folder says and makes its service.
LoadedService load(ServedModel& served, const FolderToServe& given) {
  try {
    const FolderToServe folder = look_into(given, served.name);
    LoadedService loaded = load_service(folder);
    served.kind = folder.config.spec().kind;
    served.examples = folder.config.examples;
    served.parameters = parameters_of(folder.config.model);
    served.offer = loaded.offer;
    served.abilities = loaded.offer->abilities();
    return loaded;
  } catch (const Error& error) {
    fail("[serve] cannot load model {} from {}: {}", served.name, given.path.string(),
         error.what());
  }
}

}  // namespace

std::string name_of_folder(const std::filesystem::path& folder) {
  const std::filesystem::path whole = std::filesystem::absolute(folder).lexically_normal();
  return whole.filename().empty() ? whole.parent_path().filename().string()
                                  : whole.filename().string();
}

void Hub::add(std::string name, const std::filesystem::path& folder,
              const std::filesystem::path& draft) {
  name = name.empty() ? name_of_folder(folder) : name;
  for (const auto& other : models_) {
    check(other->name != name,
          "[serve] two models are named {}; give one of them another name with --model NAME=DIR",
          name);
  }
  auto served = std::make_unique<ServedModel>();
  served->name = std::move(name);
  served->created = std::chrono::duration_cast<std::chrono::seconds>(
                        std::chrono::system_clock::now().time_since_epoch())
                        .count();
  LoadedService loaded = load(*served, {.path = folder,
                                        .config = {},
                                        .compute = options_.compute,
                                        .draft = draft,
                                        .draft_tokens = options_.draft_tokens});
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
                    name.empty() ? fmt::format("no model here has the ability {}", ability)
                                 : fmt::format("there is no model named {}", shown(Json(name))),
                    "model", "model_not_found");
  }
  if (!(*found)->abilities.contains(ability)) {
    throw HttpError(400,
                    fmt::format("model {} does not have the ability {}; it has: {}", name, ability,
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
  heed["examples"] = model.examples;
  heed["parameters"] = model.parameters;
  return {{"id", model.name},
          {"object", "model"},
          {"created", model.created},
          {"owned_by", "heed"},
          {"heed", heed}};
}

}  // namespace heed::serve
