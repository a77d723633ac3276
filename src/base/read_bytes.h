// A stream of bytes to pull from: what archives, gzip and files that are written share.
#pragma once

#include <cstddef>
#include <functional>
#include <span>

namespace heed {

// Fills the front of the span and returns how many bytes it got, 0 only at the end.
using ReadBytes = std::function<size_t(std::span<std::byte>)>;

}  // namespace heed
