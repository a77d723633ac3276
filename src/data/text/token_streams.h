// Text for language models that remember what came before: the tokens are cut into as many streams
// as a batch has rows, and row r of each batch continues row r of the batch before.
//
// Each epoch begins at another place, a function of (seed, epoch), so a DataState says where a run
// stands, as in data/batches.h.
#pragma once

#include <cstdint>
#include <vector>

#include "data/text/token_windows.h"

namespace heed {

class TokenStreams {
 public:
  // `options.length` is that of a segment, `options.rows` the number of streams. Fewer tokens than
  // a segment and one more are an Error.
  TokenStreams(std::vector<int32_t> tokens, const WindowOptions& options);

  // The segments at the state, a pure function of it.
  TokenWindows::Window at(const DataState& state) const;
  // Whether they begin streams instead of continuing them.
  static bool begins(const DataState& state) { return state.batch == 0; }

  int64_t epoch_batches() const { return batches_; }
  int64_t rows() const { return rows_; }

 private:
  std::vector<int32_t> tokens_;
  WindowOptions options_;
  int64_t rows_ = 0;
  int64_t stream_ = 0;  // tokens of each
  int64_t batches_ = 0;
};

}  // namespace heed
