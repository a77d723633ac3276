// Any bytes are either members with safe names and the bytes that they promise, or an Error.
#include <array>
#include <cstdlib>
#include <string>

#include "base/error.h"
#include "formats/zip.h"

namespace {

void require(bool holds) {
  if (!holds) {
    std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    const heed::ZipFile zip(std::as_bytes(std::span(data, size)), "fuzz");
    for (const heed::ZipFile::Member& member : zip.members()) {
      require(member.name.front() != '/' &&
              ("/" + member.name + "/").find("/../") == std::string::npos);
      const heed::ReadBytes read = zip.open(member);
      int64_t found = 0;
      std::array<std::byte, 1000> buffer;
      while (const size_t count = read(buffer)) {
        found += static_cast<int64_t>(count);
        require(found <= member.size);
      }
      require(found == member.size);
    }
  } catch (const heed::Error&) {
  }
  return 0;
}
