#include "serve/services/translate_service.h"

#include <cmath>

#include "base/error.h"

namespace heed::serve {

TranslateService::TranslateService(std::shared_ptr<const LoadedModel> model, int64_t turn_tokens)
    : ListService(turn_tokens), model_(std::move(model)) {}

bool TranslateService::serves(const ModelSpec& spec, const FolderConfig& config) {
  return spec.interface == ModelInterface::translation && !config.music();
}

std::unique_ptr<TranslateService> TranslateService::load(const FolderToServe& folder) {
  auto service = std::make_unique<TranslateService>(load_model(folder.path, folder.compute));
  if (!folder.config.source_language.empty()) {
    service->source_language_ = folder.config.source_language;
  }
  if (!folder.config.target_language.empty()) {
    service->target_language_ = folder.config.target_language;
  }
  return service;
}

std::set<std::string> TranslateService::abilities() const { return {"translate", "attention"}; }

Json TranslateService::describe() const {
  return {{"source", source_language_}, {"target", target_language_}};
}

ListJob& TranslateService::checked(Job& job) const {
  if (auto* attention = dynamic_cast<AttentionJob*>(&job)) {
    attention->check_with(*model_);
    return *attention;
  }
  auto* translate = dynamic_cast<TranslateJob*>(&job);
  check(translate != nullptr, "[serve] this model only translates");
  const SearchOptions& options = translate->options;
  constexpr int64_t kMostBeam = 64;
  check(options.beam >= 1 && options.beam <= kMostBeam, "[translate] beam is {}, expected 1 to {}",
        options.beam, kMostBeam);
  check(options.n_best >= 1 && options.n_best <= options.beam,
        "[translate] {} translations are wanted, expected 1 to the beam of {}", options.n_best,
        options.beam);
  check(std::isfinite(options.length_penalty), "[translate] the length penalty is {}",
        options.length_penalty);
  translate->results.resize(translate->texts.size());
  return *translate;
}

bool TranslateService::together(const ListJob& a, const ListJob& b) const {
  const auto* first = dynamic_cast<const TranslateJob*>(&a);
  const auto* second = dynamic_cast<const TranslateJob*>(&b);
  return first != nullptr && second != nullptr && first->options == second->options;
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
  const SearchOptions& options = static_cast<TranslateJob*>(items.front().job)->options;
  const Translator translator(*model_, {.decode = {.beam = options.beam,
                                                   .length_penalty = options.length_penalty,
                                                   .n_best = options.n_best}});
  std::vector<Translator::Result> results = translator.translate(texts);
  for (size_t i = 0; i < items.size(); ++i) {
    auto& job = *static_cast<TranslateJob*>(items[i].job);
    job.tokens_in += std::ssize(model_->tokenizers.source->encode(texts[i].text));
    job.tokens_out += std::ssize(model_->tokenizers.target->encode(results[i].best.front().text));
    job.results[items[i].index] = std::move(results[i]);
  }
}

}  // namespace heed::serve
