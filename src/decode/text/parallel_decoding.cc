#include "decode/text/parallel_decoding.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "base/random.h"
#include "decode/text/rescore.h"
#include "ops/shape/gather.h"
#include "ops/softmax.h"

namespace heed {
namespace {

// One length of one source, and what stands there so far.
struct Candidate {
  std::vector<int32_t> copied;              // which token of the source each position copies
  std::vector<int32_t> ids = {};            // END included
  std::vector<float> log_probability = {};  // of each id
  std::vector<bool> asked = {};             // positions that the next pass fills
  int64_t passes = 0;
  bool done = false;
  std::vector<std::vector<int32_t>> trace = {};

  int64_t length() const { return std::ssize(copied); }
};

class ParallelSearch {
 public:
  ParallelSearch(const ParallelModel& model, std::span<const DecodeRequest> requests,
                 const DecodeOptions& options);
  // Passes until every candidate is done, `iterations` at most.
  void run(int64_t iterations);
  // The best hypotheses of each request. `merge` drops a word that repeats the one before.
  std::vector<std::vector<Hypothesis>> results(bool merge) const;

 private:
  void choose_lengths(size_t request);
  void choose_fertilities(size_t request);
  void pass();
  ParallelModel::Pass shown(bool first) const;
  void take(Candidate& candidate, const TopK& best, int64_t row) const;
  void ask_again(Candidate& candidate, int64_t iterations) const;
  Hypothesis hypothesis_of(const Candidate& candidate, bool merge) const;

