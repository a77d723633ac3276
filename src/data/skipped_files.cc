#include "data/skipped_files.h"

#include <fmt/format.h>

#include <algorithm>

namespace heed {

std::string describe_skipped(std::string_view kind, const std::vector<std::string>& reasons) {
  constexpr size_t kNamed = 10;
  if (reasons.empty()) {
    return "";
  }
  const size_t named = std::min(kNamed, reasons.size());
  const std::string more =
      reasons.size() > named ? fmt::format("\n  and {} more", reasons.size() - named) : "";
  return fmt::format(
      "skipped {} {} {}:\n  {}{}", reasons.size(), kind, reasons.size() == 1 ? "file" : "files",
      fmt::join(reasons.begin(), reasons.begin() + static_cast<int64_t>(named), "\n  "), more);
}

}  // namespace heed
