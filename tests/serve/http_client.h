// A client that speaks HTTP badly if told to: plain bytes over a socket.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

namespace heed::testing {

inline double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

inline bool comes_true(const std::function<bool()>& condition, double seconds = 5) {
  const auto start = std::chrono::steady_clock::now();
  while (!condition()) {
    if (seconds_since(start) > seconds) {
      return false;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

struct Reply {
  int status = 0;  // 0: the connection was closed instead
  std::string head, body;

  // A header's value, "" if it is not there.
  std::string header(const std::string& name) const {
    const size_t start = head.find("\r\n" + name + ": ");
    if (start == std::string::npos) {
      return {};
    }
    const size_t value = start + name.size() + 4;
    return head.substr(value, head.find("\r\n", value) - value);
  }
};

class Client {
 public:
  explicit Client(int port) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  }
  ~Client() { close(); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // false: the server has closed the connection.
  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t count = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (count <= 0) {
        return false;
      }
      bytes.remove_prefix(static_cast<size_t>(count));
    }
    return true;
  }

  // Waits for more bytes. false: closed, or none came in time.
  bool receive(double seconds = 5) {
    pollfd poll{.fd = socket_, .events = POLLIN, .revents = 0};
    if (::poll(&poll, 1, static_cast<int>(seconds * 1000)) <= 0) {
      return false;
    }
    char piece[65536];
    const ssize_t count = ::recv(socket_, piece, sizeof(piece), 0);
    if (count <= 0) {
      closed_ = true;
      return false;
    }
    input_.append(piece, static_cast<size_t>(count));
    return true;
  }

  // Whether the server closes the connection in time, after whatever it still has to say.
  bool sees_close(double seconds = 5) {
    const auto start = std::chrono::steady_clock::now();
    while (!closed_ && seconds_since(start) < seconds) {
      receive(0.05);
    }
    return closed_;
  }

  bool receive_until(std::string_view text) {
    while (input_.find(text) == std::string::npos) {
      if (!receive()) {
        return false;
      }
    }
    return true;
  }

  // The next response. `has_body`: false after HEAD.
  Reply reply(bool has_body = true) {
    Reply reply;
    if (!receive_until("\r\n\r\n")) {
      return reply;
    }
    const size_t end = input_.find("\r\n\r\n") + 4;
    reply.head = input_.substr(0, end);
    input_.erase(0, end);
    reply.status = std::stoi(reply.head.substr(9, 3));
    if (!has_body) {
      return reply;
    }
    if (reply.header("Transfer-Encoding") == "chunked") {
      while (const size_t size = chunk_size()) {
        reply.body += take(size);
        take(2);
      }
      take(2);
    } else if (!reply.header("Content-Length").empty()) {
      reply.body = take(std::stoul(reply.header("Content-Length")));
    }
    return reply;
  }

  Reply ask(std::string_view request) {
    send(request);
    return reply();
  }

  void close() {
    if (socket_ >= 0) {
      ::close(std::exchange(socket_, -1));
    }
  }

  int socket() const { return socket_; }
  const std::string& input() const { return input_; }

 private:
  std::string take(size_t size) {
    while (input_.size() < size && receive()) {
    }
    const std::string taken = input_.substr(0, size);
    input_.erase(0, size);
    return taken;
  }

  size_t chunk_size() {
    if (!receive_until("\r\n")) {
      return 0;
    }
    const std::string line = take(input_.find("\r\n") + 2);
    return std::stoul(line, nullptr, 16);
  }

  int socket_;
  bool closed_ = false;
  std::string input_;
};

// A request with a Host header and, if there is a body, its length.
inline std::string request(const std::string& line, const std::string& body = {},
                           const std::string& headers = {}) {
  const std::string length =
      body.empty() ? "" : "Content-Length: " + std::to_string(body.size()) + "\r\n";
  return line + " HTTP/1.1\r\nHost: localhost\r\n" + length + headers + "\r\n" + body;
}

}  // namespace heed::testing
