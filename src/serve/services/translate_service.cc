#include "serve/services/translate_service.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "decode/text/decoding_options.h"

namespace heed::serve {
namespace {

// 0.6 instead of what a float makes of it.
double rounded(double value) {
  constexpr double kPlaces = 1e6;
  return std::round(value * kPlaces) / kPlaces;
}

// With the options that it heeds.
Json described(const DecodingKind& kind) {
  Json options = Json::array();
  const DecodeOptions usually = usual_options(kind);
  for (const DecodingOption* option : options_of(kind)) {
    const auto usual = option->get(usually).get<double>();
    options.push_back(
        {{"name", option->name},
         {"help", option->help},
         {"default", option->whole() ? Json(std::llround(usual)) : Json(rounded(usual))},
         {"least", option->least},
         {"most", option->most_served}});
  }
  return {{"name", kind.name}, {"help", kind.help}, {"n_best", kind.n_best}, {"options", options}};
}

// What no batch may mix: all that the tokens depend on.
bool same_decoding(const DecodeOptions& a, const DecodeOptions& b) {
  const auto same_option = [&](const DecodingOption& option) {
    return option.get(a) == option.get(b);
  };
  const std::span<const DecodingOption> options = decoding_options();
  return a.decoding == b.decoding && a.n_best == b.n_best && a.trace == b.trace &&
         std::all_of(options.begin(), options.end(), same_option);
}

}  // namespace

TranslateService::TranslateService(std::shared_ptr<const LoadedTranslator> model,
                                   int64_t turn_tokens)
    : ListService(turn_tokens), model_(std::move(model)) {}

bool TranslateService::serves(const ModelSpec& spec, const FolderConfig& config) {
  return spec.interface == ModelInterface::translation && !config.music();
}

std::unique_ptr<TranslateService> TranslateService::load(const FolderToServe& folder) {
  auto model = load_translator(folder.path, folder.compute);
  model->config.source_language = folder.config.source_language;  // guessed by the name, perhaps
  model->config.target_language = folder.config.target_language;
  auto service = std::make_unique<TranslateService>(std::move(model));
  if (!folder.config.source_language.empty()) {
    service->source_language_ = folder.config.source_language;
  }
  if (!folder.config.target_language.empty()) {
    service->target_language_ = folder.config.target_language;
  }
  return service;
}

std::set<std::string> TranslateService::abilities() const {
  return with_attention({"translate"}, model_->spec());
}

Json TranslateService::describe() const {
  Json ways = Json::array();
  for (const DecodingKind& kind : decodings()) {
    if (kind.can(*model_->model)) {
      ways.push_back(described(kind));
    }
  }
  return {{"source", source_language_},
          {"target", target_language_},
          {"decoding", decoding("").name},
          {"decodings", ways}};
}

ListJob& TranslateService::checked(Job& job) const {
  if (auto* attention = dynamic_cast<AttentionJob*>(&job)) {
    attention->check_with(*model_);
    return *attention;
  }
  auto* translate = dynamic_cast<TranslateJob*>(&job);
  check(translate != nullptr, "[serve] this model only translates");
  const DecodeOptions& options = translate->options;
  const DecodingKind& kind = decoding(options.decoding);
  check_options(kind, options);
  check_decoding(*model_->model, kind, options);
  check(options.n_best >= 1 && options.n_best <= kind.rows(options),
        "[translate] n_best is {}, expected 1 to {}", options.n_best, kind.rows(options));
  translate->results.resize(translate->texts.size());
  return *translate;
}

bool TranslateService::together(const ListJob& a, const ListJob& b) const {
  const auto* first = dynamic_cast<const TranslateJob*>(&a);
  const auto* second = dynamic_cast<const TranslateJob*>(&b);
  return first != nullptr && second != nullptr && same_decoding(first->options, second->options);
}

void TranslateService::work(std::span<const Item> items) const {
  if (auto* attention = dynamic_cast<AttentionJob*>(items.front().job)) {
    attention->look_at(*model_);
    return;
  }
  std::vector<SourceText> texts;
  texts.reserve(items.size());
  for (const Item& item : items) {
    texts.push_back(static_cast<TranslateJob*>(item.job)->texts[item.index]);
  }
  const Translator translator(*model_,
                              {.decode = static_cast<TranslateJob*>(items.front().job)->options});
  std::vector<Translator::Result> results = translator.translate(texts);
  for (size_t i = 0; i < items.size(); ++i) {
    auto& job = *static_cast<TranslateJob*>(items[i].job);
    job.tokens_in += std::ssize(model_->tokenizers.source->encode(texts[i].text));
    job.tokens_out += std::ssize(model_->tokenizers.target->encode(results[i].best.front().text));
    job.results[items[i].index] = std::move(results[i]);
  }
}

}  // namespace heed::serve
