#include "data/text/texts.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "base/random.h"
#include "data/shuffle.h"

namespace heed {
namespace {

void push_if(std::vector<int32_t>& ids, int32_t special) {
  if (special >= 0) {
    ids.push_back(special);
  }
}

void truncate(std::vector<int32_t>& first, std::vector<int32_t>* second, size_t most) {
  const size_t other = second == nullptr ? 0 : second->size();
  if (first.size() + other <= most) {
    return;
  }
  if (second == nullptr) {
    first.resize(most);
    return;
  }
  // The longer one is cut until both are equally long; then both are.
  const size_t half = most / 2;
  const size_t shorter = std::min(first.size(), other);
  const size_t kept = std::min(shorter, half);
  const size_t rest = most - kept;
  if (first.size() >= other) {
    first.resize(std::min(first.size(), rest));
    second->resize(kept);
  } else {
    first.resize(kept);
    second->resize(std::min(other, rest));
  }
}

}  // namespace

EncodedText join_texts(const Tokenizer& tokenizer, std::vector<int32_t> first,
                       std::optional<std::vector<int32_t>> second, int64_t longest) {
  const SpecialIds& special = tokenizer.special();
  if (longest > 0) {
    const int64_t around =
        (special.start >= 0 ? 1 : 0) + (special.end >= 0 ? 1 : 0) * (second ? 2 : 1);
    truncate(first, second ? &*second : nullptr,
             static_cast<size_t>(std::max<int64_t>(0, longest - around)));
  }
  EncodedText text;
  push_if(text.tokens, special.start);
  text.tokens.insert(text.tokens.end(), first.begin(), first.end());
  push_if(text.tokens, special.end);
  text.first = std::ssize(text.tokens);
  if (second) {
    text.tokens.insert(text.tokens.end(), second->begin(), second->end());
    push_if(text.tokens, special.end);
  }
  if (text.tokens.empty()) {
    text.tokens.push_back(std::max(special.unk, 0));  // a model needs at least one token
    text.first = 1;
  }
  if (longest > 0 && std::ssize(text.tokens) > longest) {
    text.tokens.resize(static_cast<size_t>(longest));
    text.first = std::min(text.first, longest);
  }
  return text;
}

EncodedText encode_text(const Tokenizer& tokenizer, std::string_view text, int64_t longest) {
  return join_texts(tokenizer, tokenizer.encode(text), std::nullopt, longest);
}

HostTexts pad_texts(std::span<const EncodedText> texts, std::span<const int64_t> indices,
                    int32_t pad) {
  HostTexts batch;
  batch.rows = std::ssize(indices);
  batch.indices.assign(indices.begin(), indices.end());
  for (const int64_t index : indices) {
    batch.width = std::max(batch.width, std::ssize(texts[static_cast<size_t>(index)].tokens));
  }
  batch.tokens.assign(static_cast<size_t>(batch.rows * batch.width), std::max(pad, 0));
  batch.types.assign(batch.tokens.size(), 0);
  for (int64_t row = 0; row < batch.rows; ++row) {
    const EncodedText& text = texts[static_cast<size_t>(indices[static_cast<size_t>(row)])];
    const int64_t begin = row * batch.width;
    const int64_t length = std::ssize(text.tokens);
    std::copy(text.tokens.begin(), text.tokens.end(), batch.tokens.begin() + begin);
    std::fill(batch.types.begin() + begin + text.first, batch.types.begin() + begin + length, 1);
    batch.lengths.push_back(static_cast<int32_t>(length));
    batch.count += length;
  }
  return batch;
}

std::vector<HostTexts> batch_texts(std::span<const EncodedText> texts, int64_t batch_tokens,
                                   int32_t pad) {
  std::vector<int64_t> order(texts.size());
  std::iota(order.begin(), order.end(), int64_t{0});
  const auto length = [&](int64_t index) {
    return std::ssize(texts[static_cast<size_t>(index)].tokens);
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return length(a) < length(b); });
  std::vector<HostTexts> batches;
  size_t begin = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    const auto rows = static_cast<int64_t>(i + 1 - begin);
    if (i > begin && rows * length(order[i]) > batch_tokens) {
      batches.push_back(pad_texts(texts, std::span(order).subspan(begin, i - begin), pad));
      begin = i;
    }
  }
  if (begin < order.size()) {
    batches.push_back(pad_texts(texts, std::span(order).subspan(begin), pad));
  }
  return batches;
}

TextEpochs::TextEpochs(std::vector<EncodedText> texts, const Options& options)
    : texts_(std::move(texts)), options_(options) {
  check(!texts_.empty(), "[texts] there is nothing to train on");
  plan(0);
}

void TextEpochs::plan(int64_t epoch) {
  if (epoch == epoch_) {
    return;
  }
  epoch_ = epoch;
  const auto random = [&](const char* what) {
    return RandomStream{options_.seed, stream_of(fmt::format("texts {} {}", what, epoch))};
  };
  constexpr int64_t kMultiple = 8;  // lengths are rounded up, so that more of them are equal
  const auto length = [&](int64_t index) {
    const int64_t exact = std::ssize(texts_[static_cast<size_t>(index)].tokens);
    return (exact + kMultiple - 1) / kMultiple * kMultiple;
  };
  std::vector<int64_t> order(texts_.size());
  std::iota(order.begin(), order.end(), int64_t{0});
  shuffle(order, random("order"));
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return length(a) < length(b); });
  batches_.clear();
  for (const int64_t index : order) {
    const bool fits = !batches_.empty() &&
                      (std::ssize(batches_.back()) + 1) * length(index) <= options_.batch_tokens;
    if (!fits) {
      batches_.emplace_back();
    }
    batches_.back().push_back(index);
  }
  shuffle(batches_, random("batches"));
}

HostTexts TextEpochs::next(DataState& state) {
  plan(state.epoch);
  check(state.batch >= 0 && state.batch < epoch_batches(),
        "[texts] the run continues with batch {}, but an epoch has only {}; have the files or the "
        "options changed?",
        state.batch, epoch_batches());
  HostTexts batch = pad_texts(texts_, batches_[static_cast<size_t>(state.batch)], options_.pad);
  state = state.batch + 1 < epoch_batches()
              ? DataState{.epoch = state.epoch, .batch = state.batch + 1}
              : DataState{.epoch = state.epoch + 1};
  return batch;
}

}  // namespace heed
