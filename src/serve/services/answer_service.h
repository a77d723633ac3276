// What a model that answers questions about stories does for requests.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "decode/stories/answer.h"
#include "serve/services/list_service.h"
#include "serve/services/offer.h"

namespace heed::serve {

class AnswerJob : public ListJob {
 public:
  AnswerJob(std::shared_ptr<Reply> reply, std::vector<AskedQuestion> asked, bool wants_look)
      : ListJob(std::move(reply)), questions(std::move(asked)), look(wants_look) {}

  size_t size() const override { return questions.size(); }
  int64_t cost(size_t index) const override { return 1 + std::ssize(questions[index].facts); }

  std::vector<AskedQuestion> questions;
  bool look;

  std::vector<Answered> answers;  // one for each question
};

class AnswerService : public ListService, public Offer {
 public:
  static bool serves(const ModelSpec& spec, const FolderConfig& config);
  static std::unique_ptr<AnswerService> load(const FolderToServe& folder);

  explicit AnswerService(std::shared_ptr<const LoadedAnswerer> model,
                         int64_t turn_sentences = 4096);

  std::set<std::string> abilities() const override { return {"answer"}; }
  Json describe() const override;
  const LoadedAnswerer& model() const { return *model_; }

 protected:
  ListJob& checked(Job& job) const override;
  bool together(const ListJob& a, const ListJob& b) const override;
  void work(std::span<const Item> items) const override;

 private:
  std::shared_ptr<const LoadedAnswerer> model_;
  int64_t turn_sentences_;
};

}  // namespace heed::serve
