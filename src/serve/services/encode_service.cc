#include "serve/services/encode_service.h"

#include "base/error.h"

namespace heed::serve {

EncodeService::EncodeService(std::shared_ptr<const LoadedEncoder> model, int64_t turn_tokens)
    : ListService(turn_tokens), model_(std::move(model)), turn_tokens_(turn_tokens) {}

bool EncodeService::serves(const ModelSpec& spec, const FolderConfig& /*config*/) {
  return spec.interface == ModelInterface::encoder;
}

std::unique_ptr<EncodeService> EncodeService::load(const FolderToServe& folder) {
  return std::make_unique<EncodeService>(load_as<TextEncoder>(folder.path, folder.compute));
}

std::set<std::string> EncodeService::abilities() const {
  std::set<std::string> abilities = with_attention({"embed"}, model_->spec());
  if (model_->model->labels() > 0) {
    abilities.insert("classify");
  }
  if (has_masked_head(*model_)) {
    abilities.insert("fill");
  }
  return abilities;
}

Json EncodeService::describe() const {
  return {{"width", model_->model->width()},
          {"context", model_->model->longest()},
          {"vocabulary", model_->model->vocabulary()},
          {"labels", model_->config.labels},
          {"score", model_->config.score}};
}

ListJob& EncodeService::checked(Job& job) const {
  if (auto* attention = dynamic_cast<AttentionJob*>(&job)) {
    attention->check_with(*model_);
    return *attention;
  }
  auto* encode = dynamic_cast<EncodeJob*>(&job);
  check(encode != nullptr, "[serve] this model only encodes texts");
  if (encode->task == EncodeTask::classify) {
    check_has_classes(*model_);
  } else if (encode->task == EncodeTask::fill) {
    check_fills_masks(*model_);
    check(encode->top > 0, "[fill] top is {}, expected at least 1", encode->top);
  }
  const int64_t longest = model_->model->longest();
  const int32_t known = model_->tokenizers.source->size();
  for (const EncodedText& text : encode->texts) {
    const int64_t length = std::ssize(text.tokens);
    check(length > 0 && (longest == 0 || length <= longest),
          "[serve] a text has {} tokens, expected 1 to {}", length, longest);
    for (const int32_t id : text.tokens) {
      check(id >= 0 && id < known, "[serve] a text has token {}, expected 0 to {}", id, known - 1);
    }
    check(encode->task != EncodeTask::fill || count_masks(*model_, text) > 0,
          "[fill] the text has no [MASK]");
  }
  encode->vectors.resize(encode->texts.size());
  encode->words.resize(encode->texts.size());
  return *encode;
}

bool EncodeService::together(const ListJob& a, const ListJob& b) const {
  const auto* first = dynamic_cast<const EncodeJob*>(&a);
  const auto* second = dynamic_cast<const EncodeJob*>(&b);
  return first != nullptr && second != nullptr && first->task == second->task &&
         first->pooling == second->pooling && first->normalize == second->normalize &&
         first->top == second->top;
}

void EncodeService::work(std::span<const Item> items) const {
  if (auto* attention = dynamic_cast<AttentionJob*>(items.front().job)) {
    attention->look_at(*model_);
    return;
  }
  std::vector<EncodedText> texts;
  texts.reserve(items.size());
  for (const Item& item : items) {
    texts.push_back(static_cast<EncodeJob*>(item.job)->texts[item.index]);
  }
  const EncodeJob& like = *static_cast<EncodeJob*>(items.front().job);
  std::vector<std::vector<float>> vectors(texts.size());
  std::vector<std::vector<std::vector<FilledWord>>> words(texts.size());
  if (like.task == EncodeTask::fill) {
    words = fill_encoded(*model_, texts, like.top, turn_tokens_);
  } else if (like.task == EncodeTask::classify) {
    vectors = classify_encoded(*model_, texts, turn_tokens_);
  } else {
    vectors = embed_encoded(
        *model_, texts,
        {.pooling = like.pooling, .normalize = like.normalize, .batch_tokens = turn_tokens_});
  }
  for (size_t i = 0; i < items.size(); ++i) {
    auto& job = *static_cast<EncodeJob*>(items[i].job);
    job.vectors[items[i].index] = std::move(vectors[i]);
    job.words[items[i].index] = std::move(words[i]);
    job.tokens_in += std::ssize(texts[i].tokens);
  }
}

}  // namespace heed::serve
