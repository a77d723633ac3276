// The only file that knows SentencePiece.
#include "text/sentencepiece.h"

#include <sentencepiece_processor.h>
#include <sentencepiece_trainer.h>

#include <algorithm>
#include <cstddef>
#include <exception>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "text/model_proto.h"
#include "text/unicode.h"
#include "text/unicode_class.h"

namespace heed {
namespace {

using sentencepiece::ImmutableSentencePieceText;
using sentencepiece::util::Status;
using Piece = sentencepiece::ImmutableSentencePieceText_ImmutableSentencePiece;

// Whether a part of a text is already what the library makes of it.
bool is_normal(std::string_view part, std::string_view normal) {
  if (part.starts_with(' ') && normal.starts_with(kSpaceMark)) {
    part.remove_prefix(1);
    normal.remove_prefix(kSpaceMark.size());
  }
  return part == normal;
}

// Where the character at a place ends, including the accents after it.
size_t end_of_character(std::string_view text, size_t at) {
  bool first = true;
  for (const CodePoint& c : CodePoints(text.substr(at))) {
    if (!first && !is_combining(c.value)) {
      break;
    }
    at += c.bytes.size();
    first = false;
  }
  return at;
}

class SentencePiece final : public Tokenizer {
 public:
  SentencePiece(std::string bytes, std::string_view where)
      : bytes_(std::move(bytes)), kind_(inspect_sentencepiece(bytes_, where)) {
    Status status;
    try {
      status = processor_.LoadFromSerializedProto(bytes_);
    } catch (const std::exception& error) {  // from building its trie
      fail("[{}] SentencePiece cannot use the model: {}", where, error.what());
    }
    check(status.ok(), "[{}] SentencePiece cannot use the model: {}", where, status.ToString());
    special_ = {.pad = special_id(processor_.pad_id()),
                .start = special_id(processor_.bos_id()),
                .end = special_id(processor_.eos_id()),
                .unk = special_id(processor_.unk_id())};
    check(special_.unk >= 0, "[{}] the model has no piece for unknown characters", where);
  }

  std::vector<int32_t> encode(std::string_view text) const override {
    std::vector<int> ids;
    const Status status = processor_.Encode(text, &ids);
    check(status.ok(), "[tokenizer] SentencePiece cannot encode: {}", status.ToString());
    return ids;
  }

  Encoding encode_with_offsets(std::string_view text) const override {
    const ImmutableSentencePieceText pieces = encode_pieces(text);
    Encoding result;
    for (const Piece& piece : pieces.pieces()) {
      result.ids.push_back(static_cast<int32_t>(piece.id()));
      result.ranges.push_back({piece.begin(), piece.end()});
    }
    widen(text, pieces.pieces(), result.ranges);
    return result;
  }

  std::string decode(std::span<const int32_t> ids) const override {
    for (const int32_t id : ids) {
      check_id(id);
    }
    std::string text;
    const Status status = processor_.Decode(std::vector<int>(ids.begin(), ids.end()), &text);
    check(status.ok(), "[tokenizer] SentencePiece cannot decode: {}", status.ToString());
    return text;
  }

  int32_t size() const override { return processor_.GetPieceSize(); }

  std::string piece(int32_t id) const override {
    check_id(id);
    return processor_.IdToPiece(id);
  }

  std::optional<int32_t> find(std::string_view piece) const override {
    const int id = processor_.PieceToId(piece);  // UNK for pieces it does not know
    return processor_.IdToPiece(id) == piece ? std::optional<int32_t>(id) : std::nullopt;
  }

  const SpecialIds& special() const override { return special_; }
  std::string_view kind() const override { return kind_; }
  std::string_view file_name() const override { return "tokenizer.model"; }
  std::string serialize() const override { return bytes_; }

 private:
  int32_t special_id(int id) const { return id >= 0 && id < size() ? id : -1; }

  ImmutableSentencePieceText encode_pieces(std::string_view text) const {
    ImmutableSentencePieceText pieces;
    const Status status = processor_.Encode(text, pieces.mutable_proto());
    check(status.ok(), "[tokenizer] SentencePiece cannot encode: {}", status.ToString());
    return pieces;
  }

  // How many bytes of normalised text a piece is.
  size_t length_of(const Piece& piece) const {
    return processor_.IsByte(static_cast<int>(piece.id())) ? 1 : piece.piece().size();
  }

  size_t normalised_length(const std::string& text) const {
    size_t length = 0;
    const ImmutableSentencePieceText pieces = encode_pieces(text);
    for (const Piece& piece : pieces.pieces()) {
      length += length_of(piece);
    }
    return length;
  }

  // Bytes of the space that the library puts in front of a text, in normal form.
  size_t dummy_prefix() const {
    const ImmutableSentencePieceText digit = encode_pieces("0");
    const bool none = digit.pieces_size() == 0 || digit.pieces(0).piece().starts_with('0');
    return none ? 0 : normalised_length("0") - 1;
  }

