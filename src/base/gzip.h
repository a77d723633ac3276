// Files that may be gzip, read whole. Whether one is shows in its first bytes, not in its name.
// Every function may be called from several threads.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

namespace heed {

// The file's bytes, unpacked if they are gzip. More than `limit` of them is an Error, for a small
// gzip file can hold any number, and so is gzip data that is damaged or cut off.
std::string read_unpacked(const std::filesystem::path& path, size_t limit);

}  // namespace heed
