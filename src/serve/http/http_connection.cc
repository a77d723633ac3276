// The only file that knows cpp-httplib. It parses request lines, decompresses bodies and writes
// responses. The rest of it is not used: it has no total deadlines, no bound on lines and on
// decompressed bodies, passes over headers that it cannot read and takes malformed chunks for the
// end of a body. So the head of a request and the end of its body are found here, and httplib sees
// a request line and then a body until its end.
#include "serve/http/http_connection.h"

#include <fmt/core.h>
#include <httplib.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <string_view>

#include "serve/http/http_body.h"

namespace heed::serve {
namespace {

// What chunk sizes may add to a body.
constexpr size_t kMostFraming = size_t{64} << 10;

bool is_name_character(unsigned char c) {
  return std::isalnum(c) != 0 ||
         std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}

// The lines between the request line and the empty line. Strict: two readers who see different
// headers in one text are how requests are smuggled past a proxy.
std::map<std::string, std::string> parse_headers(std::string_view lines) {
  std::map<std::string, std::string> headers;
  while (!lines.empty()) {
    const size_t end = lines.find("\r\n");
    const std::string_view line = lines.substr(0, end);
    lines.remove_prefix(std::min(end, lines.size() - 2) + 2);
    if (line.empty()) {
      break;
    }
    const size_t colon = line.find(':');
    const std::string_view name = line.substr(0, colon);
    const bool sound = colon != std::string_view::npos && !name.empty() &&
                       std::ranges::all_of(name, is_name_character) &&
                       std::ranges::none_of(line, [](unsigned char c) {
                         return (c < ' ' && c != '\t') || c == '\x7f';
                       });
    if (!sound) {
      throw HttpError(400, "a header line is malformed");
    }
    std::string_view value = line.substr(colon + 1);
    value.remove_prefix(std::min(value.find_first_not_of(" \t"), value.size()));
    value = value.substr(0, value.find_last_not_of(" \t") + 1);
    const auto [entry, fresh] = headers.emplace(lower_case(name), value);
    if (!fresh && entry->first == "host") {
      throw HttpError(400, "the Host header is repeated");
    }
    if (!fresh) {
      entry->second.append(", ").append(value);
    }
  }
  return headers;
}

// The request line with a path for its target. A proxy may send a whole address: then its host
// counts, whatever the Host header says. Another target, such as a query without a path, makes no
// line that httplib accepts.
std::string line_with_path(std::string_view line, std::map<std::string, std::string>& headers) {
  const size_t begin = std::min(line.find(' '), line.size() - 1) + 1;
  const std::string_view target = line.substr(begin, line.find(' ', begin) - begin);
  if (target.starts_with('/') || target == "*") {
    return std::string(line);
  }
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (lower_case(target.substr(0, scheme.size())) == scheme) {
      const size_t end = std::min(target.find_first_of("/?#", scheme.size()), target.size());
      headers["host"] = target.substr(scheme.size(), end - scheme.size());
      const std::string_view path = target.substr(end);
      return fmt::format("{}{}{}{}", line.substr(0, begin), path.starts_with('/') ? "" : "/", path,
                         line.substr(begin + target.size()));
    }
  }
  return "\r\n";
}

// What a body may be compressed with.
bool known_encoding(const std::string& encoding) {
  return encoding.empty() || encoding == "identity" || encoding == "gzip" ||
         encoding == "deflate" || encoding == "br";
}

// What httplib reads and writes: the request line from memory, then the body.
class Stream : public httplib::Stream {
 public:
  Stream(HttpSocket& socket, std::string head, double write_seconds)
      : socket_(socket), head_(std::move(head)), write_seconds_(write_seconds) {}

  size_t written() const { return written_; }

  void begin_body(const HttpFraming& framing) { body_.emplace(socket_, framing); }

