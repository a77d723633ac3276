// Ctrl-C and SIGTERM as a flag: work notices it, saves and ends. A second one ends at once.
#pragma once

#include <atomic>

namespace heed::cli {

// Installs the handlers; the flag they set.
const std::atomic<bool>& stop_requested();

}  // namespace heed::cli
