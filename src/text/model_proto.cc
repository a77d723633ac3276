#include "text/model_proto.h"

#include <cstdint>
#include <cstring>
#include <optional>
#include <vector>

#include "base/error.h"

namespace heed {
namespace {

// Field numbers of sentencepiece_model.proto.
constexpr uint32_t kPieces = 1;
constexpr uint32_t kTrainerSpec = 2;
constexpr uint32_t kNormalizerSpec = 3;
constexpr uint32_t kDenormalizerSpec = 5;
constexpr uint32_t kModelType = 3;        // in the trainer's
constexpr uint32_t kCharacterTables = 2;  // in a normalizer's

struct Field {
  uint32_t number = 0;
  uint64_t value = 0;      // of a number
  std::string_view bytes;  // of a text or a message
};

// The fields of one message, in the order of the file.
class Fields {
 public:
  Fields(std::string_view message, std::string_view where) : rest_(message), where_(where) {}

  std::optional<Field> next() {
    if (rest_.empty()) {
      return std::nullopt;
    }
    const uint64_t tag = varint();
    Field field{.number = static_cast<uint32_t>(tag >> 3U), .bytes = {}};
    switch (tag & 7U) {
      case 0:
        field.value = varint();
        break;
      case 1:
        field.bytes = take(8);
        break;
      case 2:
        field.bytes = take(varint());
        break;
      case 5:
        field.bytes = take(4);
        break;
      default:
        fail("[{}] this is not a SentencePiece model: field {} has wire type {}", where_,
             field.number, tag & 7U);
    }
    return field;
  }

 private:
  std::string_view take(uint64_t size) {
    check(size <= rest_.size(),
          "[{}] the model is cut off or is not a SentencePiece model: {} bytes expected, {} left",
          where_, size, rest_.size());
    const std::string_view taken = rest_.substr(0, static_cast<size_t>(size));
    rest_.remove_prefix(taken.size());
    return taken;
  }

  uint64_t varint() {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const auto byte = static_cast<unsigned char>(take(1)[0]);
      value |= static_cast<uint64_t>(byte & 0x7FU) << shift;
      if (byte < 0x80U) {
        return value;
      }
    }
    fail("[{}] this is not a SentencePiece model: a number takes more than 10 bytes", where_);
  }

  std::string_view rest_;
  std::string_view where_;
};

// The tables map characters to characters: a size, a double-array trie of 32-bit units of that
// many bytes, and the results as texts that end with a zero. Whoever walks the trie goes from unit
// i to unit i ^ offset ^ byte and takes a value from i ^ offset; here all of those are checked.
void check_character_tables(std::string_view tables, std::string_view where) {
  uint32_t trie_bytes = 0;
  check(tables.size() > sizeof trie_bytes, "[{}] the normalisation tables are cut off", where);
  std::memcpy(&trie_bytes, tables.data(), sizeof trie_bytes);
  tables.remove_prefix(sizeof trie_bytes);
  check(trie_bytes >= 1024 && trie_bytes % 1024 == 0 && trie_bytes < tables.size(),
        "[{}] the normalisation tables are corrupt: a trie of {} bytes within {}", where,
        trie_bytes, tables.size());
  std::vector<uint32_t> units(trie_bytes / sizeof(uint32_t));
  std::memcpy(units.data(), tables.data(), trie_bytes);
  const std::string_view results = tables.substr(trie_bytes);
  check(results.back() == '\0', "[{}] the normalisation tables are corrupt: no zero at the end",
        where);
  for (size_t i = 0; i < units.size(); ++i) {
    const uint32_t unit = units[i];
    if (i > 0 && (unit >> 31U) != 0U) {
      continue;  // holds a value, leads nowhere; the root is followed whatever it holds
    }
    const size_t offset = static_cast<size_t>(unit >> 10U) << ((unit & (1U << 9U)) >> 6U);
    const size_t next = i ^ offset;
    check((next | 0xFFU) < units.size(),
          "[{}] the normalisation tables are corrupt: unit {} leads to {} of {}", where, i, next,
          units.size());
    const bool has_value = (unit & (1U << 8U)) != 0U;
    check(!has_value || (units[next] & 0x7FFFFFFFU) < results.size(),
          "[{}] the normalisation tables are corrupt: unit {} leads to text {} of {}", where, i,
          units[next] & 0x7FFFFFFFU, results.size());
  }
}

void check_normalizer(std::string_view message, std::string_view where) {
  Fields fields(message, where);
  while (const std::optional<Field> field = fields.next()) {
    if (field->number == kCharacterTables && !field->bytes.empty()) {
      check_character_tables(field->bytes, where);
    }
  }
}

std::string kind_of(std::string_view trainer_spec, std::string_view where) {
  uint64_t type = 1;
  Fields fields(trainer_spec, where);
  while (const std::optional<Field> field = fields.next()) {
    if (field->number == kModelType) {
      type = field->value;
    }
  }
  constexpr const char* kKinds[] = {"unigram", "bpe", "word", "char"};
  check(type >= 1 && type <= 4, "[{}] the model is of type {}, expected 1 to 4", where, type);
  return kKinds[type - 1];
}

}  // namespace

std::string inspect_sentencepiece(std::string_view bytes, std::string_view where) {
  std::string kind = "unigram";
  bool has_pieces = false;
  Fields fields(bytes, where);
  while (const std::optional<Field> field = fields.next()) {
    if (field->number == kPieces) {
      has_pieces = true;
    } else if (field->number == kTrainerSpec) {
      kind = kind_of(field->bytes, where);
    } else if (field->number == kNormalizerSpec || field->number == kDenormalizerSpec) {
      check_normalizer(field->bytes, where);
    }
  }
  check(has_pieces, "[{}] this is not a SentencePiece model: it holds no pieces", where);
  return kind;
}

}  // namespace heed
