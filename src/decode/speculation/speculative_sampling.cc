#include "decode/speculation/speculative_sampling.h"

#include <algorithm>
#include <vector>

#include "base/error.h"

namespace heed {

bool takes_over(double p, double q, double uniform) { return uniform * q < p; }

int32_t draw(std::span<const float> probabilities, double uniform) {
  double total = 0.0;
  for (const float probability : probabilities) {
    total += probability;
  }
  check(total > 0.0, "[sampling] there is nothing to draw from");
  double below = 0.0;
  size_t last = 0;
  for (size_t id = 0; id < probabilities.size(); ++id) {
    below += probabilities[id];
    if (uniform * total < below) {
      return static_cast<int32_t>(id);
    }
    last = probabilities[id] > 0.0F ? id : last;
  }
  return static_cast<int32_t>(last);  // rounding left the sum below the total
}

int32_t draw_rest(std::span<const float> p, std::span<const float> q, double uniform) {
  std::vector<float> rest(p.size());
  std::transform(p.begin(), p.end(), q.begin(), rest.begin(),
                 [](float wanted, float drawn) { return std::max(0.0F, wanted - drawn); });
  const bool any = std::any_of(rest.begin(), rest.end(), [](float left) { return left > 0.0F; });
  return draw(any ? std::span<const float>(rest) : p, uniform);  // rounding may leave nothing
}

}  // namespace heed
