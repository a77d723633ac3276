#include "decode/text/text_stream.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "text/unicode.h"

namespace heed {
namespace {

// Whether the end begins a character that is not complete: as bytes, or as what some tokenizers
// write for bytes that are no character yet.
bool unfinished(std::string_view text) {
  if (text.ends_with("\xEF\xBF\xBD")) {  // U+FFFD
    return true;
  }
  for (size_t back = 1; back <= 3 && back <= text.size(); ++back) {
    const auto byte = static_cast<unsigned char>(text[text.size() - back]);
    if ((byte & 0xC0U) == 0x80U) {
      continue;  // goes on
    }
    const size_t needed = byte >= 0xF0U ? 4 : byte >= 0xE0U ? 3 : byte >= 0xC0U ? 2 : 1;
    return needed > back;
  }
  return false;
}

// Bytes that are no characters become U+FFFD: what reads the stream may want UTF-8.
std::string repaired(std::string text) {
  if (valid_utf8(text)) {
    return text;
  }
  std::string result;
  for (const CodePoint& c : CodePoints(text)) {
    result += to_utf8(c.value);
  }
  return result;
}

}  // namespace

TextStream::TextStream(const Tokenizer& tokenizer, std::vector<std::string> stop)
    : tokenizer_(&tokenizer), stop_(std::move(stop)) {
  for (const std::string& text : stop_) {
    check(!text.empty(), "[generate] a stop text is empty");
  }
}

void TextStream::begin(const std::vector<int32_t>& prompt) {
  constexpr size_t kContext = 4;
  const size_t kept = std::min(prompt.size(), kContext);
  ids_.assign(prompt.end() - static_cast<int64_t>(kept), prompt.end());
  begin_ = 0;
  told_ = ids_.size();
}

std::string TextStream::push(int32_t id) {
  if (stopped_) {
    return "";
  }
  ids_.push_back(id);
  const auto decode = [&](size_t end) {
    return tokenizer_->decode(std::span(ids_).subspan(begin_, end - begin_));
  };
  const std::string before = decode(told_);
  const std::string now = decode(ids_.size());
  if (now.size() <= before.size() || unfinished(now)) {
    return "";
  }
  pending_ += repaired(now.substr(before.size()));
  begin_ = told_;
  told_ = ids_.size();
  return release(false);
}

std::string TextStream::finish() {
  if (stopped_) {
    return "";
  }
  const std::span all(ids_);
  const std::string before = tokenizer_->decode(all.subspan(begin_, told_ - begin_));
  const std::string now = tokenizer_->decode(all.subspan(begin_));
  pending_ += now.size() > before.size() ? repaired(now.substr(before.size())) : "";
  told_ = ids_.size();
  return release(true);
}

std::string TextStream::release(bool all) {
  size_t end = std::string::npos;
  for (const std::string& stop : stop_) {
    end = std::min(end, pending_.find(stop));
  }
  if (end != std::string::npos) {
    stopped_ = true;
    return std::exchange(pending_, "").substr(0, end);
  }
  size_t held = 0;
  for (const std::string& stop : stop_) {
    for (size_t n = std::min(stop.size() - 1, pending_.size()); !all && n > held; --n) {
      if (pending_.ends_with(std::string_view(stop).substr(0, n))) {
        held = n;
      }
    }
  }
  std::string released = pending_.substr(0, pending_.size() - held);
  pending_.erase(0, released.size());
  return released;
}

}  // namespace heed
