#include "decode/classify.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "decode/sampling.h"
#include "ops/softmax.h"

namespace heed {
namespace {

std::vector<EncodedText> encode_all(const LoadedEncoder& model,
                                    std::span<const ClassifyText> texts) {
  const Tokenizer& tokenizer = *model.tokenizers.source;
  std::vector<EncodedText> encoded;
  for (const ClassifyText& text : texts) {
    std::optional<std::vector<int32_t>> second;
    if (!text.pair.empty()) {
      second = tokenizer.encode(text.pair);
    }
    encoded.push_back(
        join_texts(tokenizer, tokenizer.encode(text.text), second, model.model->longest()));
  }
  return encoded;
}

}  // namespace

std::vector<std::vector<float>> classify(const LoadedEncoder& model,
                                         std::span<const ClassifyText> texts,
                                         int64_t batch_tokens) {
  check(model.model->labels() > 0,
        "[classify] this model has no head for classes: train one with a recipe of task classify");
  const std::vector<EncodedText> encoded = encode_all(model, texts);
  std::vector<std::vector<float>> results(texts.size());
  for (const HostTexts& host :
       batch_texts(encoded, batch_tokens, model.tokenizers.source->special().pad)) {
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

std::vector<std::vector<FilledWord>> fill_masks(const LoadedEncoder& model, const std::string& text,
                                                int64_t k) {
  const auto* heads = dynamic_cast<const MaskedModel*>(model.model);
  check(heads != nullptr && model.config.model.value("masked_head", false),
        "[fill] this model has no head for masked words");
  const Tokenizer& tokenizer = *model.tokenizers.source;
  const std::optional<int32_t> mask = tokenizer.find("[MASK]");
  check(mask.has_value(), "[fill] the model's tokenizer has no [MASK]");
  const std::vector<EncodedText> encoded{encode_text(tokenizer, text, model.model->longest())};
  const int64_t only = 0;
  const HostTexts host = pad_texts(encoded, std::span(&only, 1), tokenizer.special().pad);
  std::vector<int32_t> places;
  for (size_t i = 0; i < host.tokens.size(); ++i) {
    if (host.tokens[i] == *mask) {
      places.push_back(static_cast<int32_t>(i));
    }
  }
  check(!places.empty(), "[fill] the text has no [MASK]: {}", text);
  const auto count = static_cast<int64_t>(places.size());
  const Tensor logits =
      heads->words(model.model->hidden(to_tensors(host)), Tensor::from_ints(places, {count}))
          .to(DType::f32);  // [N,V]
  const auto width = static_cast<size_t>(logits.dim(1));
  const auto known = static_cast<size_t>(tokenizer.size());
  std::vector<std::vector<FilledWord>> filled;
  for (size_t i = 0; i < places.size(); ++i) {
    std::vector<Candidate> best =
        candidates(logits.span<float>().subspan(i * width, known), {}, SamplingOptions{});
    best.resize(std::min(best.size(), static_cast<size_t>(k)));
    std::vector<FilledWord>& words = filled.emplace_back();
    for (const Candidate& candidate : best) {
      words.push_back({tokenizer.piece(candidate.id), candidate.probability});
    }
  }
  return filled;
}

}  // namespace heed
