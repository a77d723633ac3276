#include "serve/services/completion_service.h"

#include <algorithm>

#include "base/error.h"
#include "decode/speculation/draft.h"
#include "decode/speculation/proposing_heads.h"

namespace heed::serve {

CompletionService::CompletionService(std::shared_ptr<const LoadedLanguageModel> model,
                                     const PrefillOptions& prefill)
    : model_(std::move(model)), prefill_(prefill) {
  CompletionService::reset();
}

bool CompletionService::serves(const ModelSpec& spec, const FolderConfig& config) {
  return spec.interface == ModelInterface::language && !config.music();
}

std::unique_ptr<CompletionService> CompletionService::load(const FolderToServe& folder) {
  auto service =
      std::make_unique<CompletionService>(load_as<LanguageModel>(folder.path, folder.compute));
  if (!folder.draft.empty()) {
    std::shared_ptr<const LoadedLanguageModel> draft =
        load_as<LanguageModel>(folder.draft, folder.compute);
    check_same_vocabulary({folder.path.string(), *service->model().tokenizers.target},
                          {folder.draft.string(), *draft->tokenizers.target});
    service->set_draft(std::move(draft), folder.draft_tokens);
  }
  return service;
}

void CompletionService::set_draft(std::shared_ptr<const LoadedLanguageModel> draft,
                                  int64_t tokens) {
  draft_ = std::move(draft);
  draft_tokens_ = tokens;
  reset();
}

std::set<std::string> CompletionService::abilities() const {
  return with_attention({"complete"}, model_->spec());
}

Json CompletionService::describe() const {
  return {{"context", model_->model->context()}, {"vocabulary", model_->model->vocabulary()}};
}

void CompletionService::reset() {
  rows_.emplace(*model_->model, *model_->tokenizers.target, prefill_,
                SpeculationOptions{.draft = draft_ ? draft_->model : nullptr,
                                   .draft_tokens = draft_tokens_,
                                   .heads = has_proposing_heads(*model_->model)});
  jobs_.clear();
  looking_.clear();
}

void CompletionService::admit(Job& job) {
  if (auto* attention = dynamic_cast<AttentionJob*>(&job)) {
    attention->check_with(*model_);
    looking_.push_back(attention);
    return;
  }
  auto* completion = dynamic_cast<CompletionJob*>(&job);
  check(completion != nullptr, "[serve] this model only completes texts");
  if (!completion->log_probabilities_of_prompt) {
    add(*completion);
    return;
  }
  const int64_t tokens = std::ssize(completion->request.prompt);
  const int64_t most = model_->model->context();
  check(tokens > 0 && (most == 0 || tokens <= most),
        "[serve] the prompt has {} tokens, expected 1 to {}", tokens, most);
  looking_.push_back(completion);
}

void CompletionService::add(CompletionJob& job) {
  jobs_.emplace(rows_->add(job.request), &job);
  job.tokens_in = std::ssize(job.request.prompt);
}

void CompletionService::drop(Job& job) {
  std::erase(looking_, &job);
  const auto found = std::find_if(jobs_.begin(), jobs_.end(),
                                  [&](const auto& entry) { return entry.second == &job; });
  if (found != jobs_.end()) {
    rows_->remove(found->first);
    jobs_.erase(found);
  }
}

void CompletionService::turn() {
  look();
  for (const TextAdvance& moved : rows_->step()) {
    advance(moved);
  }
}

void CompletionService::look() {
  if (looking_.empty()) {
    return;
  }
  Job& job = *looking_.front();
  looking_.pop_front();
  try {
    look_at(job);
  } catch (const Error& error) {
    job.fail(error.what(), Fault::request);
  } catch (...) {
    job.fail_with_exception(Fault::engine);
  }
}

void CompletionService::look_at(Job& job) {
  if (auto* attention = dynamic_cast<AttentionJob*>(&job)) {
    attention->look_at(*model_);
    attention->finish();
    return;
  }
  auto& completion = dynamic_cast<CompletionJob&>(job);
  std::vector<DrawnToken> tokens = log_probabilities_of_text(
      *model_->model, *model_->tokenizers.target, completion.request.prompt,
      completion.request.log_probabilities.value_or(0));
  add(completion);
  completion.tell(TextPiece{.text = "", .tokens = std::move(tokens)});
}

void CompletionService::advance(const TextAdvance& moved) {
  CompletionJob& job = *jobs_.at(moved.row);
  TextPiece piece{.text = moved.text, .tokens = {}};
  if (moved.token) {
    job.tokens_out += 1;
    if (job.request.log_probabilities) {
      piece.tokens.push_back(*moved.token);
    }
  }
  if (!piece.text.empty() || !piece.tokens.empty()) {
    job.tell(std::move(piece));
  }
  if (!moved.end && !moved.error) {
    return;
  }
  jobs_.erase(moved.row);
  job.forgotten = moved.forgotten;
  if (moved.end) {
    job.finish(*moved.end);
    return;
  }
  try {
    std::rethrow_exception(moved.error);
  } catch (...) {
    job.fail_with_exception(Fault::engine);
  }
}

}  // namespace heed::serve
