// Files that may be gzip, read whole or piece by piece, and gzip made from plain bytes. Whether a
// file is gzip shows in its first bytes, not in its name. Functions may be called from several
// threads; a stream belongs to one at a time.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

#include "base/read_bytes.h"

namespace heed {

// The file's bytes, unpacked if they are gzip. More than `limit` of them is an Error, for a small
// gzip file can hold any number, and so is gzip data that is damaged or cut off.
std::string read_unpacked(const std::filesystem::path& path, size_t limit);

// The same bytes as a stream, without a limit.
ReadBytes unpacked_stream(const std::filesystem::path& path);

// The bytes of `plain` as a gzip file. The same bytes give the same file: it has no name or time.
ReadBytes packed_stream(ReadBytes plain);

}  // namespace heed
