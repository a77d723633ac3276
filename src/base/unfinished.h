// What this process removes again unless it comes to its proper end: files and folders that are
// being written under temporary names, and locks. For base/file.cc and base/folder.cc; thread safe.
#pragma once

#include <filesystem>
#include <mutex>
#include <set>
#include <string>

namespace heed {

class Unfinished {
 public:
  static Unfinished& all();

  void add(const std::filesystem::path& path);
  void forget(const std::filesystem::path& path);
  void remove(const std::filesystem::path& path);  // with all that is in it
  // Gives a path its name; false, and errno says why.
  bool rename(const std::filesystem::path& from, const std::filesystem::path& to);
  // Both exist and change places; `from` is still unfinished.
  bool exchange(const std::filesystem::path& from, const std::filesystem::path& to);
  // Removes everything. Whoever calls any of these functions later waits for the end of the
  // process.
  void abandon();

 private:
  std::mutex mutex_;
  std::set<std::filesystem::path> paths_;
};

// Unlike any other of this process and of others.
std::string unique_suffix();

}  // namespace heed
