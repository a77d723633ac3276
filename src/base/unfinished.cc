#include "base/unfinished.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <system_error>

namespace heed {

Unfinished& Unfinished::all() {
  static Unfinished unfinished;
  return unfinished;
}

void Unfinished::add(const std::filesystem::path& path) {
  const std::lock_guard lock(mutex_);
  paths_.insert(path);
}

void Unfinished::forget(const std::filesystem::path& path) {
  const std::lock_guard lock(mutex_);
  paths_.erase(path);
}

void Unfinished::remove(const std::filesystem::path& path) {
  const std::lock_guard lock(mutex_);
  paths_.erase(path);
  std::error_code ignored;
  std::filesystem::remove_all(path, ignored);
}

bool Unfinished::rename(const std::filesystem::path& from, const std::filesystem::path& to) {
  const std::lock_guard lock(mutex_);
  if (::rename(from.c_str(), to.c_str()) != 0) {
    return false;
  }
  paths_.erase(from);
  return true;
}

bool Unfinished::exchange(const std::filesystem::path& from, const std::filesystem::path& to) {
  const std::lock_guard lock(mutex_);
  return ::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_EXCHANGE) == 0;
}

void Unfinished::abandon() {
  mutex_.lock();  // for ever
  for (const std::filesystem::path& path : paths_) {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
}

std::string unique_suffix() {
  static std::atomic<int> counter{0};
  return fmt::format("{}-{}", ::getpid(), counter++);
}

}  // namespace heed
