// Any bytes are either members with safe names and the bytes that they promise, or an Error.
#include <cstdlib>
#include <string>
#include <vector>

#include "base/error.h"
#include "formats/tar.h"

namespace {

void require(bool holds) {
  if (!holds) {
    std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr int64_t kLimit = 1 << 20;
  auto rest = std::as_bytes(std::span(data, size));
  const auto read = [&](std::span<std::byte> bytes) {
    const size_t count = std::min(bytes.size(), rest.size());
    std::copy_n(rest.begin(), count, bytes.begin());
    rest = rest.subspan(count);
    return count;
  };
  int64_t total = 0;
  try {
    heed::TarReader tar(read, "fuzz", kLimit);
    while (const auto member = tar.next()) {
      require(member->name.front() != '/' &&
              ("/" + member->name + "/").find("/../") == std::string::npos);
      int64_t found = 0;
      std::array<std::byte, 100> buffer;
      while (const size_t count = tar.read(buffer)) {
        found += static_cast<int64_t>(count);
      }
      require(found == member->size);
      total += found;
    }
  } catch (const heed::Error&) {
  }
  require(total <= kLimit && total <= static_cast<int64_t>(size));
  return 0;
}
