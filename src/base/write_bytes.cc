#include "base/write_bytes.h"

#include <unistd.h>

#include <cerrno>
#include <vector>

#include "base/error.h"

namespace heed {

void write_all(int descriptor, std::span<const std::byte> bytes,
               const std::filesystem::path& path) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) {
      continue;
    }
    check(written > 0, "[file] cannot write {}: {}", path.string(), system_reason());
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
}

void write_all(AtomicFile& file, const ReadBytes& read) {
  std::vector<std::byte> buffer(size_t{256} << 10);
  while (const size_t count = read(buffer)) {
    file.write(std::span<const std::byte>(buffer).first(count));
  }
}

}  // namespace heed
