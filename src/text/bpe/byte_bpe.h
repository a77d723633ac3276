// GPT-2's tokenizer: byte-pair encoding that begins with the 256 bytes, so nothing is unknown.
//
// encode() cuts text into words (gpt2_split.h) and merges inside each; added tokens are found in
// the text as they are written. decode(encode(x)) returns the bytes of x, whatever they are:
// only a special token that x spells out vanishes, and add_prefix_space leaves its space.
// Immutable; all const functions may be called from any thread.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/added_tokens.h"
#include "text/bpe/bpe_merges.h"
#include "text/piece_table.h"
#include "text/tokenizer.h"

namespace heed {

inline constexpr std::string_view kEndOfText = "<|endoftext|>";

class ByteBpe final : public Tokenizer {
 public:
  struct Content {
    std::vector<std::string> pieces;  // by id, in GPT-2's byte alphabet: "Ġthe"
    std::vector<std::pair<std::string, std::string>> merges;  // in order of rank
    // Either pieces, under their ids, or new tokens whose ids follow the last piece's; these become
    // pieces too.
    std::vector<AddedToken> added;
    bool add_prefix_space = false;  // a text that does not begin with " " gets one
  };

  // Throws an Error that begins with [where] if the content contradicts itself.
  ByteBpe(Content content, std::string_view where) : ByteBpe(std::move(content), where, {}) {}

  // From vocab.json (encoder.json) and merges.txt (vocab.bpe), as OpenAI and Hugging Face write
  // them. "<|endoftext|>" becomes an added token if the vocabulary has it.
  static std::shared_ptr<const ByteBpe> from_gpt2(std::string_view vocab_json,
                                                  std::string_view merges_txt,
                                                  std::string_view where);
  std::string vocab_json() const;
  std::string merges_txt() const;

  const Content& content() const { return content_; }  // added tokens are among the pieces

  std::vector<int32_t> encode(std::string_view text) const override;
  Encoding encode_with_offsets(std::string_view text) const override;
  std::string decode(std::span<const int32_t> ids) const override;
  int32_t size() const override { return static_cast<int32_t>(content_.pieces.size()); }
  std::string piece(int32_t id) const override;
  std::optional<int32_t> find(std::string_view piece) const override;
  // "<|endoftext|>" begins and ends a text; the others are -1.
  const SpecialIds& special() const override { return special_; }
  std::string_view kind() const override { return "byte_bpe"; }
  std::string_view file_name() const override { return "tokenizer.json"; }
  std::string serialize() const override;

 private:
  // `merge_lines` has the line number of each merge, for messages; empty if they do not come from
  // a file of lines.
  ByteBpe(Content content, std::string_view where, std::span<const int64_t> merge_lines);

  void append_added(std::string_view where);
  void fill_pieces(std::string_view where);
  void fill_merges(std::string_view where, std::span<const int64_t> merge_lines);

  void encode_plain(std::string_view text, std::vector<int32_t>& ids) const;
  // Puts a space in front if the text gets one, and encodes; returns how many bytes were put there.
  size_t encode_part(std::string_view text, std::vector<int32_t>& ids) const;
  void merge_word(std::string_view word, std::vector<int32_t>& ids) const;
  bool is_whole(int32_t id) const;
  void check_id(int32_t id) const;

  Content content_;
  AddedTokens added_;
  SpecialIds special_{.pad = -1, .start = -1, .end = -1, .unk = -1};
  PieceTable pieces_;  // their bytes
  // By id: what decode() makes of it.
  enum class Role : uint8_t { bytes, text, nothing };
  std::vector<Role> roles_;
  std::array<int32_t, 256> byte_ids_ = {};
  BpeMerges merges_;
  // By id: whether merging a word of just these bytes yields this piece, so that merging can be
  // skipped. Not every piece does, since another merge of a lower rank may get in between. Computed
  // on first use, by any thread: all get the same answer, and loading stays fast.
  enum class Whole : uint8_t { unknown, yes, no };
  mutable std::vector<std::atomic<Whole>> whole_;
};

}  // namespace heed
