// Vocabularies that list their tokens: words and characters, as JSON, and token lists from
// elsewhere.
//
// word: text is cut at white space and around every punctuation mark. Where there was no space,
//   the mark carries a joiner: `Er sagte: "Ja!"` is `Er sagte ￭: "￭ Ja ￭! ￭"`. So decode() never
//   guesses; only the kind and the number of spaces are lost, and a joiner in the text, which
//   becomes "■".
// char: every character is a token, also the end of a line. A space is written "▁", and a "▁" in
//   the text becomes a space.
// token: text is tokens with spaces or line ends between, and nothing else is done to it. A token
//   list is of this kind, and so is text that others have cut, such as the Penn Treebank.
// Bytes that are not UTF-8 become U+FFFD in the first two. Text that spells a special token becomes
// UNK, even if it spells "<unk>".
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/config.h"
#include "text/tokenizer.h"

namespace heed {

enum class VocabularyKind { word, character };

class Vocabulary final : public Tokenizer {
 public:
  struct Content {
    VocabularyKind kind = VocabularyKind::word;
    bool lower_case = false;
    bool pre_tokenized = false;  // only with words: the kind "token"
    SpecialIds special;          // -1: there is none; UNK must be there
    std::vector<std::string> tokens;
  };

  // Throws an Error that begins with [where] if the content contradicts itself.
  explicit Vocabulary(Content content, std::string_view where = "vocabulary");

  // From what serialize() wrote.
  static std::shared_ptr<const Vocabulary> from_json(std::string_view json, std::string_view where);
  // A token list from elsewhere, for text that is already tokenised: an id is a line's number,
  // counted from 0. Special
  // tokens are known by their names (<blank> or <pad>, <s>, </s>, <unk>); <unk> is added if absent.
  static std::shared_ptr<const Vocabulary> from_lines(std::vector<std::string> lines,
                                                      std::string_view where);
  static std::shared_ptr<const Vocabulary> train(const std::vector<std::string>& lines,
                                                 const TokenizerTraining& options);

  std::vector<int32_t> encode(std::string_view text) const override;
  Encoding encode_with_offsets(std::string_view text) const override;
  std::string decode(std::span<const int32_t> ids) const override;
  int32_t size() const override { return static_cast<int32_t>(content_.tokens.size()); }
  std::string piece(int32_t id) const override;
  std::optional<int32_t> find(std::string_view piece) const override;
  const SpecialIds& special() const override { return content_.special; }
  std::string_view kind() const override;
  std::string_view file_name() const override { return "vocabulary.json"; }
  std::string serialize() const override;

 private:
  bool is_special(int32_t id) const;
  int32_t id_of(std::string_view token) const;

  Content content_;
  std::unordered_map<std::string_view, int32_t> ids_;  // views of content_.tokens
};

}  // namespace heed
