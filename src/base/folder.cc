#include "base/folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <thread>

#include "base/error.h"
#include "base/file.h"
#include "base/unfinished.h"

namespace heed {
namespace {

// An error names the folder `called`: users do not know temporary ones.
void make_folders_called(const std::filesystem::path& path, const std::filesystem::path& called) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  check(!error, "[file] cannot make the folder {}: {}", called.string(), error.message());
}

// Whether the lock of an open file was free. is_held() takes it for a moment, hence the repetition.
bool take_lock(int descriptor) {
  for (int attempt = 0; attempt < 5; ++attempt) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5 * attempt));
    if (::flock(descriptor, LOCK_EX | LOCK_NB) == 0) {
      return true;
    }
    if (errno != EWOULDBLOCK) {
      return false;
    }
  }
  return false;
}

}  // namespace

void make_folders(const std::filesystem::path& path) { make_folders_called(path, path); }

AtomicFolder::AtomicFolder(const std::filesystem::path& path)
    : path_(path.has_filename() ? path : path.parent_path()) {  // "run/" is "run"
  temporary_ = path_.parent_path() /
               fmt::format("{}{}-{}", kPrefix, path_.filename().string(), unique_suffix());
  make_folders_called(temporary_, path_);
  Unfinished::all().add(temporary_);
}

AtomicFolder::~AtomicFolder() { Unfinished::all().remove(temporary_); }

void AtomicFolder::commit() {
  sync_folder(temporary_);
  // Over nothing or an empty folder a rename is enough. Another folder changes places with the new
  // one, so that there is always one of them; the destructor removes the earlier one.
  Unfinished& unfinished = Unfinished::all();
  bool renamed = unfinished.rename(temporary_, path_);
  if (!renamed && std::filesystem::is_directory(path_)) {
    renamed = unfinished.exchange(temporary_, path_);
  }
  if (!renamed && errno == EINVAL) {  // file systems that cannot exchange
    const std::filesystem::path earlier = temporary_.string() + "-earlier";
    renamed = unfinished.rename(path_, earlier) && unfinished.rename(temporary_, path_);
    if (renamed) {
      unfinished.remove(earlier);
    }
  }
  check(renamed, "[file] cannot rename {} to {}: {}", temporary_.string(), path_.string(),
        system_reason());
  sync_folder(path_.parent_path());
}

NewFolder::NewFolder(const std::filesystem::path& folder) {
  for (std::filesystem::path path = std::filesystem::absolute(folder).lexically_normal();
       !std::filesystem::exists(path); path = path.parent_path()) {
    made_ = path;
  }
  make_folders(folder);
  if (!made_.empty()) {
    Unfinished::all().add(made_);
  }
}

NewFolder::~NewFolder() {
  if (!made_.empty()) {
    Unfinished::all().remove(made_);
  }
}

void NewFolder::keep() {
  Unfinished::all().forget(made_);
  made_.clear();
}

void abandon_unfinished_files() { Unfinished::all().abandon(); }

FolderLock::FolderLock(const std::filesystem::path& folder) : file_(folder / kFile) {
  constexpr mode_t kReadableByAll = 0644;
  while (true) {
    descriptor_ = ::open(file_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, kReadableByAll);
    check(descriptor_ >= 0, "[file] cannot open {}: {}", file_.string(), system_reason());
    if (!take_lock(descriptor_)) {
      const std::string why = errno == EWOULDBLOCK ? "" : system_reason();
      ::close(descriptor_);
      check(why.empty(), "[file] cannot lock {}: {}", file_.string(), why);
      std::string process = read_file(file_);
      process =
          process.empty() ? "another process" : "process " + process.substr(0, process.find('\n'));
      fail("[file] {} is in use by {}; wait until it has ended, or end it", folder.string(),
           process);
    }
    // A process that ended meanwhile has removed the file that was opened here: then it locks
    // nothing.
    struct stat mine = {};
    struct stat there = {};
    if (::fstat(descriptor_, &mine) == 0 && ::stat(file_.c_str(), &there) == 0 &&
        mine.st_ino == there.st_ino && mine.st_dev == there.st_dev) {
      break;
    }
    ::close(descriptor_);
  }
  const std::string process = fmt::format("{}\n", ::getpid());
  const bool written = ::ftruncate(descriptor_, 0) == 0 &&
                       ::pwrite(descriptor_, process.data(), process.size(), 0) ==
                           static_cast<ssize_t>(process.size());
  if (!written) {
    const std::string why = system_reason();
    ::close(descriptor_);
    fail("[file] cannot write {}: {}", file_.string(), why);
  }
  Unfinished::all().add(file_);
}

bool FolderLock::is_held(const std::filesystem::path& folder) {
  const int descriptor = ::open((folder / kFile).c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) {
    return false;
  }
  const bool held = ::flock(descriptor, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  ::close(descriptor);  // which gives back what was taken
  return held;
}

FolderLock::~FolderLock() {
  Unfinished::all().remove(file_);  // while it is locked
  ::close(descriptor_);
}

}  // namespace heed
