#include "serve/api/sampling_fields.h"

#include <atomic>
#include <random>

#include "serve/http/http.h"

namespace heed::serve {

SamplingOptions read_sampling(JsonRequest& fields, const SamplingOptions& fallback) {
  constexpr double kMostK = 1e6;
  return {.temperature =
              static_cast<float>(fields.number("temperature", fallback.temperature, {0, 100})),
          .top_k = fields.integer("top_k", fallback.top_k, {0, kMostK}),
          .top_p = static_cast<float>(fields.number("top_p", fallback.top_p, {1e-6, 1})),
          .min_p = static_cast<float>(fields.number("min_p", fallback.min_p, {0, 1})),
          .repetition_penalty = static_cast<float>(
              fields.number("repetition_penalty", fallback.repetition_penalty, {0.01, 100}))};
}

uint64_t read_seed(JsonRequest& fields) {
  static std::atomic<uint64_t> next{std::random_device{}()};
  constexpr double kMostSeed = 9007199254740991;  // that every client's numbers hold
  const auto seed = fields.integer_if("seed", {-kMostSeed, kMostSeed});
  return seed ? static_cast<uint64_t>(*seed) : next.fetch_add(1);
}

Pooling read_pooling(JsonRequest& fields) {
  const std::string name = fields.text("pooling", "mean");
  if (name != "mean" && name != "cls" && name != "max" && name != "pooler") {
    refuse("pooling", shown(Json(name)), "mean, cls, max or pooler");
  }
  return pooling_of(name);
}

}  // namespace heed::serve
