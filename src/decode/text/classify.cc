#include "decode/text/classify.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "decode/sampling.h"
#include "ops/softmax.h"

namespace heed {
namespace {

constexpr const char* kMask = "[MASK]";

std::vector<FilledWord> best_words(const Tokenizer& tokenizer, std::span<const float> logits,
                                   int64_t k) {
  std::vector<Candidate> best = candidates(logits, {}, SamplingOptions{});
  best.resize(std::min(best.size(), static_cast<size_t>(k)));
  std::vector<FilledWord> words;
  words.reserve(best.size());
  for (const Candidate& candidate : best) {
    words.push_back({tokenizer.piece(candidate.id), candidate.probability});
  }
  return words;
}

}  // namespace

EncodedText encode(const LoadedEncoder& model, const ClassifyText& text) {
  const Tokenizer& tokenizer = *model.tokenizers.source;
  std::optional<std::vector<int32_t>> second;
  if (!text.pair.empty()) {
    second = tokenizer.encode(text.pair);
  }
  return join_texts(tokenizer, tokenizer.encode(text.text), second, model.model->longest());
}

void check_has_classes(const LoadedEncoder& model) {
  check(model.model->labels() > 0,
        "[classify] this model has no head for classes: train one with a recipe of task classify");
}

std::vector<std::vector<float>> classify(const LoadedEncoder& model,
                                         std::span<const ClassifyText> texts,
                                         int64_t batch_tokens) {
  std::vector<EncodedText> encoded;
  encoded.reserve(texts.size());
  for (const ClassifyText& text : texts) {
    encoded.push_back(encode(model, text));
  }
  return classify_encoded(model, encoded, batch_tokens);
}

std::vector<std::vector<float>> classify_encoded(const LoadedEncoder& model,
                                                 std::span<const EncodedText> texts,
                                                 int64_t batch_tokens) {
  check_has_classes(model);
  std::vector<std::vector<float>> results(texts.size());
  for (const HostTexts& host :
       batch_texts(texts, batch_tokens, model.tokenizers.source->special().pad)) {
    Tensor outputs = model.model->classes(to_tensors(host)).to(DType::f32);  // [B,K]
    if (!model.config.score) {
      outputs = softmax(outputs);
    }
    const auto width = static_cast<size_t>(outputs.dim(1));
    for (size_t row = 0; row < host.indices.size(); ++row) {
      const auto values = outputs.span<float>().subspan(row * width, width);
      results[static_cast<size_t>(host.indices[row])].assign(values.begin(), values.end());
    }
  }
  return results;
}

bool has_masked_head(const LoadedEncoder& model) {
  return dynamic_cast<const MaskedModel*>(model.model) != nullptr && model.spec().masked_head;
}

void check_fills_masks(const LoadedEncoder& model) {
  check(has_masked_head(model), "[fill] this model has no head for masked words");
  check(model.tokenizers.source->find(kMask).has_value(),
        "[fill] the model's tokenizer has no [MASK]");
}

int64_t count_masks(const LoadedEncoder& model, const EncodedText& text) {
  const std::optional<int32_t> mask = model.tokenizers.source->find(kMask);
  return mask ? std::count(text.tokens.begin(), text.tokens.end(), *mask) : 0;
}

std::vector<std::vector<FilledWord>> fill_masks(const LoadedEncoder& model, const std::string& text,
                                                int64_t k) {
  check_fills_masks(model);
  const EncodedText encoded = encode_text(*model.tokenizers.source, text, model.model->longest());
  check(count_masks(model, encoded) > 0, "[fill] the text has no [MASK]: {}", text);
  return fill_encoded(model, std::span(&encoded, 1), k, 0).front();
}

std::vector<std::vector<std::vector<FilledWord>>> fill_encoded(const LoadedEncoder& model,
                                                               std::span<const EncodedText> texts,
                                                               int64_t k, int64_t batch_tokens) {
  check_fills_masks(model);
  const Tokenizer& tokenizer = *model.tokenizers.source;
  const int32_t mask = *tokenizer.find(kMask);
  const auto& heads = dynamic_cast<const MaskedModel&>(*model.model);
  const auto known = static_cast<size_t>(tokenizer.size());
  std::vector<std::vector<std::vector<FilledWord>>> filled(texts.size());
  for (const HostTexts& host : batch_texts(texts, batch_tokens, tokenizer.special().pad)) {
    std::vector<int32_t> places;
    for (size_t i = 0; i < host.tokens.size(); ++i) {
      if (host.tokens[i] == mask) {
        places.push_back(static_cast<int32_t>(i));
      }
    }
    if (places.empty()) {
      continue;
    }
    const Tensor logits = heads
                              .words(model.model->hidden(to_tensors(host)),
                                     Tensor::from_ints(places, {std::ssize(places)}))
                              .to(DType::f32);  // [N,V]
    const auto width = static_cast<size_t>(logits.dim(1));
    for (size_t i = 0; i < places.size(); ++i) {
      const auto text =
          static_cast<size_t>(host.indices[static_cast<size_t>(places[i] / host.width)]);
      filled[text].push_back(
          best_words(tokenizer, logits.span<float>().subspan(i * width, known), k));
    }
  }
  return filled;
}

}  // namespace heed
