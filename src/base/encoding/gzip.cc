#include "base/encoding/gzip.h"

#include <zlib.h>

#include <cerrno>
#include <memory>
#include <system_error>
#include <utility>
#include <vector>

#include "base/error.h"

namespace heed {
namespace {

constexpr size_t kBuffer = size_t{256} << 10;

struct CloseGzip {
  void operator()(gzFile_s* file) const { ::gzclose_r(file); }
};

// zlib passes what is not gzip through as it is.
class GzipFile {
 public:
  explicit GzipFile(std::filesystem::path path) : path_(std::move(path)) {
    std::error_code unknown;  // opening then reports what is wrong
    check(!std::filesystem::is_directory(path_, unknown), "[gzip] {} is a folder, expected a file",
          path_.string());
    errno = 0;
    file_.reset(::gzopen(path_.c_str(), "rb"));
    check(file_ != nullptr, "[gzip] cannot open {}: {}", path_.string(),
          system_reason(errno == 0 ? ENOMEM : errno));
  }

  size_t read(std::span<std::byte> bytes) {
    const auto most = static_cast<unsigned>(std::min(bytes.size(), kBuffer));
    const int count = ::gzread(file_.get(), bytes.data(), most);
    if (count > 0) {
      return static_cast<size_t>(count);
    }
    // A file that is cut off reads as if it ended; only gzerror() tells.
    int code = Z_OK;
    ::gzerror(file_.get(), &code);
    check(code == Z_OK || code == Z_STREAM_END,
          "[gzip] {} cannot be read, or its gzip data is damaged or cut off", path_.string());
    return 0;
  }

 private:
  std::filesystem::path path_;
  std::unique_ptr<gzFile_s, CloseGzip> file_;
};

class GzipPacker {
 public:
  explicit GzipPacker(ReadBytes plain) : plain_(std::move(plain)), buffer_(kBuffer) {
    constexpr int kGzip = 16;  // added to the window: a gzip header instead of zlib's
    constexpr int kMemory = 8;
    const int code = ::deflateInit2(&stream_, Z_BEST_COMPRESSION, Z_DEFLATED, MAX_WBITS + kGzip,
                                    kMemory, Z_DEFAULT_STRATEGY);
    check(code == Z_OK, "[gzip] zlib cannot begin: error {}", code);
  }
  ~GzipPacker() { ::deflateEnd(&stream_); }
  GzipPacker(const GzipPacker&) = delete;
  GzipPacker& operator=(const GzipPacker&) = delete;

  size_t read(std::span<std::byte> bytes) {
    const auto most = static_cast<unsigned>(std::min(bytes.size(), kBuffer));
    stream_.next_out = reinterpret_cast<Bytef*>(bytes.data());
    stream_.avail_out = most;
    while (stream_.avail_out == most && !finished_) {
      if (stream_.avail_in == 0 && !last_) {
        stream_.next_in = reinterpret_cast<Bytef*>(buffer_.data());
        stream_.avail_in = static_cast<unsigned>(plain_(buffer_));
        last_ = stream_.avail_in == 0;
      }
      finished_ = ::deflate(&stream_, last_ ? Z_FINISH : Z_NO_FLUSH) == Z_STREAM_END;
    }
    return most - stream_.avail_out;
  }

 private:
  ReadBytes plain_;
  std::vector<std::byte> buffer_;
  z_stream stream_ = {};
  bool last_ = false;      // plain_ has ended
  bool finished_ = false;  // and so has the stream
};

}  // namespace

std::string read_unpacked(const std::filesystem::path& path, size_t limit) {
  GzipFile file(path);
  std::string bytes;
  std::vector<std::byte> buffer(kBuffer);
  while (const size_t count = file.read(buffer)) {
    bytes.append(reinterpret_cast<const char*>(buffer.data()), count);
    check(bytes.size() <= limit, "[gzip] {} holds more than {} bytes", path.string(), limit);
  }
  return bytes;
}

ReadBytes unpacked_stream(const std::filesystem::path& path) {
  return [file = std::make_shared<GzipFile>(path)](std::span<std::byte> bytes) {
    return file->read(bytes);
  };
}

ReadBytes packed_stream(ReadBytes plain) {
  return [packer = std::make_shared<GzipPacker>(std::move(plain))](std::span<std::byte> bytes) {
    return packer->read(bytes);
  };
}

}  // namespace heed
