#include "cli/signals.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <mutex>
#include <thread>
#include <utility>

#include "base/error.h"
#include "base/folder.h"

namespace heed::cli {
namespace {

static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler sets them");
std::atomic<bool> stop{false};
std::atomic<bool> ends{false};       // the first signal ends the program
std::array<int, 2> wake_up{-1, -1};  // a pipe to the thread that ends it
std::mutex mutex;                    // guards what follows
std::function<void()> said_at_the_end;

void on_signal(int /*signal*/) {
  const int error = errno;
  if (stop.exchange(true)) {
    ::_exit(kInterrupted);
  }
  if (ends) {
    const char byte = 0;
    [[maybe_unused]] const ssize_t written = ::write(wake_up[1], &byte, 1);
  }
  errno = error;
}

void end_with_last_words() {
  const std::lock_guard lock(mutex);
  if (said_at_the_end) {
    said_at_the_end();
  }
  end_interrupted();
}

void wait_for_signal() {
  char byte = 0;
  while (::read(wake_up[0], &byte, 1) < 0 && errno == EINTR) {
  }
  end_with_last_words();
}

void install_handlers() {
  static bool installed = false;
  if (std::exchange(installed, true)) {
    return;
  }
  check(::pipe(wake_up.data()) == 0, "[signals] cannot make a pipe");
  std::thread(wait_for_signal).detach();
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction before = {};
    ::sigaction(signal, nullptr, &before);
    if (signal == SIGHUP && before.sa_handler == SIG_IGN) {
      continue;
    }
    struct sigaction action = {};
    action.sa_handler = on_signal;
    action.sa_flags = SA_RESTART;
    ::sigaction(signal, &action, nullptr);
  }
}

}  // namespace

const std::atomic<bool>& stop_requested() {
  ends = false;
  install_handlers();
  return stop;
}

void end_on_signal(std::function<void()> last_words) {
  {
    const std::lock_guard lock(mutex);
    said_at_the_end = std::move(last_words);
  }
  ends = true;
  install_handlers();
  if (stop) {  // the signal came before it could end the program
    end_with_last_words();
  }
}

void end_interrupted() {
  abandon_unfinished_files();
  std::fflush(nullptr);
  ::_exit(kInterrupted);
}

}  // namespace heed::cli
