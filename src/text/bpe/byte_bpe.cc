#include "text/bpe/byte_bpe.h"

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "text/bpe/byte_alphabet.h"
#include "text/bpe/gpt2_split.h"
#include "text/tokenizer_json.h"

namespace heed {

ByteBpe::ByteBpe(Content content, std::string_view where, std::span<const int64_t> merge_lines)
    : content_(std::move(content)), added_(content_.added, where) {
  append_added(where);
  fill_pieces(where);
  fill_merges(where, merge_lines);
  whole_ = std::vector<std::atomic<Whole>>(content_.pieces.size());
  if (const std::optional<int32_t> end = added_.find(kEndOfText)) {
    special_.start = *end;
    special_.end = *end;
  }
}

void ByteBpe::append_added(std::string_view where) {
  std::vector<std::string>& pieces = content_.pieces;
  std::sort(content_.added.begin(), content_.added.end(),
            [](const AddedToken& a, const AddedToken& b) { return a.id < b.id; });
  for (const AddedToken& token : content_.added) {
    check(token.id >= 0 && static_cast<size_t>(token.id) <= pieces.size(),
          "[{}] added token \"{}\" has id {}, expected 0 to {}", where, token.text, token.id,
          pieces.size());
    if (static_cast<size_t>(token.id) == pieces.size()) {
      pieces.push_back(token.text);
    }
    const std::string& piece = pieces[static_cast<size_t>(token.id)];
    check(piece == token.text, "[{}] added token {} is \"{}\", but piece {} is \"{}\"", where,
          token.id, token.text, token.id, piece);
  }
  check(pieces.size() <= static_cast<size_t>(std::numeric_limits<int32_t>::max()),
        "[{}] {} pieces are too many", where, pieces.size());
}

void ByteBpe::fill_pieces(std::string_view where) {
  size_t bytes = 0;
  for (const std::string& piece : content_.pieces) {
    bytes += piece.size();
  }
  pieces_.reserve(content_.pieces.size(), bytes);
  roles_.resize(content_.pieces.size(), Role::bytes);
  for (const AddedToken& token : content_.added) {
    roles_[static_cast<size_t>(token.id)] = token.special ? Role::nothing : Role::text;
  }
  for (int32_t id = 0; id < size(); ++id) {
    const std::string& piece = content_.pieces[static_cast<size_t>(id)];
    check(!piece.empty(), "[{}] piece {} is empty", where, id);
    const std::optional<std::string> plain = from_byte_alphabet(piece);
    check(plain || roles_[static_cast<size_t>(id)] != Role::bytes,
          "[{}] piece {} is \"{}\", which is neither an added token nor in GPT-2's byte alphabet",
          where, id, piece);
    const int32_t same = plain ? pieces_.add(*plain) : pieces_.add(piece, /*searchable=*/false);
    check(same < 0, "[{}] pieces {} and {} are both \"{}\"", where, same, id, piece);
  }
  for (const uint8_t byte : byte_alphabet_order()) {
    const std::string text(1, static_cast<char>(byte));
    byte_ids_[byte] = pieces_.find(text);
    check(byte_ids_[byte] >= 0, "[{}] byte 0x{:02X} has no piece, expected \"{}\"", where, byte,
          to_byte_alphabet(text));
  }
}

void ByteBpe::fill_merges(std::string_view where, std::span<const int64_t> merge_lines) {
  merges_.reserve(content_.merges.size());
  std::string bytes;
  for (size_t i = 0; i < content_.merges.size(); ++i) {
    const std::string& left = content_.merges[i].first;
    const std::string& right = content_.merges[i].second;
    const auto place = [&] {
      return merge_lines.empty() ? fmt::format("merge {}", i + 1)
                                 : fmt::format("line {}", merge_lines[i]);
    };
    const auto id_of = [&](const std::string& part) {
      const std::optional<std::string> plain = from_byte_alphabet(part);
      const int32_t id = plain ? pieces_.find(*plain) : -1;
      if (id < 0) {
        fail("[{}] {} merges \"{}\" and \"{}\", but \"{}\" is not a piece", where, place(), left,
             right, part);
      }
      return id;
    };
    const int32_t left_id = id_of(left);
    const int32_t right_id = id_of(right);
    bytes.assign(pieces_.bytes_of(left_id)).append(pieces_.bytes_of(right_id));
    const int32_t merged = pieces_.find(bytes);
    if (merged < 0) {
      fail("[{}] {} merges \"{}\" and \"{}\", but \"{}{}\" is not a piece", where, place(), left,
           right, left, right);
    }
    if (!merges_.add(left_id, right_id, merged)) {
      fail("[{}] {} merges \"{}\" and \"{}\", as an earlier one does", where, place(), left, right);
    }
  }
}

void ByteBpe::merge_word(std::string_view word, std::vector<int32_t>& ids) const {
  const size_t first = ids.size();
  for (const char byte : word) {
    ids.push_back(byte_ids_[static_cast<uint8_t>(byte)]);
  }
  ids.resize(first + merges_.merge(std::span(ids).subspan(first)));
}

bool ByteBpe::is_whole(int32_t id) const {
  std::atomic<Whole>& known = whole_[static_cast<size_t>(id)];
  Whole whole = known.load(std::memory_order_relaxed);
  if (whole == Whole::unknown) {
    std::vector<int32_t> ids;
    merge_word(pieces_.bytes_of(id), ids);
    whole = ids.size() == 1 && ids[0] == id ? Whole::yes : Whole::no;
    known.store(whole, std::memory_order_relaxed);
  }
  return whole == Whole::yes;
}

void ByteBpe::encode_plain(std::string_view text, std::vector<int32_t>& ids) const {
  for_each_gpt2_word(text, [&](std::string_view word) {
    const int32_t id = pieces_.find(word);
    if (id >= 0 && is_whole(id)) {
      ids.push_back(id);
    } else {
      merge_word(word, ids);
    }
  });
}

size_t ByteBpe::encode_part(std::string_view text, std::vector<int32_t>& ids) const {
  if (content_.add_prefix_space && !text.starts_with(' ')) {
    encode_plain(" " + std::string(text), ids);
    return 1;
  }
  encode_plain(text, ids);
  return 0;
}

std::vector<int32_t> ByteBpe::encode(std::string_view text) const {
  std::vector<int32_t> ids;
  ids.reserve(text.size() / 3);
  added_.for_each_part(
      text, [&](std::string_view part) { encode_part(part, ids); },
      [&](int32_t id, std::string_view /*token*/) { ids.push_back(id); });
  return ids;
}

Encoding ByteBpe::encode_with_offsets(std::string_view text) const {
  Encoding result;
  const auto on_text = [&](std::string_view part) {
    const size_t inserted = encode_part(part, result.ids);
    const auto start = static_cast<size_t>(part.data() - text.data());
    size_t at = 0;  // in the part with the space in front: its bytes are those of the tokens
    for (size_t i = result.ranges.size(); i < result.ids.size(); ++i) {
      const size_t end = at + pieces_.bytes_of(result.ids[i]).size();
      result.ranges.push_back({start + std::max(at, inserted) - inserted, start + end - inserted});
      at = end;
    }
  };
  added_.for_each_part(text, on_text, [&](int32_t id, std::string_view token) {
    const auto start = static_cast<size_t>(token.data() - text.data());
    result.ids.push_back(id);
    result.ranges.push_back({start, start + token.size()});
  });
  return result;
}

std::string ByteBpe::decode(std::span<const int32_t> ids) const {
  std::string text;
  for (const int32_t id : ids) {
    check_id(id);
    switch (roles_[static_cast<size_t>(id)]) {
      case Role::bytes:
        text += pieces_.bytes_of(id);
        break;
      case Role::text:
        text += content_.pieces[static_cast<size_t>(id)];
        break;
      case Role::nothing:
        break;
    }
  }
  return text;
}

void ByteBpe::check_id(int32_t id) const {
  check(id >= 0 && id < size(), "[tokenizer] id {} is out of range, expected 0 to {}", id,
        size() - 1);
}

std::string ByteBpe::piece(int32_t id) const {
  check_id(id);
  return content_.pieces[static_cast<size_t>(id)];
}

std::optional<int32_t> ByteBpe::find(std::string_view piece) const {
  if (const std::optional<int32_t> added = added_.find(piece)) {
    return added;
  }
  const std::optional<std::string> plain = from_byte_alphabet(piece);
  const int32_t id = plain ? pieces_.find(*plain) : -1;
  return id < 0 ? std::nullopt : std::optional(id);
}

std::string ByteBpe::serialize() const { return write_tokenizer_json(*this); }

}  // namespace heed
