// Where the body of a request ends: after so many bytes, or with the last of its chunks.
//
// Strict, since whoever takes the end for elsewhere reads the rest of a body as the next request.
// Thread safety: as the socket's.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "serve/http/http_socket.h"

namespace heed::serve {

struct HttpFraming {
  bool chunked = false;
  size_t length = 0;
  bool has_body() const { return chunked || length > 0; }
};

// HttpError if the headers contradict themselves or tell of more than `most_body` bytes.
HttpFraming parse_framing(const std::map<std::string, std::string>& headers, size_t most_body);

// How many bytes of bodies there may be at once. Thread safe.
class HttpBodyBudget {
 public:
  explicit HttpBodyBudget(size_t most) : left_(static_cast<int64_t>(most)) {}

  bool take(size_t bytes);  // false: there is no room; they have to be given back all the same
  void give_back(size_t bytes) { left_ += static_cast<int64_t>(bytes); }

 private:
  std::atomic<int64_t> left_;
};

class HttpBody {
 public:
  // On a socket whose begin_body() has been called.
  HttpBody(HttpSocket& socket, const HttpFraming& framing)
      : socket_(socket), chunked_(framing.chunked), left_(framing.length) {}

  ssize_t read(char* to, size_t size);  // bytes read, 0: the end, -1: it is malformed or cut

 private:
  bool next_chunk();
  std::optional<std::string> read_line();

  HttpSocket& socket_;
  const bool chunked_;
  size_t left_;  // of the body or the chunk
  bool begun_ = false;
  bool ended_ = false;
};

}  // namespace heed::serve
