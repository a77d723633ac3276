#include "decode/text/embed.h"

#include <cmath>

#include "base/error.h"
#include "ops/pointwise.h"
#include "ops/reduce.h"
#include "ops/shape/cast.h"
#include "ops/shape/shape.h"

namespace heed {
namespace {

// As hidden [B,T,C]: inside(length) in a text of that length, `outside` in its padding.
template <typename Inside>
Tensor by_place(const Tensor& hidden, const TextBatch& batch, const Inside& inside, float outside) {
  Tensor values = Tensor::full(hidden.shape(), outside);
  const int64_t row_size = hidden.dim(1) * hidden.dim(2);
  for (int64_t row = 0; row < hidden.dim(0); ++row) {
    const int64_t length = batch.lengths.data<int32_t>()[row];
    std::fill_n(values.data<float>() + row * row_size, length * hidden.dim(2), inside(length));
  }
  return values;
}

Tensor mean_of(const Tensor& hidden, const TextBatch& batch) {
  const auto share = [](int64_t length) { return 1.0F / static_cast<float>(length); };
  return sum(mul(hidden, by_place(hidden, batch, share, 0.0F)), 1);  // [B,C]
}

Tensor max_of(const Tensor& hidden, const TextBatch& batch) {
  constexpr float kNever = -1e30F;
  const auto as_it_is = [](int64_t /*length*/) { return 0.0F; };
  return max(add(hidden, by_place(hidden, batch, as_it_is, kNever)), 1);  // [B,C]
}

void normalize(std::vector<float>& vector) {
  double squares = 0.0;
  for (const float value : vector) {
    squares += static_cast<double>(value) * value;
  }
  const double length = std::sqrt(squares);
  for (float& value : vector) {
    value = length > 0.0 ? static_cast<float>(value / length) : 0.0F;
  }
}

}  // namespace

Pooling pooling_of(std::string_view name) {
  if (name == "cls") {
    return Pooling::first;
  }
  if (name == "max") {
    return Pooling::max;
  }
  check(name == "mean" || name == "pooler",
        "[embed] pooling is {}, expected mean, cls, max or pooler", name);
  return name == "mean" ? Pooling::mean : Pooling::summary;
}

TextBatch to_tensors(const HostTexts& texts) {
  return {.tokens = Tensor::from_ints(texts.tokens, {texts.rows, texts.width}),
          .types = Tensor::from_ints(texts.types, {texts.rows, texts.width}),
          .lengths = Tensor::from_ints(texts.lengths, {texts.rows})};
}

Tensor pool(const TextEncoder& model, const TextBatch& batch, Pooling pooling) {
  const Tensor states = model.hidden(batch);  // [B,T,C]
  if (pooling == Pooling::summary) {
    return cast(model.summary(states, batch), DType::f32);  // [B,C]
  }
  const Tensor hidden = cast(states, DType::f32);  // [B,T,C]
  switch (pooling) {
    case Pooling::first:
      return slice(hidden, 1, 0, 1).reshape({hidden.dim(0), hidden.dim(2)});
    case Pooling::max:
      return max_of(hidden, batch);
    case Pooling::mean:
    case Pooling::summary:
      break;
  }
  return mean_of(hidden, batch);
}

std::vector<std::vector<float>> embed(const LoadedEncoder& model,
                                      std::span<const std::string> texts,
                                      const EmbedOptions& options) {
  const Tokenizer& tokenizer = *model.tokenizers.source;
  const int64_t most = model.model->longest();
  const int64_t longest =
      options.longest > 0 && (most == 0 || options.longest < most) ? options.longest : most;
  std::vector<EncodedText> encoded;
  encoded.reserve(texts.size());
  for (const std::string& text : texts) {
    encoded.push_back(encode_text(tokenizer, text, longest));
  }
  return embed_encoded(model, encoded, options);
}

std::vector<std::vector<float>> embed_encoded(const LoadedEncoder& model,
                                              std::span<const EncodedText> texts,
                                              const EmbedOptions& options) {
  std::vector<std::vector<float>> vectors(texts.size());
  for (const HostTexts& host :
       batch_texts(texts, options.batch_tokens, model.tokenizers.source->special().pad)) {
    const std::vector<float> values =
        pool(*model.model, to_tensors(host), options.pooling).to(DType::f32).to_vector();
    const size_t width = values.size() / static_cast<size_t>(host.rows);
    for (size_t row = 0; row < host.indices.size(); ++row) {
      std::vector<float>& vector = vectors[static_cast<size_t>(host.indices[row])];
      const auto begin = values.begin() + static_cast<int64_t>(row * width);
      vector.assign(begin, begin + static_cast<int64_t>(width));
      if (options.normalize) {
        normalize(vector);
      }
    }
  }
  return vectors;
}

}  // namespace heed