  bool is_readable() const override { return true; }
  bool is_writable() const override { return true; }
  ssize_t read(char* to, size_t size) override {
    if (read_ == head_.size()) {
      return body_ ? body_->read(to, size) : -1;
    }
    const size_t count = head_.copy(to, size, read_);
    read_ += count;
    return static_cast<ssize_t>(count);
  }
  ssize_t write(const char* bytes, size_t size) override {
    if (!socket_.write({bytes, size}, write_seconds_)) {
      return -1;
    }
    written_ += size;
    return static_cast<ssize_t>(size);
  }
  void get_remote_ip_and_port(std::string& /*ip*/, int& /*port*/) const override {}
  void get_local_ip_and_port(std::string& /*ip*/, int& /*port*/) const override {}
  // httplib only asks whether select() could take it.
  socket_t socket() const override { return 0; }

 private:
  HttpSocket& socket_;
  const std::string head_;
  size_t read_ = 0;
  size_t written_ = 0;
  const double write_seconds_;
  std::optional<HttpBody> body_;
};

class Answer : private httplib::Server {
 public:
  Answer(HttpSocket& socket, const HttpRouter& router, const HttpOptions& options);

  ~Answer() override {
    if (budget_ != nullptr) {
      budget_->give_back(counted_);
    }
  }

  void count_body(HttpBodyBudget& budget) { budget_ = &budget; }
  AfterAnswer give();
  void refuse(const HttpError& error);

 private:
  void exchange(const std::string& line, double write_seconds);
  void begin(httplib::Request& raw, Stream& stream);
  std::string header(const char* name) const;  // in lower case
  void admit();
  void close_after();
  void answer(httplib::Response& raw);
  void read_body(const httplib::ContentReader& content);
  void decide(const HttpError& error) { verdict_ = error_response(error, request_); }
  void respond(HttpResponse response, httplib::Response& raw);
  bool stream(const HttpResponse& response, httplib::DataSink& sink);
  void log(size_t bytes) const;

  HttpSocket& socket_;
  const HttpRouter& router_;
  const HttpOptions& options_;
  const HttpSocket::Clock::time_point begin_;