  const ParallelModel& model_;
  std::span<const DecodeRequest> requests_;
  const DecodeOptions& options_;
  std::unique_ptr<DecodeState> state_;
  Tensor lengths_;                     // log-probabilities of the lengths, f32 [B,2r+1]
  Tensor fertilities_;                 // of how often tokens are copied, f32 [B,S,F], or undefined
  std::vector<Candidate> candidates_;  // those of a request next to each other
  int64_t width_ = 0;                  // of the longest
};

ParallelSearch::ParallelSearch(const ParallelModel& model, std::span<const DecodeRequest> requests,
                               const DecodeOptions& options)
    : model_(model), requests_(requests), options_(options) {
  check(options.candidates >= 1, "[decode] candidates are {}, expected at least 1",
        options.candidates);
  check(options.n_best >= 1 && options.n_best <= options.candidates,
        "[decode] n_best is {}, expected 1 to {}, the candidates", options.n_best,
        options.candidates);
  const SourceBatch sources = source_batch(model, requests, options);
  state_ = model.start(sources.ids, sources.lengths);
  if (model.fertilities() > 0) {
    fertilities_ = log_softmax(model.fertility_logits(*state_).to(DType::f32));
  } else {
    lengths_ = log_softmax(model.length_logits(*state_).to(DType::f32));
  }
  for (size_t i = 0; i < requests.size(); ++i) {
    fertilities_.defined() ? choose_fertilities(i) : choose_lengths(i);
  }
  for (Candidate& candidate : candidates_) {
    const auto length = static_cast<size_t>(candidate.length());
    width_ = std::max(width_, candidate.length());
    candidate.ids.assign(length, options.special.start);
    candidate.log_probability.assign(length, 0.0F);
    candidate.asked.assign(length, true);
  }
}

// The likeliest lengths that are possible, likeliest first. If fewer are possible than candidates
// are wanted, the likeliest one comes again.
void ParallelSearch::choose_lengths(size_t request) {
  const int64_t range = model_.length_range();
  const int64_t source = std::ssize(requests_[request].source);
  const int64_t most = length_limit(requests_[request], options_, model_) + 1;  // END
  const float* scores = lengths_.data<float>() + static_cast<int64_t>(request) * (2 * range + 1);
  std::vector<int64_t> lengths;
  for (int64_t c = 0; c <= 2 * range; ++c) {
    if (const int64_t length = source + c - range; length >= 1 && length <= most) {
      lengths.push_back(length);
    }
  }
  if (lengths.empty()) {
    lengths.push_back(most);
  }
  std::stable_sort(lengths.begin(), lengths.end(), [&](int64_t a, int64_t b) {
    return scores[a - source + range] > scores[b - source + range];
  });
  for (int64_t k = 0; k < options_.candidates; ++k) {
    const int64_t length = lengths[k < std::ssize(lengths) ? static_cast<size_t>(k) : 0];
    candidates_.push_back({.copied = spread_copies(source, length)});
  }
}

// The likeliest fertilities first; those of the other candidates are drawn, as in the paper, with
// random numbers that depend on the candidate and the position alone.
void ParallelSearch::choose_fertilities(size_t request) {
  const int64_t source = std::ssize(requests_[request].source);
  const int64_t most = length_limit(requests_[request], options_, model_) + 1;  // END
  const int64_t choices = fertilities_.dim(2);
  for (int64_t k = 0; k < options_.candidates; ++k) {
    const RandomStream random{stream_of("fertilities"), static_cast<uint64_t>(k)};
    std::vector<int64_t> counts;
    int64_t left = most - 1;
    for (int64_t s = 0; s < source; ++s) {
      const float* scores = fertilities_.data<float>() +
                            (static_cast<int64_t>(request) * fertilities_.dim(1) + s) * choices;
      int64_t chosen = std::max_element(scores, scores + choices) - scores;
      if (k > 0) {
        float rest = random.uniform(static_cast<uint64_t>(s));
        for (chosen = 0; chosen + 1 < choices && rest >= std::exp(scores[chosen]); ++chosen) {
          rest -= std::exp(scores[chosen]);
        }
      }
      counts.push_back(std::min(chosen, left));
      left -= counts.back();
    }
    candidates_.push_back({.copied = fertile_copies(counts)});
  }
}

void ParallelSearch::run(int64_t iterations) {
  for (int64_t i = 0; i < iterations; ++i) {
    pass();
    bool done = true;
    for (Candidate& candidate : candidates_) {
      if (!candidate.done) {
        ask_again(candidate, iterations);
      }
      done = done && candidate.done;
    }
    if (done) {
      break;
    }
  }
}

// Copies of the source in the first pass, unless the model reads masks; else tokens.
ParallelModel::Pass ParallelSearch::shown(bool first) const {
  const bool copies = first && model_.input() != ParallelModel::Input::masked;
  const Shape shape{std::ssize(candidates_), width_};
  std::vector<int32_t> ids(static_cast<size_t>(shape.size()), 0);
  std::vector<int32_t> lengths;
  for (size_t row = 0; row < candidates_.size(); ++row) {
    const Candidate& candidate = candidates_[row];
    const std::vector<int32_t>& from = copies ? candidate.copied : candidate.ids;
    const auto begin = ids.begin() + static_cast<int64_t>(row) * width_;
    for (size_t t = 0; t < from.size(); ++t) {
      const bool hidden =
          !copies && model_.input() == ParallelModel::Input::masked && candidate.asked[t];
      begin[static_cast<int64_t>(t)] = hidden ? options_.special.start : from[t];
    }
    lengths.push_back(static_cast<int32_t>(candidate.length()));
  }
  const Tensor all = Tensor::from_ints(ids, shape);
  return {.tokens = copies ? Tensor() : all,
          .copied = copies ? all : Tensor(),
          .lengths = Tensor::from_ints(lengths, {shape[0]})};
}

void ParallelSearch::pass() {
  const bool first = candidates_.front().passes == 0;
  const Tensor logits = model_.pass(shown(first), *state_).to(DType::f32);  // [R,T,V]
  const int64_t vocabulary = logits.dim(2);
  forbid_tokens(options_, logits);
  const TopK best =
      top_k(log_softmax(logits).reshape({logits.dim(0) * logits.dim(1), vocabulary}), 1);
  for (size_t row = 0; row < candidates_.size(); ++row) {
    Candidate& candidate = candidates_[row];
    if (!candidate.done) {
      ++candidate.passes;
      take(candidate, best, static_cast<int64_t>(row));
    }
  }
}

// What the model says in the positions that it was asked for.
void ParallelSearch::take(Candidate& candidate, const TopK& best, int64_t row) const {
  bool changed = false;
  for (size_t t = 0; t < candidate.ids.size(); ++t) {
    if (!candidate.asked[t]) {
      continue;
    }
    const int64_t at = row * width_ + static_cast<int64_t>(t);
    changed = changed || candidate.ids[t] != best.indices.data<int32_t>()[at];
    candidate.ids[t] = best.indices.data<int32_t>()[at];
    candidate.log_probability[t] = best.values.data<float>()[at];
  }
  if (options_.trace) {
    candidate.trace.push_back(candidate.ids);
  }
  // Masks show other words in each pass, so the same answer twice does not mean that all is said.
  candidate.done = !changed && model_.input() != ParallelModel::Input::masked;
}

// Decides what the next pass fills: everything, or of n positions the (1 - passes / iterations) n
// least likely.
void ParallelSearch::ask_again(Candidate& candidate, int64_t iterations) const {
  if (model_.input() != ParallelModel::Input::masked) {
    return;
  }
  const int64_t length = candidate.length();
  const int64_t count = length * (iterations - candidate.passes) / iterations;
  std::vector<size_t> order(static_cast<size_t>(length));
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return candidate.log_probability[a] < candidate.log_probability[b];
  });
  candidate.asked.assign(order.size(), false);
  for (int64_t i = 0; i < count; ++i) {
    candidate.asked[order[static_cast<size_t>(i)]] = true;
  }
  candidate.done = count == 0;
  if (options_.trace) {
    for (size_t t = 0; t < order.size(); ++t) {
      if (candidate.asked[t]) {
        candidate.trace.back()[t] = options_.special.start;
      }
    }
  }
}

