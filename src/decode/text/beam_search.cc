#include "decode/text/beam_search.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "ops/shape/gather.h"
#include "ops/softmax.h"

namespace heed {
namespace {

constexpr double kImpossible = -std::numeric_limits<double>::infinity();

// One way to go on: row `row` of the batch says `token`.
struct Extension {
  double log_probability;
  int64_t row;
  int32_t token;
};

// One sentence on its way: `beam` live rows and what has ended so far.
struct Search {
  size_t request = 0;
  int64_t limit = 0;                      // tokens it may say
  std::vector<std::vector<int32_t>> ids;  // of each live row
  std::vector<double> log_probability;    // likewise; kImpossible: not in use
  std::vector<Hypothesis> ended = {};
  bool done = false;
};

class BeamSearch {
 public:
  BeamSearch(const Seq2SeqModel& model, std::span<const DecodeRequest> requests,
             const DecodeOptions& options);
  std::vector<std::vector<Hypothesis>> run();

 private:
  void step();
  Tensor last_tokens() const;
  void suppress(const Tensor& logits) const;
  std::vector<Extension> candidates(size_t sentence, const TopK& best) const;
  void force(size_t sentence, const Tensor& log_probabilities, int32_t token);
  void advance(size_t sentence, const std::vector<Extension>& candidates);
  bool finished(const Search& search) const;
  void finish(Search& search);
  void keep_unfinished();

