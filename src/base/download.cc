#include "base/download.h"

#include <system_error>

#include "base/error.h"

#ifdef HEED_CURL
#include <curl/curl.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <strings.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <memory>
#include <optional>
#include <string_view>

#include "base/config.h"
#include "base/file.h"
#endif

namespace heed {
namespace {

namespace fs = std::filesystem;

fs::path note_of(const fs::path& file) { return file.string() + ".json"; }

}  // namespace

void forget_download(const fs::path& file) {
  std::error_code none;  // what is not there need not be removed
  fs::remove(file, none);
  fs::remove(note_of(file), none);
}

#ifdef HEED_CURL

namespace {

constexpr const char* kCurlLibrary = "libcurl.so.4";
constexpr long kRedirects = 10;
constexpr long kConnectSeconds = 30;
constexpr long kSilentSeconds = 60;  // without a byte: the connection is dead
constexpr long kOk = 200;
constexpr long kPartial = 206;
constexpr long kRangeNotSatisfiable = 416;

// The functions of the library that are used. It brings dozens of other libraries, so it is loaded
// when there is something to fetch.
struct Curl {
  void* library = nullptr;
  decltype(&::curl_global_init) global_init = nullptr;
  decltype(&::curl_easy_init) init = nullptr;
  decltype(&::curl_easy_cleanup) cleanup = nullptr;
  decltype(&::curl_easy_setopt) set = nullptr;
  decltype(&::curl_easy_perform) perform = nullptr;
  decltype(&::curl_easy_getinfo) info = nullptr;
  decltype(&::curl_easy_strerror) message = nullptr;
  decltype(&::curl_slist_append) append = nullptr;
  decltype(&::curl_slist_free_all) free_list = nullptr;

  Curl() : library(::dlopen(kCurlLibrary, RTLD_NOW | RTLD_LOCAL)) {
    check(library != nullptr, "[download] {} is not installed; on Debian: apt-get install libcurl4",
          kCurlLibrary);
    find(global_init, "curl_global_init");
    find(init, "curl_easy_init");
    find(cleanup, "curl_easy_cleanup");
    find(set, "curl_easy_setopt");
    find(perform, "curl_easy_perform");
    find(info, "curl_easy_getinfo");
    find(message, "curl_easy_strerror");
    find(append, "curl_slist_append");
    find(free_list, "curl_slist_free_all");
    check(global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK, "[download] libcurl cannot begin");
  }

 private:
  template <typename Function>
  void find(Function& function, const char* name) const {
    function = reinterpret_cast<Function>(::dlsym(library, name));
    check(function != nullptr, "[download] {} has no {}", kCurlLibrary, name);
  }
};

const Curl& curl() {
  static const Curl loaded;  // stays until the program ends
  return loaded;
}

// The file that grows, and the note beside it. Locked, so that two programs do not write one file.
class PartFile {
 public:
  explicit PartFile(const fs::path& path) : path_(path), note_(note_of(path)) {
    constexpr mode_t kReadableByAll = 0644;
    descriptor_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, kReadableByAll);
    check(descriptor_ >= 0, "[download] cannot write {}: {}", path.string(), system_reason());
    struct stat status = {};
    const bool locked = ::flock(descriptor_, LOCK_EX | LOCK_NB) == 0;
    const bool known = ::fstat(descriptor_, &status) == 0;
    if (!locked || !known) {
      ::close(descriptor_);
      fail("[download] another program is writing {}; wait until it is done", path.string());
    }
    size_ = status.st_size;
  }
  ~PartFile() {
    if (size_ == 0 && !complete_) {
      ::unlink(path_.c_str());
    }
    ::close(descriptor_);
  }
  PartFile(const PartFile&) = delete;
  PartFile& operator=(const PartFile&) = delete;

  const fs::path& path() const { return path_; }
  int64_t size() const { return size_; }

  // What the server called the version of the file whose beginning is here; empty if it is not
  // known, or of another address.
  std::string validator(const std::string& url) const {
    std::error_code unknown;
    if (!fs::exists(note_, unknown)) {
      return "";
    }
    const Json noted = Json::parse(read_file(note_), nullptr, false);
    const bool same = noted.is_object() && noted.value("url", Json()) == url;
    const Json validator = same ? noted.value("validator", Json()) : Json();
    return validator.is_string() ? validator.get<std::string>() : "";
  }

  void note(const std::string& url, const std::string& validator) const {
    write_file(note_, Json({{"url", url}, {"validator", validator}}).dump() + "\n");
  }

  void clear() {
    check(::ftruncate(descriptor_, 0) == 0, "[download] cannot shorten {}: {}", path_.string(),
          system_reason());
    size_ = 0;
  }

