#include "decode/sampling.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace heed {
namespace {

bool likelier(const Candidate& a, const Candidate& b) {
  return a.probability != b.probability ? a.probability > b.probability : a.id < b.id;
}

void penalise(std::vector<float>& logits, std::span<const int32_t> seen, float penalty) {
  std::vector<int32_t> once(seen.begin(), seen.end());
  std::sort(once.begin(), once.end());
  once.erase(std::unique(once.begin(), once.end()), once.end());
  for (const int32_t id : once) {
    check(id >= 0 && id < std::ssize(logits), "[sampling] token {} was seen, expected 0 to {}", id,
          std::ssize(logits) - 1);
    float& logit = logits[static_cast<size_t>(id)];
    logit = logit > 0.0F ? logit / penalty : logit * penalty;
  }
}

// The tokens with their logits in the place of probabilities.
std::vector<Candidate> finite_logits(std::span<const float> logits) {
  std::vector<Candidate> all;
  all.reserve(logits.size());
  for (size_t i = 0; i < logits.size(); ++i) {
    if (std::isfinite(logits[i])) {
      all.push_back({static_cast<int32_t>(i), logits[i]});
    }
  }
  check(!all.empty(), "[sampling] no logit is finite: the model's weights may be damaged");
  return all;
}

// What top-k and min-p leave of them, in no order.
void keep_best(std::vector<Candidate>& all, const SamplingOptions& options) {
  const auto count = static_cast<size_t>(options.top_k);
  if (options.top_k > 0 && count < all.size()) {
    std::nth_element(all.begin(), all.begin() + options.top_k, all.end(), likelier);
    all.resize(count);
  }
  if (options.min_p > 0.0F) {
    const float top = std::min_element(all.begin(), all.end(), likelier)->probability;
    const float least = top + options.temperature * std::log(options.min_p);
    std::erase_if(all, [&](const Candidate& c) { return c.probability < least; });
  }
}

void normalise(std::vector<Candidate>& candidates) {
  double total = 0.0;
  for (const Candidate& candidate : candidates) {
    total += candidate.probability;
  }
  for (Candidate& candidate : candidates) {
    candidate.probability = static_cast<float>(candidate.probability / total);
  }
}

// Keeps the likeliest until they have the probability p together, the one that reaches it included.
void keep_top_p(std::vector<Candidate>& candidates, float p) {
  double total = 0.0;
  size_t kept = 0;
  while (kept < candidates.size() && total < p) {
    total += candidates[kept++].probability;
  }
  candidates.resize(std::max<size_t>(kept, 1));
  normalise(candidates);
}

// What the penalty, the temperature, top-k and min-p make of logits. Vocabularies are large and
// what is drawn is nearly always one of the likeliest, so only these are sorted.
class Distribution {
 public:
  Distribution(std::span<const float> logits, std::span<const int32_t> seen,
               const SamplingOptions& options)
      : temperature_(options.temperature) {
    if (options.repetition_penalty != 1.0F) {
      std::vector<float> changed(logits.begin(), logits.end());
      penalise(changed, seen, options.repetition_penalty);
      left_ = finite_logits(changed);
    } else {
      left_ = finite_logits(logits);
    }
    if (temperature_ == 0.0F) {
      left_ = {*std::min_element(left_.begin(), left_.end(), likelier)};
    } else {
      keep_best(left_, options);
    }
    top_ = std::min_element(left_.begin(), left_.end(), likelier)->probability;
    for (const Candidate& candidate : left_) {
      total_ += weight(candidate);
    }
  }

  size_t size() const { return left_.size(); }

  // All, in no order, with their probabilities.
  std::vector<Candidate> all() const {
    std::vector<Candidate> result = left_;
    for (Candidate& candidate : result) {
      candidate.probability = static_cast<float>(weight(candidate) / total_);
    }
    return result;
  }