  HttpRequest request_;
  httplib::Request* raw_ = nullptr;  // httplib's copy; none if the request line made no sense
  const HttpRouter::Route* route_ = nullptr;
  std::optional<HttpResponse> verdict_;  // decided without a handler
  HttpFraming framing_;
  HttpBodyBudget* budget_ = nullptr;
  size_t counted_ = 0;  // bytes of the body, in the budget
  int status_ = 0;      // that was sent
  bool refused_ = false;
  bool close_ = false;
  bool written_ = false;
};

Answer::Answer(HttpSocket& socket, const HttpRouter& router, const HttpOptions& options)
    : socket_(socket),
      router_(router),
      options_(options),
      begin_(socket.head().empty() ? HttpSocket::Clock::now() : socket.head_time()) {
  // httplib ends streams while it believes that it does not listen. It never touches this socket.
  svr_sock_ = 0;
  set_keep_alive_timeout(static_cast<time_t>(options.idle_seconds));
  set_keep_alive_max_count(1000);
  Get("/", [this](const httplib::Request&, httplib::Response& raw) { answer(raw); });
  Post("/", [this](const httplib::Request&, httplib::Response& raw,
                   const httplib::ContentReader& content) {
    read_body(content);
    answer(raw);
  });
  // There is no memory, most likely. exchange() says so, and the connection is closed.
  set_exception_handler(
      [](const httplib::Request&, httplib::Response&, std::exception_ptr failure) {
        std::rethrow_exception(std::move(failure));
      });
  set_error_handler([this](const httplib::Request&, httplib::Response& raw) {
    if (raw_ == nullptr) {
      const bool is_long = raw.status == 414;
      decide(HttpError(raw.status,
                       is_long ? "the request line is too long" : "the request line is malformed"));
      respond(std::move(*verdict_), raw);
    }
  });
}

AfterAnswer Answer::give() {
  const std::string_view text = socket_.head();
  const size_t end = text.find("\r\n") + 2;
  std::string line(text.substr(0, end));
  try {
    request_.headers = parse_headers(text.substr(end));
    request_.id = request_id(request_.headers);
    line = line_with_path(line, request_.headers);
  } catch (const HttpError& error) {
    request_.id = new_id();
    decide(error);
    close_ = true;
  }
  exchange(line, options_.write_seconds);
  return !written_ ? AfterAnswer::close : close_ ? AfterAnswer::drain : AfterAnswer::wait;
}

void Answer::refuse(const HttpError& error) {
  request_.id = new_id();
  refused_ = true;
  decide(error);
  close_ = true;
  exchange("GET / HTTP/1.1\r\n", 0);
}

void Answer::exchange(const std::string& line, double write_seconds) {
  Stream stream(socket_, line + "\r\n", write_seconds);
  bool closed = false;
  try {
    written_ =
        process_request(stream, false, closed, [&](httplib::Request& raw) { begin(raw, stream); });
  } catch (const std::exception& error) {
    log_failure(request_, error.what());
    status_ = 500;
  }
  close_ = close_ || closed || raw_ == nullptr;
  raw_ = nullptr;
  log(stream.written());
}

void Answer::log(size_t bytes) const {
  if (!options_.log) {
    return;
  }
  const std::chrono::duration<double> spent = HttpSocket::Clock::now() - begin_;
  const bool gone = !written_ && !refused_ && status_ < 500;
  options_.log({.time = std::chrono::system_clock::now(),
                .client = socket_.client(),
                .id = request_.id,
                .method = request_.method,
                .path = request_.path,
                .status = request_.notes.stream_status.value_or(gone ? kClientGone : status_),
                .bytes = bytes,
                .seconds = spent.count(),
                .notes = request_.notes});
}

// Between the head of a request and its body.
void Answer::begin(httplib::Request& raw, Stream& stream) {
  raw_ = &raw;
  if (!refused_) {
    request_.method = raw.method;
    request_.path = raw.path;
  }
  request_.query = {raw.params.begin(), raw.params.end()};
  request_.gone = [this] { return socket_.gone(); };
  if (!verdict_) {
    try {
      admit();
    } catch (const HttpError& error) {
      decide(error);
    }
  }
  const bool read_body = !verdict_ && framing_.has_body();
  const bool unread_body =
      verdict_ && (!header("content-length").empty() || !header("transfer-encoding").empty());
  close_ = close_ || unread_body || raw.version != "HTTP/1.1" ||
           header("connection").find("close") != std::string::npos || socket_.closes();
  // The path has been routed; httplib matches it with regular expressions, which are better kept
  // from long texts.
  raw.path = "/";
  raw.method = read_body ? "POST" : request_.method == "HEAD" ? "HEAD" : "GET";
  raw.headers.clear();
  if (read_body) {
    if (const std::string value = header("content-encoding"); !value.empty()) {
      raw.headers.emplace("content-encoding", value);
    }
    if (const std::string value = header("expect"); !value.empty() && raw.version == "HTTP/1.1") {
      raw.headers.emplace("expect", value);
    }
    socket_.begin_body(framing_.chunked ? options_.most_body + kMostFraming : framing_.length,
                       options_.body_seconds);
    stream.begin_body(framing_);
  }
  if (close_) {
    close_after();
  }
}

std::string Answer::header(const char* name) const {
  const auto found = request_.headers.find(name);
  return found == request_.headers.end() ? std::string() : lower_case(found->second);
}

void Answer::admit() {
  if (socket_.stopping()) {
    throw stopping_error();
  }
  framing_ = parse_framing(request_.headers, options_.most_body);
  if (raw_->version == "HTTP/1.1" && !request_.headers.contains("host")) {
    throw HttpError(400, "the Host header is missing");
  }
  if (request_.method == "HEAD" && framing_.has_body()) {
    throw HttpError(400, "a HEAD request has no body");
  }
  if (framing_.has_body() && !known_encoding(header("content-encoding"))) {
    throw HttpError(415, fmt::format("Content-Encoding is {}, expected gzip, deflate, br or none",
                                     header("content-encoding")));
  }
  if (router_.is_preflight(request_)) {
    verdict_ = router_.preflight();
  } else {
    route_ = &router_.admit(request_);
  }
}

void Answer::close_after() {
  close_ = true;
  if (raw_ != nullptr) {
    raw_->headers.erase("Connection");
    raw_->headers.emplace("Connection", "close");
  }
}

void Answer::answer(httplib::Response& raw) {
  if (!verdict_ && !socket_.begin_answer()) {
    decide(stopping_error());
  }
  HttpResponse response = verdict_ ? std::move(*verdict_) : router_.answer(*route_, request_);
  socket_.begin_answer();
  if (socket_.closes()) {  // since the request began
    close_after();
  }
  respond(std::move(response), raw);
}

void Answer::read_body(const httplib::ContentReader& content) {
  using Trouble = HttpSocket::Trouble;
  bool fits = true;
  bool room = true;
  // Counted here once more, since decompression can make much of little.
  const bool complete = content([&](const char* bytes, size_t size) {
    fits = size <= options_.most_body - request_.body.size();
    if (fits && budget_ != nullptr) {
      counted_ += size;
      room = budget_->take(size);
    }
    if (fits && room) {
      request_.body.append(bytes, size);
    }
    return fits && room;
  });
  if (complete && fits && room) {
    return;
  }
  const Trouble trouble = socket_.trouble();
  if (!room) {
    request_.body = {};
    HttpError error(503, "too many large requests are being answered");
    error.retry_after = 1;
    decide(error);
  } else if (!fits || trouble == Trouble::large) {
    decide(HttpError(
        413, fmt::format("the body is too large, expected at most {} bytes", options_.most_body)));
  } else if (trouble == Trouble::slow) {
    decide(
        HttpError(408, fmt::format("the body took more than {} seconds", options_.body_seconds)));
  } else {
    decide(HttpError(400, "the body is malformed or incomplete"));
  }
  close_after();
}

void Answer::respond(HttpResponse response, httplib::Response& raw) {
  router_.complete(response, request_.id);
  status_ = raw.status = response.status;
  for (const auto& [name, value] : response.headers) {
    raw.set_header(name, value);
  }
  if (!response.stream) {
    raw.body = std::move(response.body);
    if (!raw.body.empty()) {
      raw.set_header("Content-Type", response.type);
    }
    return;
  }
  const std::string type = response.type;
  const auto provider = [this, response = std::move(response)](size_t, httplib::DataSink& sink) {
    return stream(response, sink);
  };
  if (raw_->version == "HTTP/1.1") {
    raw.set_chunked_content_provider(type, provider);
  } else {
    raw.set_content_provider(type, provider);  // ends with the connection
  }
}

bool Answer::stream(const HttpResponse& response, httplib::DataSink& sink) {
  const Writer write = [&](std::string_view piece) {
    return !socket_.gone() && (piece.empty() || sink.write(piece.data(), piece.size()));
  };
  std::string failure = "an exception of unknown type";
  try {
    response.stream(write);
    sink.done();
    return true;
  } catch (const std::exception& error) {
    failure = error.what();
  } catch (...) {  // told below
  }
  log_failure(request_, failure);
  request_.notes.stream_status = 500;
  return false;
}

}  // namespace

AfterAnswer answer_request(HttpSocket& socket, const HttpRouter& router, const HttpOptions& options,
                           HttpBodyBudget& budget) {
  Answer answer(socket, router, options);
  answer.count_body(budget);
  return answer.give();
}

void refuse_request(HttpSocket& socket, const HttpError& error, const HttpRouter& router,
                    const HttpOptions& options) {
  Answer(socket, router, options).refuse(error);
}

}  // namespace heed::serve
