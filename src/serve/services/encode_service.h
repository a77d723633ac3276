// What a text encoder does for requests: vectors, classes or scores, and words behind masks.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "decode/text/classify.h"
#include "serve/services/attention_job.h"
#include "serve/services/offer.h"

namespace heed::serve {

enum class EncodeTask { embed, classify, fill };

class EncodeJob : public ListJob {
 public:
  EncodeJob(std::shared_ptr<Reply> reply, EncodeTask wanted, std::vector<EncodedText> read)
      : ListJob(std::move(reply)), task(wanted), texts(std::move(read)) {}

  size_t size() const override { return texts.size(); }
  int64_t cost(size_t index) const override { return std::ssize(texts[index].tokens); }

  EncodeTask task;
  std::vector<EncodedText> texts;   // as decode/text/embed.h and decode/text/classify.h encode them
  Pooling pooling = Pooling::mean;  // to embed
  bool normalize = true;
  int64_t top = 5;  // words to fill a mask with

  // What was found of each text: a vector or the classes' probabilities, or words for its masks.
  std::vector<std::vector<float>> vectors;
  std::vector<std::vector<std::vector<FilledWord>>> words;
};

// Also does AttentionJobs.
class EncodeService : public ListService, public Offer, public AttendsToText {
 public:
  static bool serves(const ModelSpec& spec, const FolderConfig& config);
  static std::unique_ptr<EncodeService> load(const FolderToServe& folder);

  explicit EncodeService(std::shared_ptr<const LoadedEncoder> model, int64_t turn_tokens = 4096);

  std::set<std::string> abilities() const override;
  Json describe() const override;
  std::string second_field() const override { return "pair"; }
  const LoadedEncoder& model() const { return *model_; }

 protected:
  ListJob& checked(Job& job) const override;
  bool together(const ListJob& a, const ListJob& b) const override;
  void work(std::span<const Item> items) const override;

 private:
  std::shared_ptr<const LoadedEncoder> model_;
  int64_t turn_tokens_;
};

}  // namespace heed::serve
