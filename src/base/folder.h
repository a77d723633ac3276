// Folders: written so that a reader or a crash never sees half of one, and locked.
#pragma once

#include <filesystem>
#include <string_view>

namespace heed {

// Makes a folder and those around it, where they are missing.
void make_folders(const std::filesystem::path& path);

// A folder that is filled under another name beside its place. commit() makes it durable and gives
// it its name; an earlier folder of that name is there until the moment when the new one is, and is
// then removed. Without commit() nothing is left behind.
class AtomicFolder {
 public:
  static constexpr std::string_view kPrefix = ".unfinished-";  // of the other name

  explicit AtomicFolder(const std::filesystem::path& path);
  ~AtomicFolder();
  AtomicFolder(const AtomicFolder&) = delete;
  AtomicFolder& operator=(const AtomicFolder&) = delete;

  const std::filesystem::path& path() const { return temporary_; }  // where it is filled
  void commit();

 private:
  std::filesystem::path path_;
  std::filesystem::path temporary_;
};

// Makes a folder and those around it, where they are missing. Unless keep() is called they are
// removed again with all that is in them.
class NewFolder {
 public:
  explicit NewFolder(const std::filesystem::path& folder);
  ~NewFolder();
  NewFolder(const NewFolder&) = delete;
  NewFolder& operator=(const NewFolder&) = delete;

  void keep();

 private:
  std::filesystem::path made_;  // the outermost one; empty: none
};

// Removes all that the classes of this file would remove at their end, and keeps further files from
// getting their names: for a program that ends now, whatever its other threads do.
void abandon_unfinished_files();

// The right to write to a folder, which one process has at a time. The kernel takes it back when
// the process ends, however it ends.
class FolderLock {
 public:
  static constexpr const char* kFile = ".lock";  // in the folder; holds the number of the process

  // An Error that names the process, if another one has the lock.
  explicit FolderLock(const std::filesystem::path& folder);
  // Whether a process has it.
  static bool is_held(const std::filesystem::path& folder);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  std::filesystem::path file_;
  int descriptor_ = -1;
};

}  // namespace heed
