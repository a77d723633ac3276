#include "models/answering/sentence_encoder.h"

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "ops/pointwise.h"
#include "ops/reduce.h"
#include "ops/shape/gather.h"
#include "ops/shape/shape.h"

namespace heed {
namespace {

// Rows of the table of the position encoding come sentence length by sentence length.
int64_t first_row(int64_t length) { return length * (length - 1) / 2; }

// l_kj = (1 - j/J) - (k/d) (1 - 2j/J) with the word j of J and the column k of d, both from 1 on.
Tensor position_encoding(int64_t longest, int64_t width) {
  const Tensor table = Tensor::zeros({first_row(longest + 1) + 1, width});
  float* next = table.data<float>();
  for (int64_t length = 1; length <= longest; ++length) {
    for (int64_t word = 1; word <= length; ++word) {
      const float j = static_cast<float>(word) / static_cast<float>(length);
      for (int64_t column = 1; column <= width; ++column) {
        const float k = static_cast<float>(column) / static_cast<float>(width);
        *next++ = (1.0F - j) - k * (1.0F - 2.0F * j);
      }
    }
  }
  return table;
}

Tensor bag_of_words(int64_t width) {
  const Tensor table = Tensor::zeros({2, width});
  std::fill_n(table.data<float>(), width, 1.0F);
  return table;
}

// Places differ from the beginning, so that the order of words is there to be seen.
constexpr float kWaves = 0.5F;

int64_t count_words(std::span<const int32_t> words) {
  return std::find(words.begin(), words.end(), 0) - words.begin();
}

}  // namespace

SentenceEncoder::SentenceEncoder(const Scope& s, const SentenceConfig& config) : config_(config) {
  if (config.order == "learned") {
    learned_ = s.param("weights", {config.longest, config.width}, Init::waves(kWaves));
  } else {
    fixed_ = config.order == "positions" ? position_encoding(config.longest, config.width)
                                         : bag_of_words(config.width);
  }
}

Tensor SentenceEncoder::places(const Tensor& words) const {
  const int64_t sentences = words.dim(0);
  const int64_t width = words.dim(1);
  check(width <= config_.longest, "[sentences] a sentence has {} words, the model reads at most {}",
        width, config_.longest);
  const int64_t padding = learned_.tensor().defined() ? config_.longest : fixed_.dim(0) - 1;
  const Tensor rows = Tensor::empty({sentences, width}, DType::i32);
  std::fill_n(rows.data<int32_t>(), rows.size(), static_cast<int32_t>(padding));
  for (int64_t i = 0; i < sentences; ++i) {
    const int64_t length = count_words(
        words.span<int32_t>().subspan(static_cast<size_t>(i * width), static_cast<size_t>(width)));
    int32_t* row = rows.data<int32_t>() + i * width;
    for (int64_t word = 0; word < length; ++word) {
      row[word] = static_cast<int32_t>(config_.order == "bag"         ? 0
                                       : config_.order == "positions" ? first_row(length) + word
                                                                      : word);
    }
  }
  return rows;
}

Tensor SentenceEncoder::weights(const Tensor& words) const {
  const Tensor rows = places(words);  // [S,W]
  if (fixed_.defined()) {
    return index_select(fixed_, 0, rows);  // [S,W,C]
  }
  const Tensor& learned = learned_.tensor();
  const Tensor none = Tensor::zeros({1, config_.width}, learned.dtype());
  return index_select(concat({add_scalar(learned, 1.0F), none}, 0), 0, rows);  // [S,W,C]
}

Tensor encode_sentences(const Tensor& words, const Tensor& weights) {
  return sum(mul(words, weights), 1);  // [S,C]
}

}  // namespace heed
