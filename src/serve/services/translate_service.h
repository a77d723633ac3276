// Translations for requests: texts of all jobs with the same options, as one batch.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "decode/text/translator.h"
#include "serve/services/attention_job.h"
#include "serve/services/offer.h"

namespace heed::serve {

class TranslateJob : public ListJob {
 public:
  TranslateJob(std::shared_ptr<Reply> reply, std::vector<SourceText> sources,
               const DecodeOptions& decode)
      : ListJob(std::move(reply)), texts(std::move(sources)), options(decode) {}

  size_t size() const override { return texts.size(); }
  // A token has about four letters.
  int64_t cost(size_t index) const override { return std::ssize(texts[index].text) / 4 + 1; }

  std::vector<SourceText> texts;
  DecodeOptions options;
  std::vector<Translator::Result> results;  // of each
};

// Also does AttentionJobs.
class TranslateService : public ListService, public Offer, public AttendsToText {
 public:
  static bool serves(const ModelSpec& spec, const FolderConfig& config);
  static std::unique_ptr<TranslateService> load(const FolderToServe& folder);

  explicit TranslateService(std::shared_ptr<const LoadedTranslator> model,
                            int64_t turn_tokens = 1024);

  std::set<std::string> abilities() const override;
  Json describe() const override;
  std::string second_field() const override { return "target"; }
  bool translates() const override { return true; }
  // How it decodes if a request asks for this way of decoding; "": the usual one. An Error if the
  // model cannot.
  const DecodingKind& decoding(const std::string& name) const {
    return decoding_for(*model_->model, name);
  }
  // Codes such as en; of a folder that does not say, "source" and "target".
  const std::string& source_language() const { return source_language_; }
  const std::string& target_language() const { return target_language_; }

 protected:
  ListJob& checked(Job& job) const override;
  bool together(const ListJob& a, const ListJob& b) const override;
  void work(std::span<const Item> items) const override;

 private:
  std::shared_ptr<const LoadedTranslator> model_;
  std::string source_language_ = "source";
  std::string target_language_ = "target";
};

}  // namespace heed::serve
