// What the tests of file formats share: bytes built by hand, and damage done to them.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <random>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"

namespace heed::testing {

inline std::filesystem::path data_path(const std::string& name) {
  const char* root = std::getenv("HEED_DATA");
  return std::filesystem::path(root != nullptr ? root : "../shared/data") / name;
}

inline std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

template <typename Number>
std::string raw(Number value) {
  std::string result(sizeof(Number), '\0');
  std::memcpy(result.data(), &value, sizeof(Number));
  return result;
}

// Every proper beginning of `whole` must be an Error. Each one is parsed from memory of exactly its
// size, so that the address sanitizer notices reading on.
template <typename Parse>
void expect_truncation_errors(const std::string& whole, const Parse& parse) {
  for (size_t length = 0; length < whole.size(); ++length) {
    const std::vector<char> part(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(length));
    EXPECT_THROW(parse({part.data(), part.size()}), Error) << "cut at byte " << length;
  }
}

// Parses copies with up to three random bytes replaced; anything but an Error or a result fails
// the test. Returns how many were Errors.
template <typename Parse>
int count_errors_of_damage(const std::string& whole, int copies, const Parse& parse) {
  std::mt19937 random(20170612);
  int errors = 0;
  for (int copy = 0; copy < copies; ++copy) {
    std::vector<char> damaged(whole.begin(), whole.end());
    for (uint32_t change = random() % 3 + 1; change > 0; --change) {
      damaged[random() % damaged.size()] = static_cast<char>(random());
    }
    try {
      parse({damaged.data(), damaged.size()});
    } catch (const Error&) {
      ++errors;
    }
  }
  return errors;
}

}  // namespace heed::testing
