// Bytes into files that are open. For those who keep a file open, or fill it from a stream; a whole
// file is written with write_file() (base/file.h).
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

#include "base/file.h"
#include "base/read_bytes.h"

namespace heed {

// All of them; an Error that names the path if that fails.
void write_all(int descriptor, std::span<const std::byte> bytes, const std::filesystem::path& path);

// All that comes.
void write_all(AtomicFile& file, const ReadBytes& read);

}  // namespace heed
