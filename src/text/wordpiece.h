// WordPiece, BERT's tokenizer: words are cut as basic_split does and then into the longest pieces
// that the vocabulary has, from left to right; "##" marks a piece that continues a word. A word
// that cannot be cut, or is too long, is unknown as a whole.
//
// Added tokens such as [MASK] are found in the text as they are written, before anything else
// happens.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/added_tokens.h"
#include "text/basic_split.h"
#include "text/piece_trie.h"
#include "text/tokenizer.h"

namespace heed {

using WordPieceOptions = BasicSplitOptions;

// The special tokens of BERT, in the order that trained vocabularies have them.
inline constexpr std::array<std::string_view, 5> kBertTokens = {"[PAD]", "[UNK]", "[CLS]", "[SEP]",
                                                                "[MASK]"};

class WordPiece final : public Tokenizer {
 public:
  struct Content {
    std::vector<std::string> pieces;  // by id
    // Either pieces, under their ids, or further tokens, whose ids follow those of the pieces.
    std::vector<AddedToken> added;
    WordPieceOptions options;
    std::string continuing = "##";
    std::string unknown = "[UNK]";  // must be a piece
    int64_t longest_word = 100;     // in characters
  };

  // Throws an Error that begins with [where] if the content contradicts itself.
  WordPiece(Content content, std::string_view where);
  // One piece a line. [PAD] [UNK] [CLS] [SEP] [MASK] become added tokens where present.
  static std::shared_ptr<const WordPiece> from_vocab(std::string_view vocab_txt,
                                                     const WordPieceOptions& options,
                                                     std::string_view where);

  std::string vocab_txt() const;                       // added tokens that are not pieces come last
  const Content& content() const { return content_; }  // added tokens by id

  std::vector<int32_t> encode(std::string_view text) const override;
  Encoding encode_with_offsets(std::string_view text) const override;
  // Also closes the gaps before ".", "?", "!", "," and around "'", as Hugging Face's decode does.
  std::string decode(std::span<const int32_t> ids) const override;
  int32_t size() const override { return static_cast<int32_t>(hidden_.size()); }
  std::string piece(int32_t id) const override;
  std::optional<int32_t> find(std::string_view piece) const override;
  const SpecialIds& special() const override { return special_; }
  std::string_view kind() const override { return "wordpiece"; }
  std::string_view file_name() const override { return "tokenizer.json"; }
  std::string serialize() const override;

 private:
  size_t sort_added(std::string_view where);
  void append_pieces(std::string_view word, std::vector<int32_t>& ids) const;
  // Appends the ranges of a word's pieces: of all ids that have none yet.
  void append_ranges(std::span<const TextRange> sources, size_t start, Encoding& result) const;
  const std::string& text_of(int32_t id) const;

  Content content_;
  PieceTrie trie_;
  std::optional<PieceTrie::Node> continuing_;  // pieces that go on; nothing: there are none
  AddedTokens added_;
  std::vector<bool> hidden_;  // by id: special tokens other than UNK
  SpecialIds special_;
};

}  // namespace heed
