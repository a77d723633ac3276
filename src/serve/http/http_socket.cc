#include "serve/http/http_socket.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>

namespace heed::serve {
namespace {

constexpr size_t kMostHead = size_t{32} << 10;
constexpr size_t kPiece = size_t{16} << 10;
constexpr double kDrainSeconds = 1;

}  // namespace

HttpSocket::HttpSocket(int descriptor, const std::atomic<bool>& stopping)
    : descriptor_(descriptor), stopping_(stopping) {}

HttpSocket::~HttpSocket() { ::close(descriptor_); }

HttpSocket::Clock::time_point HttpSocket::after(double seconds) {
  return Clock::now() +
         std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

// Whether one of the events, or the connection's end, came before the deadline.
bool HttpSocket::wait(short events, Clock::time_point deadline) const {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
    pollfd poll{.fd = descriptor_, .events = events, .revents = 0};
    const int ready =
        ::poll(&poll, 1, static_cast<int>(std::clamp<decltype(left)>(left, 0, INT_MAX)));
    if (ready > 0) {
      return true;
    }
    if (ready == 0 || errno != EINTR) {
      return false;
    }
  }
}

HttpSocket::Arrival HttpSocket::receive(char* to, size_t size, Clock::time_point deadline,
                                        size_t& received) {
  for (;;) {
    // Asked before the data, so that a client that never pauses is late too.
    if (Clock::now() >= deadline) {
      return Arrival::late;
    }
    const ssize_t count = ::recv(descriptor_, to, size, 0);
    if (count > 0) {
      received = static_cast<size_t>(count);
      return Arrival::bytes;
    }
    if (count == 0 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)) {
      return Arrival::none;
    }
    if (!wait(POLLIN, deadline)) {
      return Arrival::late;
    }
  }
}

// Looks for the empty line in what has come. `none`: it has not come yet.
HttpSocket::Head HttpSocket::scan_head() {
  // Not a method's first letter: another protocol, most often TLS. It would never send the line
  // end.
  while (scanned_ < input_.size()) {
    const char c = input_[scanned_];
    if (c == '\0' || (scanned_ == 0 && c != '\r' && (c < 'A' || c > 'Z'))) {
      return Head::malformed;
    }
    ++scanned_;
    if (c != '\n') {
      continue;
    }
    const size_t length = scanned_ - line_;
    if (length < 2 || input_[scanned_ - 2] != '\r') {
      return Head::malformed;
    }
    if (length == 2 && line_ > 0) {
      head_ = input_.substr(0, scanned_);
      taken_ = scanned_;
      return Head::complete;
    }
    if (length == 2) {  // some clients end a body with an empty line too many
      input_.erase(0, 2);
      scanned_ = 0;
    }
    line_ = scanned_;
  }
  return input_.size() > kMostHead ? Head::large : Head::none;
}

HttpSocket::Head HttpSocket::read_head(double idle_seconds, double header_seconds) {
  waiting_ = true;
  input_.erase(0, taken_);
  taken_ = line_ = scanned_ = 0;
  body_left_ = 0;
  trouble_ = Trouble::none;
  bool begun = !input_.empty();
  auto deadline = after(begun ? header_seconds : idle_seconds);
  std::array<char, kPiece> piece;
  for (;;) {
    if (stopping_) {
      return Head::none;
    }
    if (const Head found = scan_head(); found != Head::none) {
      return found;
    }
    size_t received = 0;
    const Arrival arrival = receive(piece.data(), piece.size(), deadline, received);
    if (arrival != Arrival::bytes) {
      return arrival == Arrival::late && begun ? Head::slow : Head::none;
    }
    if (!begun) {
      begun = true;
      deadline = after(header_seconds);
    }
    input_.append(piece.data(), received);
  }
}

void HttpSocket::begin_body(size_t most_bytes, double seconds) {
  body_left_ = most_bytes;
  body_deadline_ = after(seconds);
}

ssize_t HttpSocket::read(char* to, size_t size) {
  size = std::min(size, body_left_);
  if (size == 0) {
    trouble_ = Trouble::large;
    return -1;
  }
  if (taken_ == input_.size()) {
    size_t received = 0;
    taken_ = 0;
    input_.resize(kPiece);
    const Arrival arrival = receive(input_.data(), kPiece, body_deadline_, received);
    input_.resize(received);
    if (arrival != Arrival::bytes) {
      trouble_ = arrival == Arrival::late ? Trouble::slow : Trouble::cut;
      return -1;
    }
  }
  const size_t count = std::min(size, input_.size() - taken_);
  std::memcpy(to, input_.data() + taken_, count);
  taken_ += count;
  body_left_ -= count;
  return static_cast<ssize_t>(count);
}

bool HttpSocket::begin_answer() {
  waiting_ = false;
  return !stopping_;
}

bool HttpSocket::write(std::string_view bytes, double seconds) {
  auto deadline = after(seconds);
  while (!bytes.empty()) {
    const ssize_t count = ::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count > 0) {
      bytes.remove_prefix(static_cast<size_t>(count));
      deadline = after(seconds);
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      if (!wait(POLLOUT, deadline)) {
        return false;
      }
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

bool HttpSocket::gone() const {
  pollfd poll{.fd = descriptor_, .events = POLLRDHUP, .revents = 0};
  return ::poll(&poll, 1, 0) > 0;
}

void HttpSocket::drain() {
  waiting_ = true;
  if (stopping_ || ::shutdown(descriptor_, SHUT_WR) != 0) {
    return;
  }
  const auto deadline = after(kDrainSeconds);
  std::array<char, kPiece> piece;
  size_t received = 0;
  while (receive(piece.data(), piece.size(), deadline, received) == Arrival::bytes) {
  }
}

void HttpSocket::interrupt() {
  if (waiting_) {
    ::shutdown(descriptor_, SHUT_RD);
  }
}

void HttpSocket::cut() { ::shutdown(descriptor_, SHUT_RDWR); }

}  // namespace heed::serve
