#include "data/text/token_streams.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/random.h"

namespace heed {

TokenStreams::TokenStreams(std::vector<int32_t> tokens, const WindowOptions& options)
    : tokens_(std::move(tokens)), options_(options) {
  const auto count = static_cast<int64_t>(tokens_.size());
  check(options.length > 0 && options.rows > 0,
        "[text] {} streams of segments of {}, expected more", options.rows, options.length);
  check(count > options.length,
        "[text] there are {} tokens, expected more than a segment of {}; give more text or a "
        "smaller data.max_length",
        count, options.length);
  // As much as there is behind any offset, so that every epoch has the same number of batches.
  const int64_t used = std::max(options.length, count - options.length);
  rows_ = std::clamp<int64_t>(used / options.length, 1, options.rows);
  batches_ = used / rows_ / options.length;
  stream_ = batches_ * options.length;
}

TokenWindows::Window TokenStreams::at(const DataState& state) const {
  check(state.epoch >= 0 && state.batch >= 0 && state.batch < batches_,
        "[text] the run continues with batch {}, but an epoch has only {}; have the files or the "
        "options changed?",
        state.batch, batches_);
  // Every input needs a token after it, its target.
  const int64_t room = static_cast<int64_t>(tokens_.size()) - rows_ * stream_;
  const RandomStream place{options_.seed, stream_of(fmt::format("stream {}", state.epoch))};
  const int64_t offset = static_cast<int64_t>(place.bits(0)) % room;
  TokenWindows::Window window;
  for (int64_t row = 0; row < rows_; ++row) {
    const auto begin = tokens_.begin() + offset + row * stream_ + state.batch * options_.length;
    window.input.insert(window.input.end(), begin, begin + options_.length);
    window.target.insert(window.target.end(), begin + 1, begin + options_.length + 1);
  }
  window.after = state.batch + 1 < batches_
                     ? DataState{.epoch = state.epoch, .batch = state.batch + 1}
                     : DataState{.epoch = state.epoch + 1};
  return window;
}

}  // namespace heed
