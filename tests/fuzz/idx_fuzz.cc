// Any bytes are either one whole idx array of the asked rank or an Error.
#include <cstdlib>

#include "base/error.h"
#include "formats/idx.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  for (const size_t rank : {1, 3}) {
    try {
      const heed::IdxArray array = heed::decode_idx(std::as_bytes(std::span(data, size)), rank);
      size_t count = 1;
      for (const int64_t extent : array.extents) {
        count *= static_cast<size_t>(extent);
      }
      if (array.extents.size() != rank || array.values.size() != count ||
          size != 4 * (rank + 1) + count) {
        std::abort();
      }
    } catch (const heed::Error&) {
      continue;
    }
  }
  return 0;
}
