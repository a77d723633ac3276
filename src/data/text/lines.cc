#include "data/text/lines.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace heed {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kBufferBytes = size_t{256} << 10;
constexpr int kGzipOnly = 16 + MAX_WBITS;  // zlib's way of asking for gzip's header and checksum
constexpr size_t kPoolGrowth = 8;
// What a pool waits for further lines: long enough for a program that writes into the pipe, too
// short for people.
constexpr std::chrono::milliseconds kPoolPatience{50};

// A device such as /dev/urandom, which would fill the memory with its lines. Terminals and
// /dev/null have an end.
bool is_endless(int descriptor) {
  struct stat status = {};
  struct stat null = {};
  return ::fstat(descriptor, &status) == 0 && S_ISCHR(status.st_mode) &&
         ::isatty(descriptor) == 0 &&
         !(::stat("/dev/null", &null) == 0 && status.st_rdev == null.st_rdev);
}

int open_or_fail(const std::filesystem::path& path, const std::string& name) {
  const bool standard_input = path == "-";
  check(standard_input || !std::filesystem::is_directory(path),
        "[lines] {} is a folder, expected a file", name);
  const int descriptor =
      standard_input ? ::dup(STDIN_FILENO) : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  check(descriptor >= 0, "[lines] cannot open {}: {}", name, system_reason());
  if (is_endless(descriptor)) {
    ::close(descriptor);
    fail("[lines] {} is a device, expected a file", name);
  }
  return descriptor;
}

}  // namespace

// The bytes of a file, unpacked if they are gzip. zlib's own files wait until a whole buffer is
// full, which on a terminal or a slow pipe would be for minutes; here what has come is there.
class LineReader::Input {
 public:
  Input(const std::filesystem::path& path, const std::string& name)
      : descriptor_(open_or_fail(path, name)), packed_(kBufferBytes) {
    struct stat status {};
    if (::fstat(descriptor_, &status) == 0 && S_ISREG(status.st_mode)) {
      size_ = status.st_size;
    }
  }
  ~Input() {
    if (unpacking_) {
      ::inflateEnd(&stream_);
    }
    ::close(descriptor_);
  }
  Input(const Input&) = delete;
  Input& operator=(const Input&) = delete;

  double share() const {
    return size_ > 0 ? std::min(1.0, static_cast<double>(bytes_read_) / static_cast<double>(size_))
                     : 0.0;
  }

  // Whether read() will not wait.
  bool ready(std::chrono::milliseconds patience) const {
    if (ended_ || more_ || unpacked_from_ < packed_end_) {
      return true;
    }
    pollfd request{.fd = descriptor_, .events = POLLIN, .revents = 0};
    return ::poll(&request, 1, static_cast<int>(patience.count())) != 0;
  }

  // Some bytes, perhaps none yet of what is packed; waits if there are none to read. Throws the
  // reason if they are damaged.
  size_t read(char* to, size_t most) {
    if (unpacked_from_ == packed_end_ && !more_) {
      read_packed();
    }
    if (!known_) {
      return 0;
    }
    if (!gzip_) {
      const size_t bytes = std::min(most, packed_end_ - unpacked_from_);
      std::memcpy(to, packed_.data() + unpacked_from_, bytes);
      unpacked_from_ += bytes;
      return bytes;
    }
    return unpack(to, most);
  }
  bool ended() const { return ended_ && !more_ && unpacked_from_ == packed_end_; }

 private:
  // What a file is shows in its first two bytes.
  void read_packed() {
    const size_t kept = known_ ? 0 : packed_end_;
    ssize_t bytes = -1;
    do {
      bytes = ::read(descriptor_, packed_.data() + kept, packed_.size() - kept);
    } while (bytes < 0 && errno == EINTR);
    check(bytes >= 0, "cannot be read: {}", system_reason());
    unpacked_from_ = 0;
    packed_end_ = kept + static_cast<size_t>(bytes);
    bytes_read_ += bytes;
    ended_ = bytes == 0;
    if (!known_ && (ended_ || packed_end_ >= 2 || !begins_member())) {
      known_ = true;
      gzip_ = packed_end_ >= 2 && begins_member();
    } else if (!known_) {
      unpacked_from_ = packed_end_;  // one byte that may be gzip's: the next one tells
    }
    check(!ended_ || !unpacking_, "the gzip data is damaged or cut off: unexpected end of file");
  }

  // Whether a gzip member begins here; a file may have several.
  bool begins_member() const {
    constexpr unsigned char kMagic[] = {0x1F, 0x8B};
    const size_t there = std::min(packed_end_ - unpacked_from_, sizeof(kMagic));
    return std::memcmp(packed_.data() + unpacked_from_, kMagic, there) == 0;
  }

