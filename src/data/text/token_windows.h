// Text for language models: files become one long sequence of tokens, which is cut into windows.
//
// Each epoch cuts at another place and shuffles the windows, both functions of (seed, epoch), so a
// DataState says where a run stands, as in data/batches.h.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "data/batches.h"
#include "text/tokenizer.h"

namespace heed {

// The content of a file, plain or gzip, line ends included.
std::string read_text(const std::string& file);

struct TextSource {
  std::vector<std::string> files;
  std::shared_ptr<const Tokenizer> tokenizer;
  // END replaces every line end; otherwise it follows every file, if the tokenizer has one.
  bool line_end = false;
};
std::vector<int32_t> read_tokens(const TextSource& source);

struct WindowOptions {
  int64_t length = 1024;  // of a window
  int64_t rows = 8;       // windows of a batch
  int64_t targets = 1;    // tokens after each input that are to be predicted
  uint64_t seed = 1;
};

class TokenWindows {
 public:
  // Fewer tokens than a window and one more are an Error.
  TokenWindows(std::vector<int32_t> tokens, const WindowOptions& options);

  struct Window {
    std::vector<int32_t> input;  // [rows, length]
    // [rows, length + targets - 1]: the token after each input, and what follows the last one.
    std::vector<int32_t> target;
    DataState after;
  };
  // The batch at the state, a pure function of it.
  Window at(const DataState& state) const;

  int64_t epoch_batches() const { return batches_; }
  int64_t rows() const { return rows_; }

 private:
  std::vector<int32_t> tokens_;
  WindowOptions options_;
  int64_t windows_ = 0;
  int64_t rows_ = 0;
  int64_t batches_ = 0;
};

}  // namespace heed
