// Text to ids and back: the interface of all tokenizers.
//
// encode() never adds START or END; whoever builds a batch does. Every text has ids (at worst
// UNK), and every sequence of ids has a text: special ids vanish in decode(), except UNK. An id
// out of range is an Error.
// Tokenizers are immutable once made; all their const functions may be called from any thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/alignment.h"

namespace heed {

// Ids of the special tokens. Vocabularies trained here use these; imported ones have their own, or
// -1 for one they lack. UNK is there unless every byte has a piece.
struct SpecialIds {
  int32_t pad = 0;
  int32_t start = 1;
  int32_t end = 2;
  int32_t unk = 3;
};

class Tokenizer {
 public:
  virtual ~Tokenizer() = default;
  Tokenizer() = default;
  Tokenizer(const Tokenizer&) = delete;
  Tokenizer& operator=(const Tokenizer&) = delete;

  virtual std::vector<int32_t> encode(std::string_view text) const = 0;
  // The ids of encode(), and for each of them the bytes of the text that it stands for.
  virtual Encoding encode_with_offsets(std::string_view text) const = 0;
  virtual std::string decode(std::span<const int32_t> ids) const = 0;

  virtual int32_t size() const = 0;
  // How an id is written in pictures and n-best lists: "▁the", "<unk>". Throws if out of range.
  virtual std::string piece(int32_t id) const = 0;
  virtual std::optional<int32_t> find(std::string_view piece) const = 0;
  virtual const SpecialIds& special() const = 0;

  // One of tokenizer_kinds().
  virtual std::string_view kind() const = 0;
  // As saved: "tokenizer.model", "vocabulary.json", "tokenizer.json"
  virtual std::string_view file_name() const = 0;
  // The bytes of the file that load_tokenizer() reads.
  virtual std::string serialize() const = 0;
};

// Whether both read and write all texts in the same way.
inline bool same_tokenizer(const Tokenizer& a, const Tokenizer& b) {
  return &a == &b || (a.kind() == b.kind() && a.serialize() == b.serialize());
}

// From a SentencePiece model (*.model), a vocabulary written by serialize() or Hugging Face's
// tokenizer.json (*.json), GPT-2's vocab.json with a merges.txt beside it, or a list of one token a
// line (*.txt): BERT's if "[UNK]" is in it, beside which a tokenizer_config.json may say how text
// is cleaned, else one for text that is tokenised already. Errors name the file and what is wrong.
std::shared_ptr<const Tokenizer> load_tokenizer(const std::filesystem::path& file);

// From a folder that holds one as serialize() writes it, or a model as Hugging Face has it:
// tokenizer.json, or GPT-2's vocab.json and merges.txt, or BERT's vocab.txt.
std::shared_ptr<const Tokenizer> load_tokenizer_folder(const std::filesystem::path& folder);
bool has_tokenizer(const std::filesystem::path& folder);

// What train_tokenizer() makes: unigram and bpe (SentencePiece); byte_bpe (GPT-2's); wordpiece
// (BERT's); word and char; token, for text that already has a space between all tokens.
const std::vector<std::string>& tokenizer_kinds();

struct TokenizerTraining {
  std::string kind = "unigram";     // one of tokenizer_kinds()
  int32_t vocabulary = 8000;        // at most, special tokens included
  float character_coverage = 1.0F;  // unigram and bpe: share of the characters that get a piece
  int32_t least_count = 1;          // word, char and token: rarer ones become UNK
  bool byte_fallback = false;       // unigram and bpe: unknown characters as bytes, never UNK
  // Text is lower-cased first; unigram and bpe fold it, so "ß" becomes "ss", and
  // wordpiece also strips accents. Not for byte_bpe and token, which take text as it is.
  bool lower_case = false;
};
// The same lines give the same tokenizer. For a corpus too large for memory a sample is enough.
// Lines may keep their line ends: byte_bpe learns from these too, and char has a token for them.
std::shared_ptr<const Tokenizer> train_tokenizer(const std::vector<std::string>& lines,
                                                 const TokenizerTraining& options);

}  // namespace heed
