// Any bytes are either records that are written back as they were, or an Error.
#include <cstdlib>
#include <string>

#include "base/error.h"
#include "formats/cifar.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  heed::CifarImages images;
  try {
    heed::decode_cifar(std::as_bytes(std::span(data, size)), images);
  } catch (const heed::Error&) {
    return 0;
  }
  if (heed::encode_cifar(images) != std::string(reinterpret_cast<const char*>(data), size)) {
    std::abort();
  }
  return 0;
}
