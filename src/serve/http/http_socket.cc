#include "serve/http/http_socket.h"

#include <poll.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <utility>

namespace heed::serve {
namespace {

constexpr size_t kMostHead = size_t{32} << 10;
constexpr size_t kPiece = size_t{16} << 10;

// Whether a call that failed only says that there is nothing to do yet.
bool not_yet() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

}  // namespace

HttpSocket::HttpSocket(int descriptor, std::string client, const std::atomic<HttpPhase>& phase,
                       std::atomic<size_t>& open)
    : descriptor_(descriptor), client_(std::move(client)), phase_(phase), open_(open) {
  ++open_;
}

HttpSocket::~HttpSocket() {
  ::close(descriptor_);
  --open_;
}

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
    if (count == 0 || !not_yet()) {
      return Arrival::none;
    }
    if (!wait(POLLIN, deadline)) {
      return Arrival::late;
    }
  }
}

// Looks for the empty line in what has come.
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
      head_time_ = Clock::now();
      taken_ = scanned_;
      return Head::complete;
    }
    if (length == 2) {  // some clients end a body with an empty line too many
      input_.erase(0, 2);
      scanned_ = 0;
    }
    line_ = scanned_;
  }
  return input_.size() > kMostHead ? Head::large : Head::incomplete;
}

HttpSocket::Head HttpSocket::read_head() {
  std::array<char, kPiece> piece;
  for (;;) {
    if (const Head found = scan_head(); found != Head::incomplete) {
      return found;
    }
    const ssize_t count = ::recv(descriptor_, piece.data(), piece.size(), 0);
    if (count > 0) {
      input_.append(piece.data(), static_cast<size_t>(count));
    } else {
      return count == 0 || !not_yet() ? Head::closed : Head::incomplete;
    }
  }
}

bool HttpSocket::expects_body() const {
  for (size_t end = head_.find("\r\n"); end != std::string::npos;) {
    const char* line = head_.c_str() + end + 2;
    if (::strncasecmp(line, "content-length", 14) == 0 ||
        ::strncasecmp(line, "transfer-encoding", 17) == 0) {
      return true;
    }
    end = head_.find("\r\n", end + 2);
  }
  return false;
}

void HttpSocket::begin_request() {
  waiting_ = true;
  input_ = input_.substr(taken_);  // an idle connection keeps no memory
  head_ = {};
  taken_ = line_ = scanned_ = 0;
  body_left_ = 0;
  trouble_ = Trouble::none;
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
      trouble_ = arrival == Arrival::late || !waiting_ ? Trouble::slow : Trouble::cut;
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
  return !stopping();
}

bool HttpSocket::write(std::string_view bytes, double seconds) {
  auto deadline = after(seconds);
  while (!bytes.empty()) {
    const ssize_t count = ::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count > 0) {
      bytes.remove_prefix(static_cast<size_t>(count));
      deadline = after(seconds);
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      Clock::rep none = 0;
      write_stalled_at_.compare_exchange_strong(none, Clock::now().time_since_epoch().count());
      if (!wait(POLLOUT, deadline)) {
        return false;
      }
    } else if (errno != EINTR) {
      return false;
    }
  }
  write_stalled_at_ = 0;
  return true;
}

bool HttpSocket::gone() const {
  pollfd poll{.fd = descriptor_, .events = POLLRDHUP, .revents = 0};
  return ::poll(&poll, 1, 0) > 0;
}

void HttpSocket::begin_drain() { ::shutdown(descriptor_, SHUT_WR); }

bool HttpSocket::discard() {
  std::array<char, kPiece> piece;
  const ssize_t count = ::recv(descriptor_, piece.data(), piece.size(), 0);
  return count > 0 || (count < 0 && not_yet());
}

bool HttpSocket::interrupt() {
  const bool waited = waiting_.exchange(false);
  if (waited) {
    ::shutdown(descriptor_, SHUT_RD);
  }
  return waited;
}

std::optional<HttpSocket::Clock::time_point> HttpSocket::stalled_since() const {
  if (waiting_) {
    return head_time_;
  }
  const Clock::rep since = write_stalled_at_;
  return since == 0 ? std::nullopt : std::optional(Clock::time_point(Clock::duration(since)));
}

bool HttpSocket::give_up() {
  if (interrupt()) {
    return true;
  }
  const bool stalled = write_stalled_at_.exchange(0) != 0;
  if (stalled) {
    cut();
  }
  return stalled;
}

void HttpSocket::cut() { ::shutdown(descriptor_, SHUT_RDWR); }

}  // namespace heed::serve
