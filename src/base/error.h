// Errors of users, files and shapes: one exception type whose text begins with the place it comes
// from, "[layer_norm] gamma is [512], expected [768]". Programmer faults are asserts.
#pragma once

#include <fmt/core.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace heed {

class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

template <typename... Args>
[[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) {
  throw Error(fmt::format(format, std::forward<Args>(args)...));
}

// Formats only when the condition does not hold, so it may be used on hot paths.
template <typename... Args>
void check(bool holds, fmt::format_string<Args...> format, Args&&... args) {
  if (!holds) [[unlikely]] {
    fail(format, std::forward<Args>(args)...);
  }
}

}  // namespace heed