Hypothesis ParallelSearch::hypothesis_of(const Candidate& candidate, bool merge) const {
  Hypothesis result;
  const int32_t end = end_of(options_);
  for (size_t t = 0; t < candidate.ids.size(); ++t) {
    result.log_probability += candidate.log_probability[t];
    const bool ended = candidate.ids[t] == end || t + 1 == candidate.ids.size();
    if (ended) {
      break;
    }
    if (!merge || result.ids.empty() || result.ids.back() != candidate.ids[t]) {
      result.ids.push_back(candidate.ids[t]);
    }
  }
  const double all =
      std::accumulate(candidate.log_probability.begin(), candidate.log_probability.end(), 0.0);
  result.score = all / static_cast<double>(candidate.length());
  result.steps = candidate.passes;
  result.trace = candidate.trace;
  return result;
}

std::vector<std::vector<Hypothesis>> ParallelSearch::results(bool merge) const {
  std::vector<std::vector<Hypothesis>> all;
  const auto count = static_cast<size_t>(options_.candidates);
  for (size_t i = 0; i < requests_.size(); ++i) {
    std::vector<Hypothesis> found;
    for (size_t k = 0; k < count; ++k) {
      found.push_back(hypothesis_of(candidates_[i * count + k], merge));
    }
    all.push_back(std::move(found));
  }
  if (options_.rescorer != nullptr) {
    rescore(*options_.rescorer, requests_, options_, all);
  }
  for (std::vector<Hypothesis>& found : all) {
    std::stable_sort(found.begin(), found.end(),
                     [](const Hypothesis& a, const Hypothesis& b) { return a.score > b.score; });
    found.resize(static_cast<size_t>(options_.n_best));
  }
  return all;
}

}  // namespace

std::vector<int32_t> spread_copies(int64_t source, int64_t target) {
  std::vector<int32_t> copied;
  for (int64_t t = 0; t + 1 < target; ++t) {
    // The middle of position t on a line as long as the source without END.
    const int64_t middle = (2 * t + 1) * std::max<int64_t>(source - 1, 1) / (2 * (target - 1));
    copied.push_back(static_cast<int32_t>(middle));
  }
  copied.push_back(static_cast<int32_t>(source - 1));
  return copied;
}

std::vector<int32_t> fertile_copies(std::span<const int64_t> fertilities) {
  std::vector<int32_t> copied;
  for (size_t s = 0; s < fertilities.size(); ++s) {
    copied.insert(copied.end(), static_cast<size_t>(fertilities[s]), static_cast<int32_t>(s));
  }
  copied.push_back(static_cast<int32_t>(fertilities.size()) - 1);
  return copied;
}

std::vector<std::vector<Hypothesis>> decode_in_one_pass(const ParallelModel& model,
                                                        std::span<const DecodeRequest> requests,
                                                        const DecodeOptions& options) {
  ParallelSearch search(model, requests, options);
  search.run(1);
  // Positions that do not know of each other often say the same word twice.
  return search.results(true);
}

bool can_refine(const TranslationModel& model) {
  const auto* parallel = dynamic_cast<const ParallelModel*>(&model);
  return parallel != nullptr && parallel->input() != ParallelModel::Input::copied;
}

std::vector<std::vector<Hypothesis>> decode_by_refinement(const ParallelModel& model,
                                                          std::span<const DecodeRequest> requests,
                                                          const DecodeOptions& options) {
  check(options.iterations >= 1, "[decode] iterations are {}, expected at least 1",
        options.iterations);
  ParallelSearch search(model, requests, options);
  search.run(options.iterations);
  return search.results(options.iterations == 1);
}

}  // namespace heed