  void append(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t written = ::pwrite(descriptor_, bytes.data(), bytes.size(), size_);
      if (written < 0 && errno == EINTR) {
        continue;
      }
      check(written > 0, "[download] cannot write {}: {}; what came before is kept", path_.string(),
            system_reason());
      size_ += written;
      bytes.remove_prefix(static_cast<size_t>(written));
    }
  }

  void finish() {
    const bool synced = ::fsync(descriptor_) == 0;
    check(synced, "[download] cannot write {}: {}", path_.string(), system_reason());
    complete_ = true;
  }

 private:
  fs::path path_;
  fs::path note_;
  int descriptor_ = -1;
  int64_t size_ = 0;
  bool complete_ = false;
};

// What the server says of the file; of the last answer, after redirects.
struct Answer {
  std::string status;  // "404 Not Found"
  std::string etag;
  std::string modified;
  std::string range;  // "bytes 100-199/200"

  void add_line(std::string_view line) {
    line = line.substr(0, line.find_last_not_of(" \r\n") + 1);
    if (line.starts_with("HTTP/")) {
      *this = {};
      status = line.substr(std::min(line.find(' ') + 1, line.size()));
      return;
    }
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos) {
      return;
    }
    const std::string name(line.substr(0, colon));
    const size_t begin = std::min(line.find_first_not_of(' ', colon + 1), line.size());
    const std::string value(line.substr(begin));
    const auto is = [&](const char* other) { return ::strcasecmp(name.c_str(), other) == 0; };
    if (is("etag")) {
      etag = value;
    } else if (is("last-modified")) {
      modified = value;
    } else if (is("content-range")) {
      range = value;
    }
  }

  // What If-Range takes: a weak ETag does not promise the same bytes.
  std::string validator() const {
    return !etag.empty() && !etag.starts_with("W/") ? etag : modified;
  }

  // Where the part begins, or the file ends if there is no such part: "bytes */200".
  std::optional<int64_t> range_begin() const { return number_behind("bytes "); }
  std::optional<int64_t> range_total() const { return number_behind("/"); }

 private:
  std::optional<int64_t> number_behind(std::string_view mark) const {
    const size_t at = range.find(mark);
    int64_t value = 0;
    if (at == std::string::npos) {
      return std::nullopt;
    }
    const char* begin = range.data() + at + mark.size();
    const auto [rest, fault] = std::from_chars(begin, range.data() + range.size(), value);
    return fault == std::errc() ? std::optional(value) : std::nullopt;
  }
};

struct CloseHandle {
  void operator()(CURL* handle) const { curl().cleanup(handle); }
};
struct FreeList {
  void operator()(curl_slist* list) const { curl().free_list(list); }
};

// One request. libcurl's callbacks may not throw, so an Error waits in `failure_` until it is done.
class Transfer {
 public:
  Transfer(const Download& request, PartFile& part)
      : request_(request), part_(part), handle_(curl().init()) {
    check(handle_ != nullptr, "[download] libcurl gives no handle");
    from_ = part.size();
    set(CURLOPT_URL, request.url.c_str());
    set(CURLOPT_USERAGENT, "heed");
    set(CURLOPT_NOSIGNAL, 1L);
    set(CURLOPT_SSL_VERIFYPEER, 1L);
    set(CURLOPT_SSL_VERIFYHOST, 2L);
    set(CURLOPT_PROTOCOLS_STR, "http,https");
    set(CURLOPT_REDIR_PROTOCOLS_STR, request.url.starts_with("https:") ? "https" : "http,https");
    set(CURLOPT_FOLLOWLOCATION, 1L);
    set(CURLOPT_MAXREDIRS, kRedirects);
    set(CURLOPT_CONNECTTIMEOUT, kConnectSeconds);
    set(CURLOPT_LOW_SPEED_LIMIT, 1L);
    set(CURLOPT_LOW_SPEED_TIME, kSilentSeconds);
    set(CURLOPT_ERRORBUFFER, message_.data());
    set(CURLOPT_NOPROGRESS, 0L);
    set(CURLOPT_HEADERFUNCTION, &Transfer::on_header);
    set(CURLOPT_WRITEFUNCTION, &Transfer::on_body);
    set(CURLOPT_XFERINFOFUNCTION, &Transfer::on_progress);
    set(CURLOPT_HEADERDATA, this);
    set(CURLOPT_WRITEDATA, this);
    set(CURLOPT_XFERINFODATA, this);
    if (from_ > 0) {
      const std::string condition = "If-Range: " + part.validator(request.url);
      headers_.reset(curl().append(nullptr, condition.c_str()));
      set(CURLOPT_HTTPHEADER, headers_.get());
      set(CURLOPT_RANGE, (std::to_string(from_) + "-").c_str());
    }
  }

  enum class End { complete, stopped, begin_anew };

