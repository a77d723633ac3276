// Any bytes are either a tokenizer.json that can be used and written so that it reads as the same,
// or an Error.
#include <cstdlib>
#include <string>

#include "base/error.h"
#include "text/tokenizer_json.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  std::shared_ptr<const heed::Tokenizer> tokenizer;
  try {
    tokenizer = heed::read_tokenizer_json(bytes, "fuzz");
  } catch (const heed::Error&) {
    return 0;
  }
  // From here on nothing may fail.
  const std::vector<int32_t> ids = tokenizer->encode(bytes);
  tokenizer->decode(ids);
  for (int32_t id = 0; id < tokenizer->size(); ++id) {
    if (tokenizer->find(tokenizer->piece(id)) != id) {
      std::abort();
    }
  }
  const auto again = heed::read_tokenizer_json(tokenizer->serialize(), "again");
  if (again->encode(bytes) != ids || again->serialize() != tokenizer->serialize()) {
    std::abort();
  }
  return 0;
}
