// Any bytes are either a CTranslate2 model or an Error.
#include "base/error.h"
#include "formats/ctranslate2.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    heed::parse_ctranslate2(std::as_bytes(std::span(data, size)), "fuzz");
  } catch (const heed::Error&) {
    return 0;
  }
  return 0;
}