  // The likeliest, enough of them to have more than this probability together.
  std::vector<Candidate> likeliest_with(double needed) {
    std::vector<Candidate> best;
    for (size_t count = 256; best.size() < size(); count *= 16) {
      best = likeliest(std::min(count, size()));
      double total = 0.0;
      for (const Candidate& candidate : best) {
        total += candidate.probability;
      }
      if (total > needed) {
        break;
      }
    }
    return best;
  }

  // So many, likeliest first, with their probabilities.
  std::vector<Candidate> likeliest(size_t count) {
    const auto end = left_.begin() + static_cast<int64_t>(count);
    if (count < left_.size()) {
      std::nth_element(left_.begin(), end, left_.end(), likelier);
    }
    std::sort(left_.begin(), end, likelier);
    std::vector<Candidate> best(left_.begin(), end);
    for (Candidate& candidate : best) {
      candidate.probability = static_cast<float>(weight(candidate) / total_);
    }
    return best;
  }

 private:
  float weight(const Candidate& logit) const {
    return temperature_ == 0.0F ? 1.0F : std::exp((logit.probability - top_) / temperature_);
  }

  float temperature_;
  std::vector<Candidate> left_;  // with logits in the place of probabilities
  float top_ = 0.0F;
  double total_ = 0.0;
};

}  // namespace

void check_sampling(const SamplingOptions& options) {
  check(options.temperature >= 0.0F && std::isfinite(options.temperature),
        "[sampling] temperature is {}, expected 0 or more", options.temperature);
  check(options.top_k >= 0, "[sampling] top_k is {}, expected 0 or more", options.top_k);
  check(options.top_p > 0.0F && options.top_p <= 1.0F,
        "[sampling] top_p is {}, expected more than 0 and at most 1", options.top_p);
  check(options.min_p >= 0.0F && options.min_p <= 1.0F, "[sampling] min_p is {}, expected 0 to 1",
        options.min_p);
  check(options.repetition_penalty > 0.0F && std::isfinite(options.repetition_penalty),
        "[sampling] repetition_penalty is {}, expected more than 0", options.repetition_penalty);
}

std::vector<Candidate> candidates(std::span<const float> logits, std::span<const int32_t> seen,
                                  const SamplingOptions& options) {
  Distribution distribution(logits, seen, options);
  std::vector<Candidate> left = distribution.likeliest(distribution.size());
  if (options.top_p < 1.0F) {
    keep_top_p(left, options.top_p);
  }
  return left;
}

std::vector<float> probabilities(std::span<const float> logits, std::span<const int32_t> seen,
                                 const SamplingOptions& options) {
  Distribution distribution(logits, seen, options);
  std::vector<Candidate> left;
  if (options.top_p < 1.0F) {
    left = distribution.likeliest_with(static_cast<double>(options.top_p));
    keep_top_p(left, options.top_p);
  } else {
    left = distribution.all();
  }
  std::vector<float> each(logits.size(), 0.0F);
  for (const Candidate& candidate : left) {
    each[static_cast<size_t>(candidate.id)] = candidate.probability;
  }
  return each;
}

int32_t sample(std::span<const float> logits, std::span<const int32_t> seen,
               const SamplingOptions& options, double uniform) {
  Distribution distribution(logits, seen, options);
  std::vector<Candidate> left = distribution.likeliest_with(
      options.top_p < 1.0F ? static_cast<double>(options.top_p) : uniform);
  if (options.top_p < 1.0F) {
    keep_top_p(left, options.top_p);
  }
  return draw(left, uniform);
}

int32_t draw(std::span<const Candidate> from, double uniform) {
  check(!from.empty(), "[sampling] there is nothing to draw from");
  double total = 0.0;
  int32_t last = from.front().id;
  for (const Candidate& candidate : from) {
    total += candidate.probability;
    if (uniform < total) {
      return candidate.id;
    }
    last = candidate.probability > 0.0F ? candidate.id : last;
  }
  return last;  // rounding left the sum below 1
}

}  // namespace heed
