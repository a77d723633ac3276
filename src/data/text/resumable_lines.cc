#include "data/text/resumable_lines.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <string_view>
#include <utility>

#include "base/encoding/gzip.h"
#include "base/error.h"
#include "base/file.h"
#include "base/write_bytes.h"

namespace heed {
namespace {

struct WholeLines {
  int64_t count = 0;
  size_t bytes = 0;
};

// The first lines of a file that have their line break.
WholeLines whole_lines(const std::filesystem::path& path, int64_t most) {
  const MappedFile file(path);
  const std::span<const std::byte> bytes = file.bytes();
  WholeLines found;
  while (found.count < most && found.bytes < bytes.size()) {
    const auto* begin = bytes.data() + found.bytes;
    const void* end = std::memchr(begin, '\n', bytes.size() - found.bytes);
    if (end == nullptr) {
      break;
    }
    found.bytes += static_cast<size_t>(static_cast<const std::byte*>(end) - begin) + 1;
    ++found.count;
  }
  return found;
}

ReadBytes bytes_of(const MappedFile& file) {
  return [rest = file.bytes()](std::span<std::byte> to) mutable {
    const size_t count = std::min(to.size(), rest.size());
    std::copy_n(rest.begin(), count, to.begin());
    rest = rest.subspan(count);
    return count;
  };
}

}  // namespace

std::filesystem::path ResumableLines::part_of(const std::filesystem::path& file) {
  std::filesystem::path part = file;
  part += ".part";
  return part;
}

ResumableLines::ResumableLines(const std::filesystem::path& file)
    : file_(file), part_(part_of(file)) {
  constexpr mode_t kReadableByAll = 0644;
  descriptor_ = ::open(part_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, kReadableByAll);
  check(descriptor_ >= 0, "[lines] cannot open {}: {}", part_.string(), system_reason());
  if (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
    const std::string why =
        errno == EWOULDBLOCK ? "another process is writing it; wait until it has ended, or end it"
                             : system_reason();
    ::close(descriptor_);
    fail("[lines] {}: {}", part_.string(), why);
  }
  keep(std::numeric_limits<int64_t>::max());
}

ResumableLines::~ResumableLines() {
  if (descriptor_ >= 0) {
    ::close(descriptor_);
  }
}

void ResumableLines::keep(int64_t lines) {
  const WholeLines kept = whole_lines(part_, lines);
  const bool cut = ::ftruncate(descriptor_, static_cast<off_t>(kept.bytes)) == 0;
  check(cut, "[lines] cannot shorten {}: {}", part_.string(), system_reason());
  lines_ = kept.count;
}

void ResumableLines::append(std::span<const std::string> lines) {
  std::string bytes;
  for (const std::string& line : lines) {
    const size_t begin = bytes.size();
    bytes += line;
    std::replace_if(
        bytes.begin() + static_cast<int64_t>(begin), bytes.end(),
        [](char c) { return c == '\n' || c == '\r'; }, ' ');
    bytes += '\n';
  }
  write_all(descriptor_, std::as_bytes(std::span(bytes)), part_);
  lines_ += std::ssize(lines);
}

void ResumableLines::commit() {
  const bool synced = ::fsync(descriptor_) == 0;
  check(synced, "[lines] cannot write {}: {}", part_.string(), system_reason());
  if (file_.extension() == ".gz") {
    const MappedFile plain(part_);
    AtomicFile packed(file_);
    write_all(packed, packed_stream(bytes_of(plain)));
    packed.commit();
    std::filesystem::remove(part_);
  } else {
    std::filesystem::rename(part_, file_);
    sync_folder(file_.parent_path());
  }
  ::close(std::exchange(descriptor_, -1));
}

}  // namespace heed
