#include "nn/adaptive/adaptive_vocabulary.h"

#include <algorithm>

#include "base/error.h"
#include "base/ignore.h"
#include "ops/loss/cross_entropy.h"
#include "ops/pointwise.h"
#include "ops/shape/cast.h"
#include "ops/shape/gather.h"
#include "ops/shape/shape.h"
#include "ops/softmax.h"

namespace heed {
namespace {

Tensor ints(const std::vector<int32_t>& values) {
  return Tensor::from_ints(values, {std::ssize(values)});
}

const AdaptiveConfig& checked(const AdaptiveConfig& config) {
  check(!config.cutoffs.empty() && config.shrink >= 1,
        "[adaptive vocabulary] {} cutoffs and a shrink of {}, expected at least 1 of each",
        config.cutoffs.size(), config.shrink);
  int64_t before = 0;
  for (const int64_t cutoff : config.cutoffs) {
    check(cutoff > before && cutoff < config.vocabulary,
          "[adaptive vocabulary] a band begins at {}, expected {} to {}: cutoffs rise, and are "
          "smaller than the vocabulary",
          cutoff, before + 1, config.vocabulary - 1);
    before = cutoff;
  }
  return config;
}

}  // namespace

AdaptiveVocabulary::AdaptiveVocabulary(const Scope& s, const AdaptiveConfig& config)
    : width_(checked(config).width),
      others_(s / "bands", config.width, std::ssize(config.cutoffs), false,
              Init::normal(config.standard_deviation)) {
  int64_t width = config.width;
  int64_t begin = 0;
  for (size_t i = 0; i <= config.cutoffs.size(); ++i) {
    const int64_t end = i < config.cutoffs.size() ? config.cutoffs[i] : config.vocabulary;
    const Scope own = s / static_cast<int64_t>(i);
    const Init init = Init::normal(config.standard_deviation);
    Band band{.begin = begin,
              .end = end,
              .vectors = Embedding(own, end - begin, width, init),
              .output = {},
              .up = {},
              .down = {}};
    if (!config.tied) {
      band.output.emplace_back(own / "output", end - begin, width, init);
    }
    if (i > 0) {
      band.up.emplace_back(own / "up", width, config.width, false);
      band.down.emplace_back(own / "down", config.width, width, false);
    }
    bands_.push_back(std::move(band));
    begin = end;
    width = std::max<int64_t>(1, width / config.shrink);
  }
}

size_t AdaptiveVocabulary::band_of(int32_t token) const {
  check(token >= 0 && token < bands_.back().end, "[adaptive vocabulary] token {}, expected 0 to {}",
        token, bands_.back().end - 1);
  size_t band = 0;
  while (token >= bands_[band].end) {
    ++band;
  }
  return band;
}

// Each band's tokens together, then back to where they were.
Tensor AdaptiveVocabulary::embed(const Tensor& tokens) const {
  std::vector<std::vector<int32_t>> ids(bands_.size());
  std::vector<size_t> of;
  for (const int32_t token : tokens.span<int32_t>()) {
    of.push_back(band_of(token));
    ids[of.back()].push_back(token - static_cast<int32_t>(bands_[of.back()].begin));
  }
  std::vector<Tensor> parts;
  std::vector<int32_t> next;  // place of each band's next token among all parts
  int32_t before = 0;
  for (size_t b = 0; b < bands_.size(); ++b) {
    next.push_back(before);
    before += static_cast<int32_t>(ids[b].size());
    if (!ids[b].empty()) {
      const Tensor vectors = bands_[b].vectors(ints(ids[b]));  // [n, width of the band]
      parts.push_back(bands_[b].up.empty() ? vectors : bands_[b].up.front()(vectors));  // [n,C]
    }
  }
  std::vector<int32_t> order;
  order.reserve(of.size());
  for (const size_t b : of) {
    order.push_back(next[b]++);
  }
  const Tensor rows = index_select(concat(parts, 0), 0, ints(order));  // [N,C]
  std::vector<int64_t> shape(tokens.shape().extents().begin(), tokens.shape().extents().end());
  shape.push_back(width_);
  return reshape(rows, shape);  // [..., C]
}

Tensor AdaptiveVocabulary::head_logits(const Tensor& x) const {
  return concat({bands_.front().said().logits(x), others_(x)}, -1);  // [N, head + bands]
}

Tensor AdaptiveVocabulary::band_logits(const Band& band, const Tensor& x) const {
  return band.said().logits(band.down.front()(x));  // [N, words of the band]
}

Tensor AdaptiveVocabulary::log_probabilities(const Tensor& x) const {
  const Tensor rows = x.reshape({x.size() / width_, width_});            // [N,C]
  const Tensor head = log_softmax(cast(head_logits(rows), DType::f32));  // [N, head + bands]
  const int64_t words = bands_.front().end;
  std::vector<Tensor> parts{slice(head, 1, 0, words)};  // [N, head]
  for (size_t b = 1; b < bands_.size(); ++b) {
    const auto place = words + static_cast<int64_t>(b) - 1;
    const Tensor inside =
        log_softmax(cast(band_logits(bands_[b], rows), DType::f32));  // [N, words of the band]
    parts.push_back(add(inside, expand(slice(head, 1, place, place + 1), inside.shape())));
  }
  std::vector<int64_t> shape(x.shape().extents().begin(), x.shape().extents().end());
  shape.back() = bands_.back().end;
  return reshape(concat(parts, 1), shape);  // [..., V]
}

Tensor AdaptiveVocabulary::loss(const Tensor& x, const Tensor& targets) const {
  const Tensor rows = x.reshape({x.size() / width_, width_});  // [N,C]
  std::vector<int32_t> in_head;                                // the word, or its band
  std::vector<std::vector<int32_t>> places(bands_.size());
  std::vector<std::vector<int32_t>> words(bands_.size());
  int64_t count = 0;
  for (const int32_t target : targets.span<int32_t>()) {
    const auto place = static_cast<int32_t>(in_head.size());
    in_head.push_back(kIgnore);
    if (target == kIgnore) {
      continue;
    }
    ++count;
    const size_t b = band_of(target);
    in_head.back() =
        b == 0 ? target : static_cast<int32_t>(bands_.front().end + static_cast<int64_t>(b) - 1);
    places[b].push_back(place);
    words[b].push_back(target - static_cast<int32_t>(bands_[b].begin));
  }
  Tensor nats = cross_entropy(head_logits(rows), ints(in_head), {.reduction = Reduction::sum});
  for (size_t b = 1; b < bands_.size(); ++b) {
    if (!places[b].empty()) {
      const Tensor some = index_select(rows, 0, ints(places[b]));  // [n,C]
      nats = add(nats, cross_entropy(band_logits(bands_[b], some), ints(words[b]),
                                     {.reduction = Reduction::sum}));
    }
  }
  return scale(nats, 1.0F / static_cast<float>(std::max<int64_t>(count, 1)));
}

}  // namespace heed
