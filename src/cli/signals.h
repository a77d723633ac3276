// What SIGINT (Ctrl-C), SIGTERM and SIGHUP do. Where there is work to save, the first of them sets
// a flag, and the work ends soon. Where there is none, it ends the program at once. The second one
// always does. A SIGHUP that is ignored when the program starts (nohup) stays so.
//
// Call from one thread.
#pragma once

#include <atomic>
#include <functional>

namespace heed::cli {

// The program's status after a signal.
inline constexpr int kInterrupted = 130;

// From now on the first signal sets this flag.
const std::atomic<bool>& stop_requested();

// From now on the first signal ends the program: it calls `last_words` on a thread of its own,
// removes what is half-written and ends with status 130, whatever other threads do or wait for.
void end_on_signal(std::function<void()> last_words = {});

// Ends the program in this way.
[[noreturn]] void end_interrupted();

}  // namespace heed::cli
