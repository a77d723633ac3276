#include "text/wordpiece.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/error.h"
#include "text/tokenizer_json.h"
#include "text/unicode.h"

namespace heed {
namespace {

bool longer_than(std::string_view word, int64_t characters) {
  if (static_cast<int64_t>(word.size()) <= characters) {
    return false;
  }
  return std::count_if(word.begin(), word.end(), [](char c) {
           return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;  // not inside a character
         }) > characters;
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  std::string result;
  size_t done = 0;
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, done)) {
    result.append(text, done, at - done);
    result += to;
    done = at + from.size();
  }
  if (done > 0) {
    text = result.append(text, done);
  }
}

void close_gaps(std::string& text) {
  for (const char* mark : {".", "?", "!", ","}) {
    replace_all(text, std::string(" ") + mark, mark);
  }
  replace_all(text, " ' ", "'");
  for (const char* suffix : {"n't", "'m", "'s", "'ve", "'re"}) {
    replace_all(text, std::string(" ") + suffix, suffix);
  }
}

void check_pieces(const WordPiece::Content& content, std::string_view where) {
  check(content.pieces.size() + content.added.size() <=
            static_cast<size_t>(std::numeric_limits<int32_t>::max()),
        "[{}] {} pieces are too many", where, content.pieces.size());
  check(content.longest_word > 0, "[{}] the longest word has {} characters, expected at least 1",
        where, content.longest_word);
  check(!content.continuing.empty(), "[{}] the mark of continuing pieces is empty", where);
  for (size_t i = 0; i < content.pieces.size(); ++i) {
    check(!content.pieces[i].empty(), "[{}] piece {} is empty", where, i);
    check(valid_utf8(content.pieces[i]), "[{}] piece {} is not UTF-8", where, i);
  }
}

}  // namespace

WordPiece::WordPiece(Content content, std::string_view where)
    : content_((check_pieces(content, where), std::move(content))),
      trie_(content_.pieces, where),
      continuing_(trie_.walk(PieceTrie::kRoot, content_.continuing)),
      added_(content_.added, where) {
  hidden_.resize(content_.pieces.size() + sort_added(where));
  const std::optional<int32_t> unknown = trie_.find(content_.unknown);
  check(unknown.has_value(), "[{}] the piece for unknown words, \"{}\", is not in the vocabulary",
        where, content_.unknown);
  special_ = {.pad = find("[PAD]").value_or(-1),
              .start = find("[CLS]").value_or(-1),
              .end = find("[SEP]").value_or(-1),
              .unk = *unknown};
  for (const AddedToken& token : content_.added) {
    hidden_[static_cast<size_t>(token.id)] = token.special && token.id != special_.unk;
  }
}

// Sorts by id, which puts those that are not pieces last; returns how many they are.
size_t WordPiece::sort_added(std::string_view where) {
  const size_t pieces = content_.pieces.size();
  std::vector<AddedToken>& added = content_.added;
  std::sort(added.begin(), added.end(),
            [](const AddedToken& a, const AddedToken& b) { return a.id < b.id; });
  size_t further = 0;
  for (const AddedToken& token : added) {
    check(token.id >= 0, "[{}] added token \"{}\" has id {}, expected at least 0", where,
          token.text, token.id);
    const auto id = static_cast<size_t>(token.id);
    const std::optional<int32_t> piece = trie_.find(token.text);
    check(!piece || *piece == token.id, "[{}] added token \"{}\" has id {}, but is piece {}", where,
          token.text, token.id, piece.value_or(-1));
    check(piece || id >= pieces, "[{}] added token \"{}\" has id {}, which is piece \"{}\"", where,
          token.text, token.id, id < pieces ? content_.pieces[id] : "");
    check(piece || id == pieces + further,
          "[{}] added token \"{}\" has id {}, expected {}, the next that is free", where,
          token.text, token.id, pieces + further);
    further += piece ? 0 : 1;
  }
  return further;
}

const std::string& WordPiece::text_of(int32_t id) const {
  check(id >= 0 && id < size(), "[tokenizer] id {} is out of range, expected 0 to {}", id,
        size() - 1);
  const auto at = static_cast<size_t>(id);
  const size_t pieces = content_.pieces.size();
  return at < pieces ? content_.pieces[at]
                     : content_.added[content_.added.size() - (hidden_.size() - at)].text;
}

std::string WordPiece::piece(int32_t id) const { return text_of(id); }

