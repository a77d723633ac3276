// What an expected Error says.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "base/error.h"

namespace heed::testing {

// The text of the Error that `run` throws, or "no error".
template <typename Run>
std::string error_of(const Run& run) {
  try {
    run();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

template <typename Run>
void expect_error(const Run& run, const std::string& text) {
  EXPECT_EQ(error_of(run), text);
}

}  // namespace heed::testing
