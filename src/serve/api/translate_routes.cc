#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "serve/api/exchange.h"
#include "serve/api/text_routes.h"
#include "serve/services/translate_service.h"

namespace heed::serve {
namespace {

constexpr size_t kMostTexts = 256;
constexpr size_t kLongestText = 20000;  // bytes
constexpr double kMostAlternatives = 15;

// A few names that a list of languages is nicer with; others are called by their code.
std::string language_name(const std::string& code) {
  static const std::map<std::string, std::string> kNames{
      {"ar", "Arabic"},  {"cs", "Czech"},      {"da", "Danish"},    {"de", "German"},
      {"el", "Greek"},   {"en", "English"},    {"es", "Spanish"},   {"fi", "Finnish"},
      {"fr", "French"},  {"he", "Hebrew"},     {"hi", "Hindi"},     {"hu", "Hungarian"},
      {"it", "Italian"}, {"ja", "Japanese"},   {"ko", "Korean"},    {"nl", "Dutch"},
      {"pl", "Polish"},  {"pt", "Portuguese"}, {"ro", "Romanian"},  {"ru", "Russian"},
      {"sv", "Swedish"}, {"tr", "Turkish"},    {"uk", "Ukrainian"}, {"zh", "Chinese"}};
  const auto found = kNames.find(code);
  return found == kNames.end() ? code : found->second;
}

// By the languages, or by its name; "auto" and nothing are any language.
const ServedModel& translator_for(JsonRequest& fields, const Hub& hub) {
  const std::string name = fields.text("model", "");
  const std::string source = fields.text("source", "auto");
  const std::string target = fields.text("target", "");
  if (!name.empty()) {
    return hub.find(name, "translate");
  }
  bool known = false;
  for (const auto& model : hub.models()) {
    const auto* translator = model->if_served_by<TranslateService>();
    if (translator == nullptr) {
      continue;
    }
    if ((source == "auto" || source.empty() || source == translator->source_language()) &&
        (target.empty() || target == translator->target_language())) {
      return *model;
    }
    known = known || source == translator->source_language();
  }
  hub.find("", "translate");  // an error if there is none at all
  throw HttpError(400,
                  fmt::format("no model here translates from {} to {}", shown(Json(source)),
                              shown(Json(target))),
                  known ? "target" : "source", "unsupported_language");
}

HttpResponse translate(const HttpRequest& request, const Hub& hub) {
  JsonRequest fields(request.body);
  const ServedModel& model = translator_for(fields, hub);
  const bool list = fields.raw("q").is_array();
  if (!fields.has("q")) {
    throw HttpError(400, "q is missing", "q", "missing_field");
  }
  std::vector<SourceText> texts;
  for (std::string& text : fields.texts("q", kMostTexts)) {
    if (text.size() > kLongestText) {
      refuse("q", fmt::format("a text of {} bytes", text.size()),
             fmt::format("at most {}", kLongestText));
    }
    texts.push_back({std::move(text)});
  }
  const std::string format = fields.text("format", "text");
  if (format != "text") {
    refuse("format", shown(Json(format)), "text");
  }
  SearchOptions search;
  const int64_t alternatives = fields.integer("alternatives", 0, {0, kMostAlternatives});
  search.beam = fields.integer("beam", std::max(search.beam, alternatives + 1), {1, 16});
  search.n_best = std::min(alternatives + 1, search.beam);
  fields.ignore({"api_key"});
  fields.finish();
  if (texts.empty()) {
    refuse("q", "an empty list", "a text at least");
  }
  const auto reply = std::make_shared<Reply>();
  const auto job = std::make_shared<TranslateJob>(reply, std::move(texts), search);
  submit(model, job);
  follow(request, *reply, 1);
  Json best = Json::array();
  Json others = Json::array();
  for (const Translator::Result& result : job->results) {
    best.push_back(result.best.front().text);
    Json more = Json::array();
    for (size_t i = 1; i < result.best.size(); ++i) {
      more.push_back(result.best[i].text);
    }
    others.push_back(more);
  }
  Json answer{{"translatedText", list ? best : best.front()}};
  if (alternatives > 0) {
    answer["alternatives"] = list ? others : others.front();
  }
  return json_response(answer);
}

HttpResponse languages(const Hub& hub) {
  std::map<std::string, std::set<std::string>> targets;
  for (const auto& model : hub.models()) {
    if (const auto* translator = model->if_served_by<TranslateService>()) {
      targets[translator->source_language()].insert(translator->target_language());
    }
  }
  Json list = Json::array();
  for (const auto& [source, reached] : targets) {
    list.push_back({{"code", source}, {"name", language_name(source)}, {"targets", reached}});
  }
  return json_response(list);
}

}  // namespace

void add_translate_routes(HttpServer& server, Hub& hub) {
  server.route("POST", "/translate",
               [&hub](const HttpRequest& request) { return translate(request, hub); });
  server.route("GET", "/languages", [&hub](const HttpRequest&) { return languages(hub); });
}

}  // namespace heed::serve
