#include "base/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/unfinished.h"
#include "base/write_bytes.h"

namespace heed {
namespace {

// An error names the file `called`: users do not know temporary ones.
int open_or_fail(const std::filesystem::path& path, int flags,
                 const std::filesystem::path& called) {
  constexpr mode_t kReadableByAll = 0644;
  const int descriptor = ::open(path.c_str(), flags | O_CLOEXEC, kReadableByAll);
  check(descriptor >= 0, "[file] cannot open {}: {}", called.string(), system_reason());
  return descriptor;
}
int open_or_fail(const std::filesystem::path& path, int flags) {
  return open_or_fail(path, flags, path);
}

// A regular file that is open for reading. Nothing else is waited for: a pipe may never be written
// to.
class RegularFile {
 public:
  explicit RegularFile(const std::filesystem::path& path)
      : descriptor_(open_or_fail(path, O_RDONLY | O_NONBLOCK)) {
    struct stat status = {};
    const bool known = ::fstat(descriptor_, &status) == 0;
    size_ = known ? static_cast<size_t>(status.st_size) : 0;
    if (!known || !S_ISREG(status.st_mode)) {
      ::close(descriptor_);
      fail("[file] {} is {}, expected a regular file", path.string(),
           !known                     ? "unreadable"
           : S_ISDIR(status.st_mode)  ? "a folder"
           : S_ISFIFO(status.st_mode) ? "a pipe"
                                      : "a device or socket");
    }
  }
  ~RegularFile() { ::close(descriptor_); }
  RegularFile(const RegularFile&) = delete;
  RegularFile& operator=(const RegularFile&) = delete;

  int descriptor() const { return descriptor_; }
  size_t size() const { return size_; }

 private:
  int descriptor_;
  size_t size_ = 0;
};

}  // namespace

MappedFile::MappedFile(const std::filesystem::path& path) : path_(path) {
  const RegularFile file(path);
  if (file.size() == 0) {
    return;
  }
  void* mapped = ::mmap(nullptr, file.size(), PROT_READ, MAP_PRIVATE, file.descriptor(), 0);
  check(mapped != MAP_FAILED, "[file] cannot map {}: {}", path.string(), system_reason());
  data_ = static_cast<const std::byte*>(mapped);
  size_ = file.size();
}

MappedFile::~MappedFile() {
  if (size_ > 0) {
    ::munmap(const_cast<std::byte*>(data_), size_);
  }
}

std::string read_file(const std::filesystem::path& path) {
  const RegularFile file(path);
  // Configurations, recipes and tokenizers have a few megabytes at most.
  constexpr size_t kMost = size_t{256} << 20;
  std::string bytes;
  std::string buffer(size_t{64} << 10, '\0');
  while (true) {
    check(file.size() <= kMost && bytes.size() <= kMost,
          "[file] {} has more than {} bytes, which is too much for a file that is read whole",
          path.string(), kMost);
    const ssize_t count = ::read(file.descriptor(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) {
      continue;
    }
    check(count >= 0, "[file] cannot read {}: {}", path.string(), system_reason());
    if (count == 0) {
      return bytes;
    }
    bytes.append(buffer, 0, static_cast<size_t>(count));
  }
}

AtomicFile::AtomicFile(const std::filesystem::path& path) : path_(path) {
  namespace fs = std::filesystem;
  std::error_code unknown;  // opening then reports what is wrong
  if (fs::is_symlink(path, unknown)) {
    // A link stays a link: what it leads to is replaced.
    const fs::path target = fs::canonical(path, unknown);
    path_ = unknown ? path : target;
  }
  if (const fs::file_status status = fs::status(path_, unknown);
      fs::is_character_file(status) || fs::is_fifo(status) || fs::is_block_file(status)) {
    // Nothing can be renamed to a device or a pipe without destroying it.
    descriptor_ = open_or_fail(path_, O_WRONLY);
    return;
  }
  temporary_ = path_;
  temporary_ += ".tmp" + unique_suffix();
  descriptor_ = open_or_fail(temporary_, O_WRONLY | O_CREAT | O_TRUNC, path_);
  Unfinished::all().add(temporary_);
}

AtomicFile::~AtomicFile() {
  if (descriptor_ >= 0) {
    ::close(descriptor_);
    if (!temporary_.empty()) {
      Unfinished::all().remove(temporary_);
    }
  }
}

void AtomicFile::write(std::string_view bytes) {
  write(std::as_bytes(std::span(bytes.data(), bytes.size())));
}

void AtomicFile::write(std::span<const std::byte> bytes) { write_all(descriptor_, bytes, path_); }

void AtomicFile::commit() {
  // Named first: arguments are evaluated in any order, and system_reason() must come after the
  // call.
  const bool synced = temporary_.empty() || ::fsync(descriptor_) == 0;
  check(synced, "[file] cannot write {}: {}", path_.string(), system_reason());
  const bool closed = ::close(std::exchange(descriptor_, -1)) == 0;
  check(closed, "[file] cannot close {}: {}", path_.string(), system_reason());
  if (temporary_.empty()) {
    return;
  }
  if (!Unfinished::all().rename(temporary_, path_)) {
    const std::string why = system_reason();
    Unfinished::all().remove(temporary_);
    fail("[file] cannot rename {} to {}: {}", temporary_.string(), path_.string(), why);
  }
  sync_folder(path_.parent_path());
}

FilePieces::FilePieces(const std::filesystem::path& path)
    : path_(path), descriptor_(open_or_fail(path, O_WRONLY)) {}

FilePieces::~FilePieces() { ::close(descriptor_); }

void FilePieces::write(std::span<const std::byte> bytes, size_t begin) {
  while (!bytes.empty()) {
    const ssize_t count =
        ::pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(begin));
    check(count > 0 || (count < 0 && errno == EINTR), "[file] cannot write {}: {}", path_.string(),
          system_reason());
    const auto written = static_cast<size_t>(std::max<ssize_t>(count, 0));
    bytes = bytes.subspan(written);
    begin += written;
  }
}

void FilePieces::sync() {
  const bool synced = ::fsync(descriptor_) == 0;
  check(synced, "[file] cannot write {}: {}", path_.string(), system_reason());
}

void write_file(const std::filesystem::path& path, std::string_view bytes) {
  AtomicFile file(path);
  file.write(bytes);
  file.commit();
}

void sync_folder(const std::filesystem::path& folder) {
  const int descriptor = open_or_fail(folder.empty() ? "." : folder, O_RDONLY | O_DIRECTORY);
  const int result = ::fsync(descriptor);
  ::close(descriptor);
  check(result == 0, "[file] cannot sync {}: {}", folder.string(), system_reason());
}

}  // namespace heed
