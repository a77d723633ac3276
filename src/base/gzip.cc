#include "base/gzip.h"

#include <zlib.h>

#include <cerrno>
#include <memory>
#include <system_error>
#include <vector>

#include "base/error.h"

namespace heed {
namespace {

struct CloseGzip {
  void operator()(gzFile_s* file) const { ::gzclose_r(file); }
};

}  // namespace

// zlib passes what is not gzip through as it is.
std::string read_unpacked(const std::filesystem::path& path, size_t limit) {
  std::error_code unknown;  // opening then reports what is wrong
  check(!std::filesystem::is_directory(path, unknown), "[gzip] {} is a folder, expected a file",
        path.string());
  errno = 0;
  const std::unique_ptr<gzFile_s, CloseGzip> file(::gzopen(path.c_str(), "rb"));
  check(file != nullptr, "[gzip] cannot open {}: {}", path.string(),
        std::generic_category().message(errno == 0 ? ENOMEM : errno));
  std::string bytes;
  std::vector<char> buffer(size_t{256} << 10);
  int count = 0;
  while ((count = ::gzread(file.get(), buffer.data(), static_cast<unsigned>(buffer.size()))) > 0) {
    bytes.append(buffer.data(), static_cast<size_t>(count));
    check(bytes.size() <= limit, "[gzip] {} holds more than {} bytes", path.string(), limit);
  }
  // A file that is cut off reads as if it ended; only gzerror() tells.
  int code = Z_OK;
  ::gzerror(file.get(), &code);
  check(code == Z_OK || code == Z_STREAM_END,
        "[gzip] {} cannot be read, or its gzip data is damaged or cut off", path.string());
  return bytes;
}

}  // namespace heed
