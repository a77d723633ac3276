// Errors of users, files and shapes: one exception type whose text begins with the place it comes
// from, "[layer_norm] gamma is [512], expected [768]". Programmer faults are asserts.
#pragma once

#include <fmt/core.h>

#include <cerrno>
#include <stdexcept>
#include <string>
#include <system_error>
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

// What the operating system says about a call that failed: "No space left on device".
inline std::string system_reason(int code = errno) { return std::generic_category().message(code); }

}  // namespace heed
