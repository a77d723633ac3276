// Files: whole, mapped, and written so that a reader or a crash never sees half of one.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace heed {

// A file's bytes, mapped read-only. The pages come in when they are touched.
class MappedFile {
 public:
  explicit MappedFile(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return {data_, size_}; }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  const std::byte* data_ = nullptr;
  size_t size_ = 0;
};

// The bytes of a file that is read whole, such as a configuration. A folder, a pipe or a device is
// an Error, and so is a file of more than 256 MiB: neither may fill the memory.
std::string read_file(const std::filesystem::path& path);

// Written beside its place under a temporary name; commit() makes it durable (fsync) and renames.
// Without commit() nothing is left behind.
class AtomicFile {
 public:
  explicit AtomicFile(const std::filesystem::path& path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::string_view bytes);
  void write(std::span<const std::byte> bytes);
  void commit();
  // Where it is until then.
  const std::filesystem::path& temporary() const { return temporary_; }

 private:
  std::filesystem::path path_;
  std::filesystem::path temporary_;
  int descriptor_ = -1;
};

// Pieces of a file that exists, written anywhere; several processes may do so at the same time.
class FilePieces {
 public:
  explicit FilePieces(const std::filesystem::path& path);
  ~FilePieces();
  FilePieces(const FilePieces&) = delete;
  FilePieces& operator=(const FilePieces&) = delete;

  void write(std::span<const std::byte> bytes, size_t begin);
  void sync();  // to the disk

 private:
  std::filesystem::path path_;
  int descriptor_ = -1;
};

void write_file(const std::filesystem::path& path, std::string_view bytes);  // atomically

// Makes a folder's entries durable after files in it were created or renamed.
void sync_folder(const std::filesystem::path& folder);

}  // namespace heed
