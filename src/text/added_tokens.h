// Tokens that stand beside a vocabulary's own pieces and are found in plain text as they are
// written: "<|endoftext|>", "[MASK]".
//
// Immutable once made; may be used from any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heed {

struct AddedToken {
  int32_t id = 0;
  std::string text;
  bool special = true;  // vanishes in decode()
};

class AddedTokens {
 public:
  AddedTokens() = default;
  // Throws an Error that begins with [where] if a text is empty, not UTF-8 or a duplicate, or if
  // an id is a duplicate.
  AddedTokens(std::vector<AddedToken> tokens, std::string_view where);

  // Cuts a text at the added tokens in it; of several matches the leftmost counts, then the
  // longest. Calls on_text(std::string_view) for the text between them, never with an empty one,
  // and on_token(int32_t id, std::string_view) for each token. Both get views of the text.
  template <typename OnText, typename OnToken>
  void for_each_part(std::string_view text, const OnText& on_text, const OnToken& on_token) const {
    while (!text.empty()) {
      const Match match = first_match(text);
      if (match.at > 0) {
        on_text(text.substr(0, match.at));
      }
      if (match.token != nullptr) {
        const size_t length = match.token->text.size();
        on_token(match.token->id, text.substr(match.at, length));
        text.remove_prefix(length);
      }
      text.remove_prefix(match.at);
    }
  }

  std::optional<int32_t> find(std::string_view text) const;

 private:
  struct Match {
    size_t at = 0;  // the text's length if there is none
    const AddedToken* token = nullptr;
  };
  Match first_match(std::string_view text) const;
  const AddedToken* longest_prefix(std::string_view text) const;

  std::vector<AddedToken> tokens_;     // by text
  std::array<bool, 256> starts_ = {};  // bytes that a token begins with
};

}  // namespace heed
