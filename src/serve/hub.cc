#include "serve/hub.h"

#include <fmt/format.h>

#include <algorithm>
#include <regex>
#include <thread>

#include "base/error.h"
#include "models/language/causal_transformer.h"
#include "serve/http/http.h"
#include "serve/services/completion_service.h"
#include "serve/services/encode_service.h"
#include "serve/services/image_service.h"
#include "serve/services/music_service.h"
#include "serve/services/translate_service.h"

namespace heed::serve {
namespace {

// What stands behind a tokenizer, if it is music.
std::optional<MusicForm> music_of(const Tokenizer& tokenizer) {
  for (const MusicForm form : {MusicForm::performance, MusicForm::chorale}) {
    if (tokenizer.serialize() == music_tokenizer(form)->serialize()) {
      return form;
    }
  }
  return std::nullopt;
}

std::unique_ptr<Service> serve_language(ServedModel& served) {
  served.music = music_of(*served.language->tokenizers.target);
  served.abilities = {served.music ? "music" : "complete"};
  if (dynamic_cast<const CausalTransformer*>(served.language->model) != nullptr) {
    served.abilities.insert("attention");
  }
  if (served.music) {
    return std::make_unique<MusicService>(served.language);
  }
  return std::make_unique<CompletionService>(served.language);
}

std::unique_ptr<Service> serve_encoder(ServedModel& served) {
  served.abilities = {"embed", "attention"};
  if (served.encoder->model->labels() > 0) {
    served.abilities.insert("classify");
  }
  if (has_masked_head(*served.encoder)) {
    served.abilities.insert("fill");
  }
  return std::make_unique<EncodeService>(served.encoder);
}

std::unique_ptr<Service> serve_translator(ServedModel& served) {
  served.music = music_of(*served.translator->tokenizers.target);
  if (served.music) {
    served.abilities = {"accompany"};
    return std::make_unique<AccompanyService>(served.translator);
  }
  served.abilities = {"translate", "attention"};
  static const std::regex kPair("(?:.*[^a-z])?([a-z]{2,3})-([a-z]{2,3})(?:[^a-z].*)?");
  std::smatch found;
  if (std::regex_match(served.name, found, kPair)) {
    served.source = found[1];
    served.target = found[2];
  }
  return std::make_unique<TranslateService>(served.translator);
}

// Which of the interfaces the model has is known before its weights are read.
std::unique_ptr<Service> load(ServedModel& served, const std::filesystem::path& folder,
                              std::optional<DType> compute) {
  const FolderConfig config = load_config(folder);
  served.kind = config.model.value("kind", "model");
  ParameterStore unused;
  const std::unique_ptr<Model> model = make_model(unused.root(), config.model);
  if (dynamic_cast<LanguageModel*>(model.get()) != nullptr) {
    served.language = load_as<LanguageModel>(folder, compute);
    return serve_language(served);
  }
  if (dynamic_cast<TextEncoder*>(model.get()) != nullptr) {
    served.encoder = load_as<TextEncoder>(folder, compute);
    return serve_encoder(served);
  }
  if (dynamic_cast<ImageModel*>(model.get()) != nullptr) {
    served.image = load_as<ImageModel>(folder, compute);
    served.abilities = {"image"};
    return std::make_unique<ImageService>(served.image);
  }
  served.translator = load_as<Seq2SeqModel>(folder, compute);
  return serve_translator(served);
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
  std::unique_ptr<Service> service = load(*served, folder, options_.compute);
  served->engine =
      std::make_unique<Engine>(std::move(service), EngineOptions{.slots = options_.slots,
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
  Json heed{{"kind", model.kind}, {"abilities", model.abilities}};
  if (model.language) {
    heed["context"] = model.language->model->context();
    heed["vocabulary"] = model.language->model->vocabulary();
  }
  if (model.music) {
    heed["form"] = *model.music == MusicForm::chorale ? "chorale" : "performance";
  }
  if (model.encoder) {
    heed["width"] = model.encoder->model->width();
    heed["context"] = model.encoder->model->longest();
    heed["vocabulary"] = model.encoder->model->vocabulary();
    heed["labels"] = model.encoder->config.labels;
    heed["score"] = model.encoder->config.score;
  }
  if (model.abilities.contains("translate")) {
    heed["source"] = model.source;
    heed["target"] = model.target;
  }
  if (model.image) {
    const ImageLayout& layout = model.image->model->layout();
    heed["rows"] = layout.rows;
    heed["columns"] = layout.columns;
    heed["channels"] = layout.channels;
    heed["levels"] = layout.levels;
    heed["enlarges"] = model.image->model->source().rows > 0;
    heed["source_rows"] = model.image->model->source().rows;
    heed["source_columns"] = model.image->model->source().columns;
    heed["classes"] = Json::array();
    for (int64_t i = 0; i < model.image->model->classes(); ++i) {
      const auto& labels = model.image->config.labels;
      heed["classes"].push_back(i < std::ssize(labels) ? labels[static_cast<size_t>(i)]
                                                       : std::to_string(i));
    }
  }
  return {{"id", model.name},
          {"object", "model"},
          {"created", model.created},
          {"owned_by", "heed"},
          {"heed", heed}};
}

}  // namespace heed::serve
