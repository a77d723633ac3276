// The report on files that cannot be used.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace heed {

// "skipped 12 MIDI files:" and the first reasons, a line each; empty if there are none.
std::string describe_skipped(std::string_view kind, const std::vector<std::string>& reasons);

}  // namespace heed
