#include "models/answering/sentence_encoder.h"

#include <algorithm>
#include <span>

#include "base/error.h"
#include "ops/pointwise.h"
#include "ops/reduce.h"
#include "ops/shape/gather.h"
#include "ops/shape/shape.h"

namespace heed {
namespace {

// Places differ from the beginning, so that the order of words is there to be seen.
constexpr float kWaves = 0.5F;

// The number of words of a sentence, of which there are words.dim(1) at most.
int64_t count_words(const Tensor& words, int64_t sentence) {
  const int64_t width = words.dim(1);
  const int32_t* begin = words.data<int32_t>() + sentence * width;
  return std::find(begin, begin + width, 0) - begin;
}

// The place of each word in its sentence, and `padding` behind the last: i32 [S,W].
Tensor word_places(const Tensor& words, int32_t padding) {
  Tensor places = Tensor::empty(words.shape(), DType::i32);
  int32_t* next = places.data<int32_t>();
  for (int64_t sentence = 0; sentence < words.dim(0); ++sentence) {
    const int64_t length = count_words(words, sentence);
    for (int64_t word = 0; word < words.dim(1); ++word) {
      *next++ = word < length ? static_cast<int32_t>(word) : padding;
    }
  }
  return places;
}

// l_kj = (1 - j/J) - (k/d) (1 - 2j/J) with the word j of J and the column k of d, both from 1 on.
void encode_position(float j, std::span<float> columns) {
  for (size_t column = 0; column < columns.size(); ++column) {
    const float k = static_cast<float>(column + 1) / static_cast<float>(columns.size());
    columns[column] = (1.0F - j) - k * (1.0F - 2.0F * j);
  }
}

// f32 [S,W,C]: 1 for all words, or the position encoding of each.
Tensor fixed_weights(const Tensor& words, int64_t width, bool positions) {
  Tensor weights = Tensor::zeros({words.dim(0), words.dim(1), width});
  for (int64_t sentence = 0; sentence < words.dim(0); ++sentence) {
    const int64_t length = count_words(words, sentence);
    for (int64_t word = 0; word < length; ++word) {
      const std::span<float> columns = weights.span<float>().subspan(
          static_cast<size_t>((sentence * words.dim(1) + word) * width),
          static_cast<size_t>(width));
      if (positions) {
        encode_position(static_cast<float>(word + 1) / static_cast<float>(length), columns);
      } else {
        std::ranges::fill(columns, 1.0F);
      }
    }
  }
  return weights;
}

}  // namespace

SentenceEncoder::SentenceEncoder(const Scope& s, const SentenceConfig& config) : config_(config) {
  if (config.order == "learned") {
    learned_ = s.param("weights", {config.longest, config.width}, Init::waves(kWaves));
  }
}

Tensor SentenceEncoder::weights(const Tensor& words) const {
  check(words.dim(1) <= config_.longest,
        "[sentences] a sentence has {} words, the model reads at most {}", words.dim(1),
        config_.longest);
  if (config_.order != "learned") {
    return fixed_weights(words, config_.width, config_.order == "positions");  // [S,W,C]
  }
  const Tensor& learned = learned_.tensor();
  const Tensor none = Tensor::zeros({1, config_.width}, learned.dtype());
  const Tensor places = word_places(words, static_cast<int32_t>(config_.longest));  // [S,W]
  const Tensor table = concat({add_scalar(learned, 1.0F), none}, 0);                // [L+1,C]
  return index_select(table, 0, places);                                            // [S,W,C]
}

Tensor encode_sentences(const Tensor& words, const Tensor& weights) {
  return sum(mul(words, weights), 1);  // [S,C]
}

}  // namespace heed
