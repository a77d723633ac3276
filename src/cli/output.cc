#include "cli/output.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <string>

namespace heed::cli {
namespace {

int first_failure = 0;  // errno of the first write that failed

// The C library forgets errno and drops what it could not write, so it writes through this.
ssize_t write_output(void* /*cookie*/, const char* data, size_t size) {
  size_t written = 0;
  while (written < size) {
    const ssize_t count = ::write(STDOUT_FILENO, data + written, size - written);
    if (count >= 0) {
      written += static_cast<size_t>(count);
    } else if (errno != EINTR) {
      first_failure = first_failure == 0 ? errno : first_failure;
      return 0;  // which fopencookie() takes as a failure
    }
  }
  return static_cast<ssize_t>(written);
}

}  // namespace

void occupy_closed_streams() {
  for (int descriptor = STDIN_FILENO; descriptor <= STDERR_FILENO; ++descriptor) {
    if (::fcntl(descriptor, F_GETFD) < 0) {
      // The lowest free number is this one. Opened for reading, a write to it fails with EBADF.
      [[maybe_unused]] const int taken = ::open("/dev/null", O_RDONLY);
    }
  }
}

void watch_output() {
  std::FILE* watched = ::fopencookie(
      nullptr, "w", {.read = nullptr, .write = write_output, .seek = nullptr, .close = nullptr});
  if (watched != nullptr) {
    std::setvbuf(watched, nullptr, ::isatty(STDOUT_FILENO) != 0 ? _IOLBF : _IOFBF, BUFSIZ);
    stdout = watched;
  }
}

int finish_output(int status) {
  const bool flushed = std::fflush(stdout) == 0;
  if (flushed && std::ferror(stdout) == 0) {
    return status;
  }
  if (first_failure == EPIPE) {
    return 128 + SIGPIPE;
  }
  const std::string why = first_failure == 0 ? "a write failed" : std::strerror(first_failure);
  std::fputs(("heed: cannot write to standard output: " + why + "\n").c_str(), stderr);
  return status == 0 ? 1 : status;
}

}  // namespace heed::cli
