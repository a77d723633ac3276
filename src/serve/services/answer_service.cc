#include "serve/services/answer_service.h"

#include "base/error.h"

namespace heed::serve {

AnswerService::AnswerService(std::shared_ptr<const LoadedAnswerer> model, int64_t turn_sentences)
    : ListService(turn_sentences), model_(std::move(model)), turn_sentences_(turn_sentences) {}

bool AnswerService::serves(const ModelSpec& spec, const FolderConfig& /*config*/) {
  return spec.interface == ModelInterface::answering;
}

std::unique_ptr<AnswerService> AnswerService::load(const FolderToServe& folder) {
  return std::make_unique<AnswerService>(load_answerer(folder.path, folder.compute));
}

Json AnswerService::describe() const {
  return {{"width", model_->spec().width},
          {"vocabulary", model_->spec().source_vocabulary},
          {"facts", model_->model->memory()},
          {"sentence", model_->model->longest()},
          {"labels", model_->config.labels}};
}

ListJob& AnswerService::checked(Job& job) const {
  auto* answers = dynamic_cast<AnswerJob*>(&job);
  check(answers != nullptr, "[serve] this model only answers questions about stories");
  for (const AskedQuestion& asked : answers->questions) {
    check_question(*model_, asked);
  }
  answers->answers.resize(answers->questions.size());
  return *answers;
}

bool AnswerService::together(const ListJob& a, const ListJob& b) const {
  return static_cast<const AnswerJob&>(a).look == static_cast<const AnswerJob&>(b).look;
}

void AnswerService::work(std::span<const Item> items) const {
  std::vector<AskedQuestion> questions;
  questions.reserve(items.size());
  for (const Item& item : items) {
    questions.push_back(static_cast<AnswerJob*>(item.job)->questions[item.index]);
  }
  const bool look = static_cast<AnswerJob*>(items.front().job)->look;
  std::vector<Answered> answers =
      answer(*model_, questions, {.batch_tokens = turn_sentences_, .look = look});
  for (size_t i = 0; i < items.size(); ++i) {
    auto& job = *static_cast<AnswerJob*>(items[i].job);
    job.answers[items[i].index] = std::move(answers[i]);
    job.tokens_in += job.cost(items[i].index);
  }
}

}  // namespace heed::serve
