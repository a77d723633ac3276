#include "serve/api/text_routes.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "serve/api/exchange.h"
#include "serve/services/attention_job.h"
#include "serve/services/encode_service.h"

namespace heed::serve {
namespace {

constexpr size_t kMostTexts = 2048;
constexpr double kMostWords = 1000;
constexpr int64_t kMostAttentionTokens = 256;  // maps grow with the square

// A text to tokenise; required unless there is a fallback.
std::string text_of(JsonRequest& fields, const std::string& field,
                    const std::optional<std::string>& fallback = std::nullopt) {
  std::string text = fallback ? fields.text(field, *fallback) : fields.text(field);
  check_length(field, text, kMostTextBytes);
  return text;
}

// Music has no text: what its notes look at comes with the music.
const ServedModel& text_model_for(const std::string& name, const Hub& hub) {
  for (const auto& model : hub.models()) {
    if (name.empty() && model->abilities.contains("attention") &&
        model->if_served_by<AttendsToText>() != nullptr) {
      return *model;
    }
  }
  const ServedModel& model = hub.find(name, "attention");
  if (model.if_served_by<AttendsToText>() == nullptr) {
    throw HttpError(400,
                    fmt::format("model {} does not read text; /v1/music/continue shows what its "
                                "notes attend to",
                                model.name),
                    "model", "wrong_model");
  }
  return model;
}

HttpResponse attention(const HttpRequest& request, const Hub& hub) {
  JsonRequest fields(request.body);
  const ServedModel& model = text_model_for(fields.text("model", ""), hub);
  const auto& service = model.served_by<AttendsToText>();
  const std::string second = service.second_field();
  const auto reply = std::make_shared<Reply>();
  const auto job = std::make_shared<AttentionJob>(
      reply, TextAttentionRequest{.text = text_of(fields, "text"),
                                  .second = second.empty() ? "" : text_of(fields, second, ""),
                                  .most_tokens = kMostAttentionTokens,
                                  .crop = fields.flag("crop", false)});
  fields.finish();
  submit(request, model, job);
  follow(request, *reply, 1);
  const TextAttention& found = job->found;
  Json maps = Json::array();
  for (const LayerAttention& layer : found.maps) {
    maps.push_back({{"kind", layer.kind},
                    {"layer", layer.layer},
                    {"heads", layer.weights.dim(1)},
                    {"queries", layer.weights.dim(2)},
                    {"keys", layer.weights.dim(3)},
                    {"weights", floats_in_base64(layer.weights.span<float>())}});
  }
  Json answer{{"model", model.name},
              {"tokens", found.target.empty() ? found.source : found.target},
              {"left_out", found.left_out},
              {"maps", maps}};
  for (const Pondering& row : found.pondering) {
    const std::span<const float> steps = row.steps.span<float>();
    answer["pondering"][row.kind] = std::vector<float>(steps.begin(), steps.end());
  }
  if (service.translates()) {
    answer["source"] = found.source;
    answer["translation"] = found.translation;
  }
  return json_response(answer);
}

// The texts of a request: `text`, with a `pair` perhaps, or `texts`.
std::vector<EncodedText> read_texts(JsonRequest& fields, const LoadedEncoder& model) {
  std::vector<EncodedText> texts;
  if (fields.has("texts")) {
    fields.only("text", nullptr);
    fields.only("pair", nullptr);
    for (const std::string& text : fields.texts("texts", kMostTexts)) {
      check_length("texts", text, kMostTextBytes);
      texts.push_back(encode(model, ClassifyText{text}));
    }
    if (texts.empty()) {
      refuse("texts", "an empty list", "at least one text");
    }
  } else {
    fields.ignore({"texts"});
    const std::string text = text_of(fields, "text");
    texts.push_back(encode(model, ClassifyText{text, text_of(fields, "pair", "")}));
  }
  return texts;
}

Json classes_of(const LoadedEncoder& model, const std::vector<float>& values) {
  if (model.config.score) {
    return {{"score", values.front()}};
  }
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return values[a] > values[b]; });
  Json scores = Json::array();
  for (const size_t i : order) {
    scores.push_back({{"label", model.config.labels[i]}, {"score", values[i]}});
  }
  return {{"label", model.config.labels[order.front()]}, {"scores", scores}};
}

HttpResponse classify(const HttpRequest& request, const Hub& hub) {
  JsonRequest fields(request.body);
  const ServedModel& model = hub.find(fields.text("model", ""), "classify");
  const LoadedEncoder& encoder = model.served_by<EncodeService>().model();
  const auto reply = std::make_shared<Reply>();
  const auto job =
      std::make_shared<EncodeJob>(reply, EncodeTask::classify, read_texts(fields, encoder));
  fields.finish();
  submit(request, model, job);
  follow(request, *reply, 1);
  Json results = Json::array();
  for (const std::vector<float>& values : job->vectors) {
    results.push_back(classes_of(encoder, values));
  }
  return json_response({{"model", model.name}, {"results", results}});
}

HttpResponse fill(const HttpRequest& request, const Hub& hub) {
  JsonRequest fields(request.body);
  const ServedModel& model = hub.find(fields.text("model", ""), "fill");
  const LoadedEncoder& encoder = model.served_by<EncodeService>().model();
  std::vector<EncodedText> texts{encode(encoder, ClassifyText{text_of(fields, "text")})};
  if (count_masks(encoder, texts.front()) == 0) {
    refuse("text", "without a [MASK]", "at least one");
  }
  const auto reply = std::make_shared<Reply>();
  const auto job = std::make_shared<EncodeJob>(reply, EncodeTask::fill, std::move(texts));
  job->top = fields.integer("top", job->top, {1, kMostWords});
  fields.finish();
  submit(request, model, job);
  follow(request, *reply, 1);
  Json masks = Json::array();
  for (const std::vector<FilledWord>& words : job->words.front()) {
    Json list = Json::array();
    for (const FilledWord& word : words) {
      list.push_back({{"word", word.word}, {"probability", word.probability}});
    }
    masks.push_back(list);
  }
  return json_response({{"model", model.name}, {"masks", masks}});
}

}  // namespace

void add_text_routes(HttpServer& server, Hub& hub) {
  server.route("POST", "/v1/attention",
               [&hub](const HttpRequest& request) { return attention(request, hub); });
  server.route("POST", "/v1/classify",
               [&hub](const HttpRequest& request) { return classify(request, hub); });
  server.route("POST", "/v1/fill",
               [&hub](const HttpRequest& request) { return fill(request, hub); });
}

}  // namespace heed::serve
