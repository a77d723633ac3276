#include "serve/http/http_body.h"

#include <fmt/core.h>
#include <strings.h>

#include <algorithm>
#include <charconv>

#include "serve/http/http.h"

namespace heed::serve {
namespace {

constexpr size_t kMostLine = 4096;  // of a chunk's size with its extensions, and of a trailer

// Digits and nothing else.
std::errc parse_number(std::string_view text, int base, size_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  return end == text.data() + text.size() ? error : std::errc::invalid_argument;
}

}  // namespace

HttpFraming parse_framing(const std::map<std::string, std::string>& headers, size_t most_body) {
  HttpFraming framing;
  const auto encoding = headers.find("transfer-encoding");
  const auto length = headers.find("content-length");
  if (encoding != headers.end()) {
    if (length != headers.end() || ::strcasecmp(encoding->second.c_str(), "chunked") != 0) {
      throw HttpError(400, "a body needs either Content-Length or Transfer-Encoding: chunked");
    }
    framing.chunked = true;
  } else if (length != headers.end()) {
    const std::errc error = parse_number(length->second, 10, framing.length);
    if (error == std::errc::invalid_argument) {
      throw HttpError(400, fmt::format("Content-Length is {}, expected a number", length->second));
    }
    if (error != std::errc() || framing.length > most_body) {
      throw HttpError(413, fmt::format("the body has {} bytes, expected at most {}", length->second,
                                       most_body));
    }
  }
  return framing;
}

bool HttpBodyBudget::take(size_t bytes) {
  const auto wanted = static_cast<int64_t>(bytes);
  return left_.fetch_sub(wanted) >= wanted;
}

ssize_t HttpBody::read(char* to, size_t size) {
  if (chunked_ && left_ == 0 && !ended_ && !next_chunk()) {
    return -1;
  }
  if (left_ == 0) {
    return 0;
  }
  const ssize_t count = socket_.read(to, std::min(size, left_));
  left_ -= static_cast<size_t>(std::max<ssize_t>(count, 0));
  return count;
}

// Goes to the next chunk, or past the last one.
bool HttpBody::next_chunk() {
  if (begun_ && read_line() != "") {
    return false;
  }
  begun_ = true;
  const std::optional<std::string> line = read_line();
  if (!line || parse_number(line->substr(0, line->find(';')), 16, left_) != std::errc()) {
    return false;
  }
  ended_ = left_ == 0;
  for (std::optional<std::string> trailer; ended_ && trailer != "";) {
    trailer = read_line();
    if (!trailer) {
      return false;
    }
  }
  return true;
}

// A line without its end.
std::optional<std::string> HttpBody::read_line() {
  std::string line;
  char c = 0;
  while (line.size() < kMostLine && socket_.read(&c, 1) == 1) {
    line += c;
    if (c == '\n') {
      if (!line.ends_with("\r\n")) {
        return std::nullopt;
      }
      line.resize(line.size() - 2);
      return line;
    }
  }
  return std::nullopt;
}

}  // namespace heed::serve