  End run() {
    const CURLcode code = curl().perform(handle_.get());
    check(failure_.empty(), "{}", failure_);
    if (code == CURLE_ABORTED_BY_CALLBACK) {
      return End::stopped;
    }
    const std::string why = message_[0] != '\0' ? message_.data() : curl().message(code);
    const bool unreached = code == CURLE_COULDNT_RESOLVE_HOST || code == CURLE_COULDNT_CONNECT;
    check(code == CURLE_OK, "[download] {}: {}{}", request_.url, why,
          part_.size() > 0 ? "; run the command again to fetch the rest"
          : unreached      ? "; is there a network connection?"
                           : "");
    if (status() == kRangeNotSatisfiable && from_ > 0) {
      return answer_.range_total() == from_ ? End::complete : End::begin_anew;
    }
    check(status() == kOk || status() == kPartial, "[download] {}: the server answers {}",
          request_.url, answer_.status);
    begin_body();  // an empty file has none
    check(total_ == 0 || part_.size() == total_, "[download] {} gave {} bytes, expected {}",
          request_.url, part_.size(), total_);
    return End::complete;
  }

 private:
  template <typename Value>
  void set(CURLoption option, Value value) {
    const CURLcode code = curl().set(handle_.get(), option, value);
    check(code == CURLE_OK, "[download] {}: {}", request_.url, curl().message(code));
  }

  long status() const {
    long code = 0;
    curl().info(handle_.get(), CURLINFO_RESPONSE_CODE, &code);
    return code;
  }

  // Looks at what the server is about to send before any of it is written.
  void begin_body() {
    if (begun_) {
      return;
    }
    begun_ = true;
    if (status() != kPartial) {
      part_.clear();
      from_ = 0;
    }
    check(from_ == 0 || answer_.range_begin() == from_,
          "[download] {} sends \"{}\", expected the bytes from {} on", request_.url, answer_.range,
          from_);
    curl_off_t length = -1;
    curl().info(handle_.get(), CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length);
    total_ = length >= 0 ? from_ + length : request_.bytes;
    check(request_.bytes == 0 || total_ == request_.bytes,
          "[download] {} has {} bytes, expected {}", request_.url, total_, request_.bytes);
    part_.note(request_.url, answer_.validator());
  }

  void take(std::string_view bytes) {
    if (status() != kOk && status() != kPartial) {
      return;  // a page that explains the error
    }
    begin_body();
    check(total_ == 0 || part_.size() + std::ssize(bytes) <= total_,
          "[download] {} gives more than {} bytes", request_.url, total_);
    part_.append(bytes);
  }

  static size_t on_header(char* data, size_t size, size_t count, void* self) {
    static_cast<Transfer*>(self)->answer_.add_line({data, size * count});
    return size * count;
  }

  static size_t on_body(char* data, size_t size, size_t count, void* self) {
    auto* transfer = static_cast<Transfer*>(self);
    try {
      transfer->take({data, size * count});
      return size * count;
    } catch (const std::exception& error) {
      transfer->failure_ = error.what();
      return 0;
    }
  }

  static int on_progress(void* self, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
    const auto* transfer = static_cast<Transfer*>(self);
    const auto& progress = transfer->request_.progress;
    return progress == nullptr || progress(transfer->part_.size(), transfer->total_) ? 0 : 1;
  }

  const Download& request_;
  PartFile& part_;
  std::unique_ptr<CURL, CloseHandle> handle_;
  std::unique_ptr<curl_slist, FreeList> headers_;
  std::array<char, CURL_ERROR_SIZE> message_ = {};
  Answer answer_;
  std::string failure_;
  bool begun_ = false;
  int64_t from_ = 0;   // the part that is there already
  int64_t total_ = 0;  // 0: unknown
};

}  // namespace

bool download(const Download& request) {
  PartFile part(request.file);
  const bool known = !part.validator(request.url).empty();
  if (part.size() > 0 && (!known || (request.bytes > 0 && part.size() > request.bytes))) {
    part.clear();
  }
  Transfer::End end = Transfer::End::begin_anew;
  if (request.bytes > 0 && part.size() == request.bytes) {
    end = Transfer::End::complete;
  }
  while (end == Transfer::End::begin_anew) {
    end = Transfer(request, part).run();
    if (end == Transfer::End::begin_anew) {
      part.clear();  // then no part is asked for, and the server cannot refuse it again
    }
  }
  if (end == Transfer::End::complete) {
    part.finish();
  }
  return end == Transfer::End::complete;
}

#else

bool download(const Download& request) {
  fail(
      "[download] {}: this program was built without libcurl; install libcurl4-openssl-dev, "
      "configure and build again, or fetch the file by other means",
      request.url);
}

#endif

}  // namespace heed
