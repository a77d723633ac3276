// Any bytes are either a safetensors file whose tensors can be read to the last byte, or an Error.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>

#include "base/error.h"
#include "formats/safetensors.h"

namespace {

void load_all(std::span<const std::byte> bytes) {
  static const int file = ::memfd_create("fuzz", 0);
  if (::ftruncate(file, static_cast<off_t>(bytes.size())) != 0 ||
      ::pwrite(file, bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    std::abort();
  }
  const heed::SafetensorsFile tensors("/proc/self/fd/" + std::to_string(file));
  for (const heed::TensorEntry& entry : tensors.entries()) {
    try {
      tensors.load(entry);
    } catch (const heed::Error&) {  // a dtype or a rank that only files have
      continue;
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  try {
    // First in memory that ends with the last byte, where reading on is noticed.
    size_t covered = 0;
    for (const heed::TensorEntry& entry : heed::parse_safetensors(bytes, "fuzz").entries) {
      covered += entry.bytes.size();
    }
    if (covered > size) {
      std::abort();
    }
    load_all(bytes);
  } catch (const heed::Error&) {
    return 0;
  }
  return 0;
}
