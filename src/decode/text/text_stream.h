// Tokens in, text out as soon as it is certain: whole characters only, and nothing that might yet
// turn out to be the beginning of a stop text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizer.h"

namespace heed {

class TextStream {
 public:
  // The tokenizer must outlive it. `stop` texts end the stream and are not part of it.
  TextStream(const Tokenizer& tokenizer, std::vector<std::string> stop);

  // What the tokens before it were, as context: some tokenizers write a word's first piece
  // differently at the beginning of a text.
  void begin(const std::vector<int32_t>& prompt);
  // The text that became certain.
  std::string push(int32_t id);
  // What was held back.
  std::string finish();
  // Whether a stop text was met; no more text comes.
  bool stopped() const { return stopped_; }

 private:
  std::string release(bool all);

  const Tokenizer* tokenizer_;
  std::vector<std::string> stop_;
  std::vector<int32_t> ids_;
  size_t begin_ = 0;     // ids_ from here on are decoded again, so that they join as they should
  size_t told_ = 0;      // ids_ before it are in the text already
  std::string pending_;  // decoded and not yet released
  bool stopped_ = false;
};

}  // namespace heed
