// Text that goes on where prompts end, for everybody at once: every turn each job gets its next
// token, and those that come see their prompts meanwhile.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "decode/text/generate.h"
#include "serve/engine.h"
#include "serve/services/attention_job.h"
#include "serve/services/offer.h"

namespace heed::serve {

// One continuation of one prompt. Its text comes in pieces.
class CompletionJob : public Job {
 public:
  CompletionJob(std::shared_ptr<Reply> reply, size_t number, TextRequest wanted)
      : Job(std::move(reply), number), request(std::move(wanted)) {}

  TextRequest request;
  // The prompt's tokens are told first, from the second on, with as many likeliest as the request
  // wants of those that are drawn.
  bool log_probabilities_of_prompt = false;
  int64_t forgotten = 0;  // as of Generated, when it is done
};

// Also does AttentionJobs. Each turn takes one of them, or one prompt whose log-probabilities are
// wanted.
class CompletionService : public Service, public Offer, public AttendsToText {
 public:
  static bool serves(const ModelSpec& spec, const FolderConfig& config);
  static std::unique_ptr<CompletionService> load(const FolderToServe& folder);

  // While prompts are shown, others wait for about 256 tokens at most.
  explicit CompletionService(std::shared_ptr<const LoadedLanguageModel> model,
                             const PrefillOptions& prefill = {.tokens = 256});
  // From now on the smaller model runs ahead of the other.
  void set_draft(std::shared_ptr<const LoadedLanguageModel> draft, int64_t tokens);

  void admit(Job& job) override;
  void turn() override;
  void drop(Job& job) override;
  void reset() override;

  std::set<std::string> abilities() const override;
  Json describe() const override;
  std::string second_field() const override { return ""; }
  const LoadedLanguageModel& model() const { return *model_; }

 private:
  void look();
  void look_at(Job& job);
  void add(CompletionJob& job);
  void advance(const TextAdvance& advance);

  std::shared_ptr<const LoadedLanguageModel> model_;
  PrefillOptions prefill_;
  std::shared_ptr<const LoadedLanguageModel> draft_;  // null: nobody runs ahead
  int64_t draft_tokens_ = 0;
  std::optional<TextRows> rows_;
  std::map<uint64_t, CompletionJob*> jobs_;  // by their rows
  std::deque<Job*> looking_;                 // what has to be looked at as a whole first
};

}  // namespace heed::serve