std::optional<int32_t> WordPiece::find(std::string_view piece) const {
  const std::optional<int32_t> id = trie_.find(piece);
  return id ? id : added_.find(piece);
}

void WordPiece::append_pieces(std::string_view word, std::vector<int32_t>& ids) const {
  const size_t before = ids.size();
  bool known = !longer_than(word, content_.longest_word);
  std::optional<PieceTrie::Node> from = PieceTrie::kRoot;
  while (known && !word.empty()) {
    const PieceTrie::Match match = from ? trie_.longest(*from, word) : PieceTrie::Match{};
    known = match.id >= 0;
    ids.push_back(match.id);
    word.remove_prefix(match.length);
    from = continuing_;
  }
  if (!known) {
    ids.resize(before);
    ids.push_back(special_.unk);
  }
}

std::vector<int32_t> WordPiece::encode(std::string_view text) const {
  std::vector<int32_t> ids;
  ids.reserve(text.size() / 4);
  const std::function<void(std::string_view)> on_word = [&](std::string_view word) {
    append_pieces(word, ids);
  };
  added_.for_each_part(
      text, [&](std::string_view part) { basic_split(part, content_.options, on_word); },
      [&](int32_t id, std::string_view /*token*/) { ids.push_back(id); });
  return ids;
}

void WordPiece::append_ranges(std::span<const TextRange> sources, size_t start,
                              Encoding& result) const {
  const size_t first = result.ranges.size();
  size_t at = 0;
  for (size_t i = first; i < result.ids.size(); ++i) {
    const size_t mark = i == first ? 0 : content_.continuing.size();
    // The last piece ends where the word does, and so does an unknown word's only one.
    const size_t end =
        i + 1 == result.ids.size() ? sources.size() : at + text_of(result.ids[i]).size() - mark;
    result.ranges.push_back({start + sources[at].begin, start + sources[end - 1].end});
    at = end;
  }
}

Encoding WordPiece::encode_with_offsets(std::string_view text) const {
  Encoding result;
  const auto on_text = [&](std::string_view part) {
    const auto start = static_cast<size_t>(part.data() - text.data());
    basic_split_aligned(part, content_.options,
                        [&](std::string_view word, std::span<const TextRange> sources) {
                          append_pieces(word, result.ids);
                          append_ranges(sources, start, result);
                        });
  };
  added_.for_each_part(text, on_text, [&](int32_t id, std::string_view token) {
    const auto start = static_cast<size_t>(token.data() - text.data());
    result.ids.push_back(id);
    result.ranges.push_back({start, start + token.size()});
  });
  return result;
}

std::string WordPiece::decode(std::span<const int32_t> ids) const {
  std::string text;
  bool first = true;
  for (const int32_t id : ids) {
    std::string_view piece = text_of(id);
    if (hidden_[static_cast<size_t>(id)]) {
      continue;
    }
    if (!first && piece.starts_with(content_.continuing)) {
      piece.remove_prefix(content_.continuing.size());
    } else if (!first) {
      text += ' ';
    }
    text += piece;
    first = false;
  }
  close_gaps(text);
  return text;
}

std::string WordPiece::serialize() const { return write_tokenizer_json(*this); }

std::shared_ptr<const WordPiece> WordPiece::from_vocab(std::string_view vocab_txt,
                                                       const WordPieceOptions& options,
                                                       std::string_view where) {
  Content content{.pieces = {}, .added = {}, .options = options};
  while (!vocab_txt.empty()) {
    const size_t end = std::min(vocab_txt.find('\n'), vocab_txt.size());
    std::string_view line = vocab_txt.substr(0, end);
    vocab_txt.remove_prefix(std::min(end + 1, vocab_txt.size()));
    if (line.ends_with('\r')) {
      line.remove_suffix(1);
    }
    content.pieces.emplace_back(line);
  }
  for (size_t i = 0; i < content.pieces.size(); ++i) {
    const std::string& piece = content.pieces[i];
    if (std::find(kBertTokens.begin(), kBertTokens.end(), piece) != kBertTokens.end()) {
      content.added.push_back({.id = static_cast<int32_t>(i), .text = piece, .special = true});
    }
  }
  return std::make_shared<WordPiece>(std::move(content), where);
}

std::string WordPiece::vocab_txt() const {
  std::string text;
  for (int32_t id = 0; id < size(); ++id) {
    text += text_of(id) + "\n";
  }
  return text;
}

}  // namespace heed
