#include "decode/acceptance.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include "base/error.h"

namespace heed {

std::string Acceptance::text() const {
  switch (kind) {
    case Kind::top:
      return fmt::format("top-{}", within);
    case Kind::distance:
      return fmt::format("distance-{}", within);
    default:
      return "exact";
  }
}

Acceptance parse_acceptance(std::string_view text) {
  if (text == "exact") {
    return {};
  }
  const size_t dash = text.find('-');
  const std::string_view name = text.substr(0, dash);
  const std::string_view digits = dash == std::string_view::npos ? "" : text.substr(dash + 1);
  int64_t number = -1;
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  check((name == "top" || name == "distance") && !digits.empty() && read.ec == std::errc() &&
            read.ptr == digits.data() + digits.size() && number >= (name == "top" ? 1 : 0),
        "[accept] \"{}\" is no way to accept proposals, expected exact, top-N or distance-N", text);
  return {.kind = name == "top" ? Acceptance::Kind::top : Acceptance::Kind::distance,
          .within = number};
}

bool accepts(const Acceptance& acceptance, std::span<const float> scores, int32_t likeliest,
             int32_t proposed) {
  if (acceptance.kind == Acceptance::Kind::distance) {
    return std::abs(int64_t{proposed} - likeliest) <= acceptance.within;
  }
  if (acceptance.kind == Acceptance::Kind::exact || proposed == likeliest) {
    return proposed == likeliest;
  }
  const float score = scores[static_cast<size_t>(proposed)];
  return std::isfinite(score) && std::count_if(scores.begin(), scores.end(), [&](float other) {
                                   return other > score;
                                 }) < acceptance.within;
}

int64_t accepted(const Acceptance& acceptance, int64_t proposed, int64_t certain,
                 const std::function<bool(int64_t i)>& stands) {
  int64_t count = std::min(std::max(certain, acceptance.least), proposed);
  while (count < proposed && stands(count)) {
    ++count;
  }
  return count;
}

}  // namespace heed
