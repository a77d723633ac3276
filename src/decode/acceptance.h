// When a model takes over what was proposed to it (Stern, Shazeer and Uszkoreit 2018, section 5):
// only what it would have said itself, or also what comes close. Values and pure functions.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace heed {

struct Acceptance {
  enum class Kind {
    exact,     // what the model finds likeliest: the output is that of greedy decoding
    top,       // any of the `within` likeliest
    distance,  // what is at most `within` away from the likeliest, where outputs are ordered
  } kind = Kind::exact;
  int64_t within = 1;
  int64_t least = 1;  // so many tokens of a block stand in any case

  std::string text() const;  // as parse_acceptance() reads it
};
// "exact", "top-3" or "distance-2".
Acceptance parse_acceptance(std::string_view text);

// Whether `proposed` stands where the model gives these scores, of which `likeliest` has the
// highest.
bool accepts(const Acceptance& acceptance, std::span<const float> scores, int32_t likeliest,
             int32_t proposed);

// How many of a block of `proposed` tokens stand: the first `certain` without asking, then as long
// as stands(i) says so of token i.
int64_t accepted(const Acceptance& acceptance, int64_t proposed, int64_t certain,
                 const std::function<bool(int64_t i)>& stands);

}  // namespace heed
