#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/error.h"
#include "decode/text/decoding_options.h"
#include "serve/api/exchange.h"
#include "serve/api/text_routes.h"
#include "serve/services/translate_service.h"

namespace heed::serve {
namespace {

constexpr size_t kMostTranslations = 256;
constexpr size_t kLongestText = 20000;  // bytes
constexpr double kMostAlternatives = 15;
constexpr size_t kMostTraced = 16;  // a trace has a line for each token

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
                  fmt::format("no model here translates from {} to {}; see /languages",
                              shown(Json(source)), shown(Json(target))),
                  known ? "target" : "source", "unsupported_language");
}

// About the first text of which something is probably missing; empty if there is none.
std::string warning_of(const std::vector<Translator::Result>& results) {
  for (size_t i = 0; i < results.size(); ++i) {
    if (results[i].shortfall) {
      return fmt::format("text {}: {}", i + 1, results[i].shortfall->text());
    }
  }
  return "";
}

const DecodingKind& decoding_of(JsonRequest& fields, const TranslateService& translator) {
  const std::string name = fields.text("decoding", "");
  try {
    return translator.decoding(name);
  } catch (const Error& error) {  // says what the model can do
    throw HttpError(400, error.what(), "decoding", "unsupported_decoding");
  }
}

// How the request wants its texts decoded. An option of another way of decoding is an error.
DecodeOptions decode_options(JsonRequest& fields, const TranslateService& translator) {
  const DecodingKind& kind = decoding_of(fields, translator);
  DecodeOptions options = usual_options(kind);
  options.n_best = fields.integer("alternatives", 0, {0, kMostAlternatives}) + 1;
  if (options.n_best > 1 && !kind.n_best) {
    refuse("alternatives", fmt::format("{}", options.n_best - 1),
           fmt::format("0: decoding {} finds one translation", kind.name));
  }
  // Enough rows for all alternatives, unless the request says how many.
  options.beam = std::max(options.beam, options.n_best);
  options.candidates = std::max(options.candidates, options.n_best);
  const auto heeded = options_of(kind);
  for (const DecodingOption& option : decoding_options()) {
    const Json& given = fields.raw(option.name);
    if (given.is_null()) {
      continue;
    }
    if (std::find(heeded.begin(), heeded.end(), &option) == heeded.end()) {
      refuse(option.name, shown(given),
             fmt::format("nothing: decoding {} has no {}", kind.name, option.name));
    }
    const JsonRequest::Range range{option.least, option.most_served};
    option.set(options, option.whole() ? heed::Json(fields.integer(option.name, 0, range))
                                       : heed::Json(fields.number(option.name, 0.0, range)));
  }
  options.n_best = std::min(options.n_best, kind.rows(options));
  options.trace = fields.flag("trace", false);
  return options;
}

// What stood there after each pass; a place without a token is null.
Json passes_json(const TranslatedText& text) {
  Json passes = Json::array();
  for (const std::vector<std::string>& pieces : text.trace) {
    Json pass = Json::array();
    for (const std::string& piece : pieces) {
      pass.push_back(piece.empty() ? Json() : Json(piece));
    }
    passes.push_back(pass);
  }
  return passes;
}

// As LibreTranslate answers, and what only Heed has; its clients ignore that. A text for a text, a
// list for a list.
Json answer_of(const TranslateJob& job, bool list, bool alternatives) {
  Json best = Json::array();
  Json others = Json::array();
  Json traces = Json::array();
  for (const Translator::Result& result : job.results) {
    best.push_back(result.best.front().text);
    Json more = Json::array();
    for (size_t i = 1; i < result.best.size(); ++i) {
      more.push_back(result.best[i].text);
    }
    others.push_back(more);
    traces.push_back(passes_json(result.best.front()));
  }
  Json answer{{"translatedText", list ? best : best.front()}};
  if (alternatives) {
    answer["alternatives"] = list ? others : others.front();
  }
  if (job.options.trace) {
    answer["trace"] = list ? traces : traces.front();
  }
  if (const std::string warning = warning_of(job.results); !warning.empty()) {
    answer["warning"] = warning;
  }
  return answer;
}

HttpResponse translate(const HttpRequest& request, const Hub& hub) {
  JsonRequest fields(request.body);
  const ServedModel& model = translator_for(fields, hub);
  const bool list = fields.raw("q").is_array();
  if (!fields.has("q")) {
    throw HttpError(400, "q is missing", "q", "missing_field");
  }
  std::vector<SourceText> texts;
  for (std::string& text : fields.texts("q", kMostTranslations)) {
    check_length("q", text, kLongestText);
    texts.push_back({std::move(text)});
  }
  const std::string format = fields.text("format", "text");
  if (format != "text") {
    refuse("format", shown(Json(format)), "text");
  }
  const DecodeOptions options = decode_options(fields, model.served_by<TranslateService>());
  const bool alternatives = fields.integer("alternatives", 0, {0, kMostAlternatives}) > 0;
  fields.ignore({"api_key"});
  fields.finish();
  if (texts.empty()) {
    refuse("q", "an empty list", "at least one text");
  }
  if (options.trace && texts.size() > kMostTraced) {
    refuse("q", fmt::format("a list of {} texts", texts.size()),
           fmt::format("at most {} with trace", kMostTraced));
  }
  const auto reply = std::make_shared<Reply>();
  const auto job = std::make_shared<TranslateJob>(reply, std::move(texts), options);
  submit(request, model, job);
  follow(request, *reply, 1);
  return json_response(answer_of(*job, list, alternatives));
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
