#include "data/text/token_windows.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "base/random.h"
#include "data/shuffle.h"
#include "data/text/lines.h"

namespace heed {

std::string read_text(const std::string& file) {
  std::string text;
  LineReader lines(file);
  for (std::string line; lines.next(line);) {
    text += line;
    text += '\n';
  }
  return text;
}

namespace {

void append(std::vector<int32_t>& tokens, const std::vector<int32_t>& more, int32_t end) {
  tokens.insert(tokens.end(), more.begin(), more.end());
  if (end >= 0) {
    tokens.push_back(end);
  }
}

}  // namespace

std::vector<int32_t> read_tokens(const TextSource& source) {
  const int32_t end = source.tokenizer->special().end;
  check(!source.line_end || end >= 0,
        "[text] lines are to end with the END token, but the tokenizer has none");
  std::vector<int32_t> tokens;
  for (const std::string& file : source.files) {
    if (!source.line_end) {
      append(tokens, source.tokenizer->encode(read_text(file)), end);
      continue;
    }
    LineReader lines(file);
    for (std::string line; lines.next(line);) {
      append(tokens, source.tokenizer->encode(line), end);
    }
  }
  return tokens;
}

TokenWindows::TokenWindows(std::vector<int32_t> tokens, const WindowOptions& options)
    : tokens_(std::move(tokens)), options_(options) {
  const auto count = static_cast<int64_t>(tokens_.size());
  check(options.length > 0 && options.rows > 0, "[text] {} windows of {} tokens, expected more",
        options.rows, options.length);
  check(options.targets > 0, "[text] {} targets for each token, expected at least 1",
        options.targets);
  const int64_t needed = options.length + options.targets - 1;
  check(count > needed,
        "[text] there are {} tokens, expected more than the context of {}; give more text "
        "or a smaller model.context",
        count, needed);
  // As many as fit after any offset, so that every epoch has the same number.
  windows_ = std::max<int64_t>(1, (count - needed) / options.length);
  rows_ = std::min(options.rows, windows_);
  batches_ = windows_ / rows_;
}

TokenWindows::Window TokenWindows::at(const DataState& state) const {
  check(state.epoch >= 0 && state.batch >= 0 && state.batch < batches_,
        "[text] the run continues with batch {}, but an epoch has only {}; have the files or the "
        "options changed?",
        state.batch, batches_);
  const RandomStream random{options_.seed, stream_of(fmt::format("windows {}", state.epoch))};
  std::vector<int64_t> order(static_cast<size_t>(windows_));
  std::iota(order.begin(), order.end(), int64_t{0});
  shuffle(order, random);
  const int64_t length = options_.length;
  // Every input needs tokens after it, its targets.
  const int64_t later = options_.targets - 1;
  const int64_t room = static_cast<int64_t>(tokens_.size()) - windows_ * length - later;
  const int64_t most = std::min(room, length);
  const RandomStream place{options_.seed, stream_of(fmt::format("offset {}", state.epoch))};
  const int64_t offset = static_cast<int64_t>(place.bits(0)) % most;
  Window window;
  for (int64_t row = 0; row < rows_; ++row) {
    const int64_t number = order[static_cast<size_t>(state.batch * rows_ + row)];
    const auto begin = tokens_.begin() + offset + number * length;
    window.input.insert(window.input.end(), begin, begin + length);
    window.target.insert(window.target.end(), begin + 1, begin + length + 1 + later);
  }
  window.after = state.batch + 1 < batches_
                     ? DataState{.epoch = state.epoch, .batch = state.batch + 1}
                     : DataState{.epoch = state.epoch + 1};
  return window;
}

}  // namespace heed