  const Seq2SeqModel& model_;
  std::span<const DecodeRequest> requests_;
  const DecodeOptions& options_;
  std::vector<Search> live_;
  std::vector<int64_t> parents_;  // row each new row continues
  std::unique_ptr<DecodeState> state_;
  std::vector<std::vector<Hypothesis>> results_;
  int64_t position_ = 0;
  int32_t end_;
};

BeamSearch::BeamSearch(const Seq2SeqModel& model, std::span<const DecodeRequest> requests,
                       const DecodeOptions& options)
    : model_(model),
      requests_(requests),
      options_(options),
      results_(requests.size()),
      end_(end_of(options)) {
  const auto beam = static_cast<size_t>(options.beam);
  for (size_t i = 0; i < requests.size(); ++i) {
    Search search{.request = i,
                  .limit = length_limit(requests[i], options, model),
                  .ids = std::vector<std::vector<int32_t>>(beam),
                  .log_probability = std::vector<double>(beam, kImpossible)};
    search.log_probability[0] = 0.0;  // all rows are equal at first: one of them counts
    live_.push_back(std::move(search));
  }
  const SourceBatch sources = source_batch(model, requests, options);
  state_ = model.start(sources.ids, sources.lengths, options.beam);
}

std::vector<std::vector<Hypothesis>> BeamSearch::run() {
  while (!live_.empty()) {
    step();
  }
  return std::move(results_);
}

Tensor BeamSearch::last_tokens() const {
  std::vector<int32_t> tokens;
  for (const Search& search : live_) {
    for (const std::vector<int32_t>& ids : search.ids) {
      tokens.push_back(ids.empty() ? options_.special.start : ids.back());
    }
  }
  return Tensor::from_ints(tokens, {static_cast<int64_t>(tokens.size())});
}

void BeamSearch::suppress(const Tensor& logits) const {
  for (int64_t row = 0; row < logits.dim(0); ++row) {
    const Search& search = live_[static_cast<size_t>(row / options_.beam)];
    forbid_after(options_, search.ids[static_cast<size_t>(row % options_.beam)],
                 logits.rows(row, row + 1).span<float>());
  }
}

void BeamSearch::step() {
  const Tensor logits = model_.step(last_tokens(), *state_);  // [R,V]
  const Tensor allowed = logits.to(DType::f32);
  forbid_tokens(options_, allowed);
  suppress(allowed);
  const Tensor log_probabilities = log_softmax(allowed);  // f32 [R,V]
  const int64_t wanted = std::min(2 * options_.beam, logits.dim(1));
  const TopK best = top_k(log_probabilities, options_.beam == 1 ? 1 : wanted);
  parents_.assign(live_.size() * static_cast<size_t>(options_.beam), 0);
  for (size_t i = 0; i < live_.size(); ++i) {
    const std::vector<int32_t>& prefix = requests_[live_[i].request].prefix;
    if (position_ < static_cast<int64_t>(prefix.size())) {
      force(i, log_probabilities, prefix[static_cast<size_t>(position_)]);
    } else {
      advance(i, candidates(i, best));
    }
  }
  ++position_;
  keep_unfinished();
}

// The best 2 * beam continuations of a sentence: enough to fill the beam if all others end.
std::vector<Extension> BeamSearch::candidates(size_t sentence, const TopK& best) const {
  const Search& search = live_[sentence];
  const int64_t width = best.values.dim(1);
  std::vector<Extension> all;
  for (int64_t k = 0; k < options_.beam; ++k) {
    const double so_far = search.log_probability[static_cast<size_t>(k)];
    const int64_t row = static_cast<int64_t>(sentence) * options_.beam + k;
    for (int64_t j = 0; so_far != kImpossible && j < width; ++j) {
      const double next = so_far + best.values.data<float>()[row * width + j];
      if (std::isfinite(next)) {  // neither forbidden nor of a model whose weights are no numbers
        all.push_back({next, row, best.indices.data<int32_t>()[row * width + j]});
      }
    }
  }
  std::stable_sort(all.begin(), all.end(), [](const Extension& a, const Extension& b) {
    return a.log_probability > b.log_probability;
  });
  all.resize(std::min(all.size(), static_cast<size_t>(width)));
  return all;
}

// A forced prefix: every row says the same, and the first row's probability counts.
void BeamSearch::force(size_t sentence, const Tensor& log_probabilities, int32_t token) {
  Search& search = live_[sentence];
  const int64_t first = static_cast<int64_t>(sentence) * options_.beam;
  for (size_t k = 0; k < search.ids.size(); ++k) {
    search.ids[k].push_back(token);
    parents_[static_cast<size_t>(first) + k] = first + static_cast<int64_t>(k);
  }
  const float said = log_probabilities.data<float>()[first * log_probabilities.dim(1) + token];
  search.log_probability[0] += std::isfinite(said) ? said : 0.0F;
  search.done = static_cast<int64_t>(search.ids[0].size()) >= search.limit;
}

void BeamSearch::advance(size_t sentence, const std::vector<Extension>& candidates) {
  Search& search = live_[sentence];
  const auto beam = static_cast<size_t>(options_.beam);
  const int64_t first = static_cast<int64_t>(sentence) * options_.beam;
  std::vector<std::vector<int32_t>> ids;
  std::vector<double> log_probability;
  for (size_t rank = 0; rank < candidates.size() && ids.size() < beam; ++rank) {
    const Extension& next = candidates[rank];
    const std::vector<int32_t>& before = search.ids[static_cast<size_t>(next.row - first)];
    if (next.token == end_) {
      if (rank < beam) {  // an end that does not even rank among the live ones is none
        const auto length = static_cast<int64_t>(before.size()) + 1;
        search.ended.push_back(
            {before, next.log_probability,
             next.log_probability / length_penalty(length, options_.length_penalty)});
      }
      continue;
    }
    parents_[static_cast<size_t>(first) + ids.size()] = next.row;
    ids.push_back(before);
    ids.back().push_back(next.token);
    log_probability.push_back(next.log_probability);
  }
  for (size_t k = ids.size(); k < beam; ++k) {  // fewer ways to go on than rows
    parents_[static_cast<size_t>(first) + k] = first;
    ids.push_back(ids.empty() ? search.ids[0] : ids[0]);
    log_probability.push_back(kImpossible);
  }
  search.ids = std::move(ids);
  search.log_probability = std::move(log_probability);
  search.done = finished(search);
}

bool BeamSearch::finished(const Search& search) const {
  const auto length = static_cast<int64_t>(search.ids[0].size());
  if (length >= search.limit || search.log_probability[0] == kImpossible) {
    return true;
  }
  if (static_cast<int64_t>(search.ended.size()) < options_.beam) {
    return false;
  }
  // Nothing alive can come before the n-th best that has ended.
  std::vector<double> scores;
  for (const Hypothesis& hypothesis : search.ended) {
    scores.push_back(hypothesis.score);
  }
  std::nth_element(scores.begin(), scores.begin() + (options_.n_best - 1), scores.end(),
                   std::greater<>());
  return search.log_probability[0] / length_penalty(length + 1, options_.length_penalty) <=
         scores[static_cast<size_t>(options_.n_best - 1)];
}

// What a sentence of a greedy search had said after each step.
std::vector<std::vector<int32_t>> prefixes_of(const std::vector<int32_t>& ids, int64_t steps) {
  std::vector<std::vector<int32_t>> said;
  for (int64_t step = 1; step <= steps; ++step) {
    said.emplace_back(ids.begin(), ids.begin() + std::min(step, std::ssize(ids)));
  }
  return said;
}

void BeamSearch::finish(Search& search) {
  // At the length limit what is still alive counts as it stands.
  for (size_t k = 0; k < search.ids.size(); ++k) {
    if (static_cast<int64_t>(search.ended.size()) < options_.n_best &&
        search.log_probability[k] != kImpossible) {
      const auto length = static_cast<int64_t>(search.ids[k].size());
      search.ended.push_back(
          {search.ids[k], search.log_probability[k],
           search.log_probability[k] / length_penalty(length, options_.length_penalty)});
    }
  }
  if (search.ended.empty()) {  // there was no way to go on
    search.ended.push_back({search.ids[0], kImpossible, kImpossible});
  }
  std::stable_sort(search.ended.begin(), search.ended.end(),
                   [](const Hypothesis& a, const Hypothesis& b) { return a.score > b.score; });
  const auto most = static_cast<size_t>(options_.n_best);
  search.ended.resize(std::min(search.ended.size(), most));
  for (Hypothesis& hypothesis : search.ended) {
    hypothesis.steps = position_;
    if (options_.trace) {
      hypothesis.trace = prefixes_of(hypothesis.ids, position_);
    }
  }
  results_[search.request] = std::move(search.ended);
}

void BeamSearch::keep_unfinished() {
  std::vector<int64_t> sources;
  std::vector<int64_t> rows;
  std::vector<Search> kept;
  for (size_t i = 0; i < live_.size(); ++i) {
    if (live_[i].done) {
      finish(live_[i]);
      continue;
    }
    sources.push_back(static_cast<int64_t>(i));
    const auto first = static_cast<int64_t>(i) * options_.beam;
    rows.insert(rows.end(), parents_.begin() + first, parents_.begin() + first + options_.beam);
    kept.push_back(std::move(live_[i]));
  }
  const bool moved = rows.size() != parents_.size() || !std::is_sorted(rows.begin(), rows.end()) ||
                     std::adjacent_find(rows.begin(), rows.end()) != rows.end();
  live_ = std::move(kept);
  if (moved && !live_.empty()) {
    model_.select(*state_, sources, rows);
  }
}

}  // namespace

std::vector<std::vector<Hypothesis>> beam_search(const Seq2SeqModel& model,
                                                 std::span<const DecodeRequest> requests,
                                                 const DecodeOptions& options) {
  check(options.beam >= 1, "[decode] beam is {}, expected at least 1", options.beam);
  check(options.n_best >= 1 && options.n_best <= options.beam,
        "[decode] n_best is {}, expected 1 to {}, the beam", options.n_best, options.beam);
  if (requests.empty()) {
    return {};
  }
  return BeamSearch(model, requests, options).run();
}

}  // namespace heed
