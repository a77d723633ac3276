#include "base/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <system_error>

#include "base/error.h"

namespace heed {
namespace {

std::string reason() { return std::generic_category().message(errno); }

int open_or_fail(const std::filesystem::path& path, int flags) {
  constexpr mode_t kReadableByAll = 0644;
  const int descriptor = ::open(path.c_str(), flags | O_CLOEXEC, kReadableByAll);
  check(descriptor >= 0, "[file] cannot open {}: {}", path.string(), reason());
  return descriptor;
}

}  // namespace

MappedFile::MappedFile(const std::filesystem::path& path) : path_(path) {
  const int descriptor = open_or_fail(path, O_RDONLY);
  struct stat status = {};
  const bool known = ::fstat(descriptor, &status) == 0;
  const bool regular = known && S_ISREG(status.st_mode);
  size_ = regular ? static_cast<size_t>(status.st_size) : 0;
  void* mapped = nullptr;
  if (size_ > 0) {
    mapped = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, descriptor, 0);
  }
  ::close(descriptor);
  check(regular, "[file] {} is not a regular file", path.string());
  check(mapped != MAP_FAILED, "[file] cannot map {}: {}", path.string(), reason());
  data_ = static_cast<const std::byte*>(mapped);
}

MappedFile::~MappedFile() {
  if (size_ > 0) {
    ::munmap(const_cast<std::byte*>(data_), size_);
  }
}

std::string read_file(const std::filesystem::path& path) {
  std::error_code unknown;  // opening then reports what is wrong
  check(!std::filesystem::is_directory(path, unknown), "[file] {} is a folder, expected a file",
        path.string());
  std::ifstream stream(path, std::ios::binary);
  check(stream.good(), "[file] cannot open {}: {}", path.string(), reason());
  std::string bytes{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  check(!stream.bad(), "[file] cannot read {}: {}", path.string(), reason());
  return bytes;
}

AtomicFile::AtomicFile(const std::filesystem::path& path) : path_(path) {
  static std::atomic<int> counter{0};
  temporary_ = path;
  temporary_ += fmt::format(".tmp{}-{}", ::getpid(), counter++);
  descriptor_ = open_or_fail(temporary_, O_WRONLY | O_CREAT | O_TRUNC);
}

AtomicFile::~AtomicFile() {
  if (descriptor_ >= 0) {
    ::close(descriptor_);
    ::unlink(temporary_.c_str());
  }
}

void AtomicFile::write(std::string_view bytes) {
  write(std::as_bytes(std::span(bytes.data(), bytes.size())));
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) {
      continue;
    }
    check(written > 0, "[file] cannot write {}: {}", path_.string(), reason());
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
}

void AtomicFile::commit() {
  // Named first: arguments are evaluated in any order, and reason() must come after the call.
  const bool synced = ::fsync(descriptor_) == 0;
  check(synced, "[file] cannot write {}: {}", path_.string(), reason());
  const bool closed = ::close(std::exchange(descriptor_, -1)) == 0;
  check(closed, "[file] cannot close {}: {}", path_.string(), reason());
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) {
    const std::string why = reason();
    ::unlink(temporary_.c_str());
    fail("[file] cannot rename {} to {}: {}", temporary_.string(), path_.string(), why);
  }
  sync_folder(path_.parent_path());
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
  check(result == 0, "[file] cannot sync {}: {}", folder.string(), reason());
}

}  // namespace heed
