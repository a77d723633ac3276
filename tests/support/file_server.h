// A server of files for tests of what fetches them. It can misbehave: close the connection early,
// know no ranges, redirect, or answer with an error.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"

namespace heed::testing {

struct ServedFile {
  std::string bytes = {};
  std::string etag = "\"one\"";
  bool ranges = true;
  bool says_length = true;
  size_t closes_after = std::string::npos;  // bytes of the body, of one answer
  std::string redirect = {};
  std::string status = {};  // instead of 200, such as "503 Service Unavailable"
};

// Its methods may be called while it serves.
class FileServer {
 public:
  FileServer() : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(::bind(socket_, generic, sizeof address), 0);
    EXPECT_EQ(::listen(socket_, 8), 0);
    socklen_t length = sizeof address;
    EXPECT_EQ(::getsockname(socket_, generic, &length), 0);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { serve(); });
  }
  ~FileServer() {
    ::shutdown(socket_, SHUT_RDWR);
    thread_.join();
    ::close(socket_);
  }
  FileServer(const FileServer&) = delete;
  FileServer& operator=(const FileServer&) = delete;

  void put(const std::string& path, const ServedFile& file) {
    const std::lock_guard lock(mutex_);
    files_[path] = file;
  }
  std::string url(const std::string& path) const {
    return "http://127.0.0.1:" + std::to_string(port_) + path;
  }
  // The Range of each request so far, "all" without one.
  std::vector<std::string> ranges() {
    const std::lock_guard lock(mutex_);
    return ranges_;
  }

 private:
  void serve() {
    while (true) {
      const int connection = ::accept(socket_, nullptr, nullptr);
      if (connection < 0) {
        return;
      }
      std::string request;
      char buffer[4096];
      while (request.find("\r\n\r\n") == std::string::npos) {
        const ssize_t count = ::recv(connection, buffer, sizeof buffer, 0);
        if (count <= 0) {
          break;
        }
        request.append(buffer, static_cast<size_t>(count));
      }
      const std::string answer = answer_to(request);
      for (size_t sent = 0; sent < answer.size();) {
        const ssize_t count =
            ::send(connection, answer.data() + sent, answer.size() - sent, MSG_NOSIGNAL);
        if (count <= 0) {
          break;
        }
        sent += static_cast<size_t>(count);
      }
      ::close(connection);
    }
  }

  static std::string header(const std::string& request, const std::string& name) {
    const size_t at = request.find("\r\n" + name + ": ");
    if (at == std::string::npos) {
      return "";
    }
    const size_t begin = at + name.size() + 4;
    return request.substr(begin, request.find("\r\n", begin) - begin);
  }

  std::string answer_to(const std::string& request) {
    const std::lock_guard lock(mutex_);
    const std::string path = request.substr(4, request.find(' ', 4) - 4);
    const std::string range = header(request, "Range");
    ranges_.push_back(range.empty() ? "all" : range);
    const auto found = files_.find(path);
    if (found == files_.end()) {
      return "HTTP/1.1 404 Not Found\r\nContent-Length: 9\r\nConnection: close\r\n\r\nnot here\n";
    }
    const ServedFile& file = found->second;
    if (!file.redirect.empty()) {
      return "HTTP/1.1 302 Found\r\nLocation: " + file.redirect +
             "\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    }
    size_t begin = 0;
    std::string status = file.status.empty() ? "200 OK" : file.status;
    std::string extra = file.etag.empty() ? "" : "ETag: " + file.etag + "\r\n";
    if (file.ranges && !range.empty() && header(request, "If-Range") == file.etag) {
      begin = std::stoul(range.substr(range.find('=') + 1));
      if (begin >= file.bytes.size()) {
        return fmt::format(
            "HTTP/1.1 416 Range Not Satisfiable\r\nContent-Range: bytes */{}\r\n"
            "Content-Length: 0\r\nConnection: close\r\n\r\n",
            file.bytes.size());
      }
      status = "206 Partial Content";
      extra += fmt::format("Content-Range: bytes {}-{}/{}\r\n", begin, file.bytes.size() - 1,
                           file.bytes.size());
    }
    if (file.says_length) {
      extra += fmt::format("Content-Length: {}\r\n", file.bytes.size() - begin);
    }
    return "HTTP/1.1 " + status + "\r\n" + extra + "Connection: close\r\n\r\n" +
           file.bytes.substr(begin, file.closes_after);
  }

  int socket_;
  int port_ = 0;
  std::mutex mutex_;
  std::map<std::string, ServedFile> files_;
  std::vector<std::string> ranges_;
  std::thread thread_;
};

}  // namespace heed::testing
