// The target that losses and scores leave out: padding, and positions that are not predicted.
#pragma once

#include <cstdint>

namespace heed {

inline constexpr int32_t kIgnore = -100;

}  // namespace heed