  size_t unpack(char* to, size_t most) {
    if (!unpacking_) {
      if (unpacked_from_ == packed_end_) {
        return 0;
      }
      if (!begins_member()) {  // padding behind the last member
        unpacked_from_ = packed_end_;
        ended_ = true;
        return 0;
      }
      stream_ = {};
      check(::inflateInit2(&stream_, kGzipOnly) == Z_OK, "out of memory");
      unpacking_ = true;
    }
    stream_.next_in = packed_.data() + unpacked_from_;
    stream_.avail_in = static_cast<unsigned>(packed_end_ - unpacked_from_);
    stream_.next_out = reinterpret_cast<unsigned char*>(to);
    stream_.avail_out = static_cast<unsigned>(most);
    const int code = ::inflate(&stream_, Z_NO_FLUSH);
    unpacked_from_ = packed_end_ - stream_.avail_in;
    check(code == Z_OK || code == Z_STREAM_END || code == Z_BUF_ERROR,
          "the gzip data is damaged or cut off: {}",
          stream_.msg != nullptr ? stream_.msg : "unexpected data");
    more_ = code == Z_OK && stream_.avail_out == 0;
    if (code == Z_STREAM_END) {
      ::inflateEnd(&stream_);
      unpacking_ = false;
    }
    return most - stream_.avail_out;
  }

  int descriptor_;
  int64_t size_ = 0;
  int64_t bytes_read_ = 0;
  std::vector<unsigned char> packed_;  // as read; [unpacked_from_, packed_end_) is still to be used
  size_t unpacked_from_ = 0;
  size_t packed_end_ = 0;
  bool known_ = false;  // whether it is gzip
  bool gzip_ = false;
  bool unpacking_ = false;  // in the middle of a member
  bool more_ = false;       // zlib has more than there was room for
  bool ended_ = false;      // nothing is left to read
  z_stream stream_ = {};
};

LineReader::LineReader(const std::filesystem::path& path)
    : name_(path == "-" ? "standard input" : path.string()),
      input_(std::make_unique<Input>(path, name_)) {}

LineReader::~LineReader() = default;

// What waits in the buffer is not counted: a short file lies there as a whole from the first line
// on.
double LineReader::share() const {
  const auto waiting = static_cast<double>(end_ - begin_);
  return filled_ > 0 ? input_->share() * (1.0 - waiting / static_cast<double>(filled_)) : 0.0;
}

bool LineReader::whole_line() {
  const auto* newline = static_cast<const char*>(
      searched_ == end_ ? nullptr
                        : std::memchr(buffer_.data() + searched_, '\n', end_ - searched_));
  searched_ = newline != nullptr ? static_cast<size_t>(newline - buffer_.data()) : end_;
  check(searched_ - begin_ <= kLongestLine,
        "[lines] {}, line {}: longer than {} bytes; is this a text file?", name_, line_number_ + 1,
        kLongestLine);
  return newline != nullptr;
}

// More bytes behind those in the buffer, which move to its front first.
void LineReader::fill() {
  std::copy(buffer_.begin() + static_cast<int64_t>(begin_),
            buffer_.begin() + static_cast<int64_t>(end_), buffer_.begin());
  searched_ -= begin_;
  end_ -= begin_;
  begin_ = 0;
  buffer_.resize(std::max(buffer_.size(), end_ + kBufferBytes));
  try {
    const size_t more = input_->read(buffer_.data() + end_, buffer_.size() - end_);
    end_ += more;
    filled_ += more;
  } catch (const Error& error) {
    fail("[lines] {}, line {}: {}", name_, line_number_ + 1, error.what());
  }
  ended_ = input_->ended();
}

bool LineReader::next(std::string& line) {
  while (!whole_line() && !ended_) {
    fill();
  }
  line.assign(buffer_.data() + begin_, searched_ - begin_);
  const bool begun = begin_ < end_;  // the end of the file ends a line that has bytes
  const bool terminated = searched_ < end_;
  if (terminated && !line.empty() && line.back() == '\r') {
    line.pop_back();
  }
  begin_ = searched_ + (terminated ? 1 : 0);
  searched_ = begin_;
  line_number_ += begun ? 1 : 0;
  return begun;
}

bool LineReader::ready(std::chrono::milliseconds patience) {
  const auto deadline = Clock::now() + patience;
  while (!whole_line() && !ended_) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
    if (!input_->ready(std::max(left, std::chrono::milliseconds(0)))) {
      return false;
    }
    fill();
  }
  return true;
}

bool LineReader::next_pool(size_t most, std::vector<std::string>& pool) {
  pool.clear();
  std::string line;
  Clock::time_point deadline;
  const size_t size = std::min(most, pool_lines_);
  pool_lines_ = std::min(kPoolGrowth * pool_lines_, std::max(most, pool_lines_));
  while (pool.size() < size) {
    if (!pool.empty()) {
      const auto left =
          std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
      if (!ready(std::max(left, std::chrono::milliseconds(0)))) {
        break;
      }
    }
    if (!next(line)) {
      break;
    }
    pool.push_back(line);
    if (pool.size() == 1) {
      deadline = Clock::now() + kPoolPatience;
    }
  }
  return !pool.empty();
}

std::vector<std::string> read_lines(const std::filesystem::path& path) {
  LineReader reader(path);
  std::vector<std::string> lines;
  for (std::string line; reader.next(line);) {
    lines.push_back(line);
  }
  return lines;
}

}  // namespace heed
