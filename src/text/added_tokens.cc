#include "text/added_tokens.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "text/unicode.h"

namespace heed {
namespace {

uint8_t byte_at(std::string_view text, size_t at) { return static_cast<uint8_t>(text[at]); }

}  // namespace

AddedTokens::AddedTokens(std::vector<AddedToken> tokens, std::string_view where)
    : tokens_(std::move(tokens)) {
  std::sort(tokens_.begin(), tokens_.end(),
            [](const AddedToken& a, const AddedToken& b) { return a.text < b.text; });
  std::unordered_map<int32_t, std::string_view> texts;
  for (size_t i = 0; i < tokens_.size(); ++i) {
    const AddedToken& token = tokens_[i];
    check(!token.text.empty(), "[{}] added token {} is empty", where, token.id);
    check(valid_utf8(token.text), "[{}] added token {} is not UTF-8", where, token.id);
    check(i == 0 || token.text != tokens_[i - 1].text,
          "[{}] added tokens {} and {} are both \"{}\"", where, tokens_[i > 0 ? i - 1 : 0].id,
          token.id, token.text);
    const auto [entry, fresh] = texts.emplace(token.id, token.text);
    check(fresh, "[{}] added tokens \"{}\" and \"{}\" both have id {}", where, entry->second,
          token.text, token.id);
    starts_[byte_at(token.text, 0)] = true;
  }
}

// Tokens that share their first bytes are neighbours: each byte narrows a range of them, and the
// one that ends there is the range's first.
const AddedToken* AddedTokens::longest_prefix(std::string_view text) const {
  const AddedToken* longest = nullptr;
  auto begin = tokens_.begin();
  auto end = tokens_.end();
  for (size_t length = 0; length < text.size(); ++length) {
    const uint8_t next = byte_at(text, length);
    begin = std::partition_point(begin, end, [&](const AddedToken& token) {
      return token.text.size() <= length || byte_at(token.text, length) < next;
    });
    end = std::partition_point(
        begin, end, [&](const AddedToken& token) { return byte_at(token.text, length) == next; });
    if (begin == end) {
      break;
    }
    if (begin->text.size() == length + 1) {
      longest = &*begin;
    }
  }
  return longest;
}

AddedTokens::Match AddedTokens::first_match(std::string_view text) const {
  if (!tokens_.empty()) {
    for (size_t at = 0; at < text.size(); ++at) {
      if (starts_[byte_at(text, at)]) {
        if (const AddedToken* token = longest_prefix(text.substr(at)); token != nullptr) {
          return {at, token};
        }
      }
    }
  }
  return {text.size(), nullptr};
}

std::optional<int32_t> AddedTokens::find(std::string_view text) const {
  const AddedToken* token = longest_prefix(text);
  return token != nullptr && token->text.size() == text.size() ? std::optional(token->id)
                                                               : std::nullopt;
}

}  // namespace heed