  // If one character becomes several and a piece ends among them, the library ends the piece's
  // range before the character: "…" as "." and ".." gives an empty range and then the whole. Here
  // the first piece gets the whole character, too. A piece that is longer than the normal form of
  // its range has borrowed the rest from the next character.
  void widen(std::string_view text, const std::vector<Piece>& pieces,
             std::vector<TextRange>& ranges) const {
    // A "0" on both sides keeps a part from what the library does to the ends of texts.
    const size_t frame = normalised_length("00");
    size_t prefix = dummy_prefix();  // is in no range
    size_t borrowed = 0;
    for (size_t i = 0; i + 1 < pieces.size(); ++i) {
      const std::string_view part = text.substr(ranges[i].begin, ranges[i].end - ranges[i].begin);
      size_t length = length_of(pieces[i]);
      const size_t skipped = std::min(prefix, length);
      prefix -= skipped;
      length += borrowed - skipped;
      const bool normal =
          borrowed == 0 && is_normal(part, std::string_view(pieces[i].piece()).substr(skipped));
      const size_t made =
          normal ? length
                 : std::max(normalised_length("0" + std::string(part) + "0"), frame) - frame;
      borrowed = length > made ? length - made : 0;
      if (borrowed > 0) {
        const auto later =
            std::find_if(ranges.begin() + static_cast<std::ptrdiff_t>(i) + 1, ranges.end(),
                         [&](const TextRange& range) { return range.end > ranges[i].end; });
        const size_t most = later == ranges.end() ? ranges[i].end : later->end;
        ranges[i].end = std::min(end_of_character(text, ranges[i].end), most);
      }
    }
  }

  void check_id(int32_t id) const {
    check(id >= 0 && id < size(), "[tokenizer] id {} is out of range, expected 0 to {}", id,
          size() - 1);
  }

  std::string bytes_;
  std::string kind_;
  sentencepiece::SentencePieceProcessor processor_;
  SpecialIds special_;
};

// Whether anything is left of the line once the library has normalised it.
bool has_content(std::string_view line) {
  for (const CodePoint& c : CodePoints(line)) {
    const bool becomes_space = c.value == kReplacementCharacter || c.value == U'▁';
    if (!becomes_space && (is_letter(c.value) || is_punctuation(c.value))) {
      return true;
    }
  }
  return false;
}

// Skips lines without content: the library ends the process if all lines turn out to be empty.
class LineIterator final : public sentencepiece::SentenceIterator {
 public:
  explicit LineIterator(const std::vector<std::string>& lines) : lines_(lines) { skip_empty(); }
  bool done() const override { return next_ == lines_.size(); }
  void Next() override {
    ++next_;
    skip_empty();
  }
  const std::string& value() const override { return lines_[next_]; }
  Status status() const override { return {}; }

 private:
  void skip_empty() {
    while (next_ < lines_.size() && !has_content(lines_[next_])) {
      ++next_;
    }
  }

  const std::vector<std::string>& lines_;
  size_t next_ = 0;
};

// Threads divide the lines by count and add up in order: the result depends on the number of
// threads but not on their speed, so the number is fixed.
constexpr int kThreads = 4;

std::unordered_map<std::string, std::string> arguments(const TokenizerTraining& options) {
  const SpecialIds ids;
  return {{"model_type", options.kind},
          {"vocab_size", std::to_string(options.vocabulary)},
          // A small corpus gives a small vocabulary instead of an error.
          {"hard_vocab_limit", "false"},
          {"character_coverage", fmt::format("{}", options.character_coverage)},
          {"byte_fallback", options.byte_fallback ? "true" : "false"},
          {"normalization_rule_name", options.lower_case ? "nmt_nfkc_cf" : "nmt_nfkc"},
          {"pad_id", std::to_string(ids.pad)},
          {"bos_id", std::to_string(ids.start)},
          {"eos_id", std::to_string(ids.end)},
          {"unk_id", std::to_string(ids.unk)},
          // Longer lines, by default those over 4,192 bytes, are silently left out.
          {"max_sentence_length", std::to_string(1 << 20)},
          {"num_threads", std::to_string(kThreads)},
          {"minloglevel", "4"}};
}

// The library's "Internal: file(line) [condition] reason", with advice for the likely ones.
std::string reason(const std::string& message) {
  if (message.find("sentences_.empty()") != std::string::npos) {
    return "all lines are empty";
  }
  if (message.find("smaller than required_chars") != std::string::npos) {
    return "every character needs a piece: take a larger vocabulary, or a character coverage "
           "below 1 (0.9995, say), in: " +
           message;
  }
  return message;
}

}  // namespace

std::shared_ptr<const Tokenizer> load_sentencepiece(std::string bytes, std::string_view where) {
  return std::make_shared<SentencePiece>(std::move(bytes), where);
}

std::shared_ptr<const Tokenizer> train_sentencepiece(const std::vector<std::string>& lines,
                                                     const TokenizerTraining& options) {
  LineIterator iterator(lines);
  std::string model;
  std::string message;
  try {
    const Status status =
        sentencepiece::SentencePieceTrainer::Train(arguments(options), &iterator, &model);
    message = status.ok() ? "" : status.ToString();
  } catch (const std::exception& error) {
    message = error.what();
  }
  check(message.empty(),
        "[tokenizer] SentencePiece cannot train {} with {} pieces from {} lines: {}", options.kind,
        options.vocabulary, lines.size(), reason(message));
  return load_sentencepiece(std::move(model), "tokenizer");
}

}  // namespace heed
